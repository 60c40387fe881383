"""A plan follows from its seed alone, and holds what was asked for."""

from tests.chaos.drawing import Options, make_plan
from tests.chaos.faults import KINDS
from tests.chaos.plan import UNSAFE

MANY = range(1, 101)


def test_the_same_seed_makes_the_same_plan() -> None:
    """To the last number; another seed makes another."""
    for seed in MANY:
        assert make_plan(seed, Options()) == make_plan(seed, Options())
    assert len({str(make_plan(seed, Options())) for seed in MANY}) == len(MANY)


def test_half_of_the_runs_have_each_store_and_half_of_the_calls_are_unsafe() -> None:
    """Even seeds run on PostgreSQL with two of each service."""
    plans = [make_plan(seed, Options()) for seed in MANY]
    assert sum(plan.shape.store == "postgres" for plan in plans) == len(MANY) // 2
    assert {len(plan.shape.services) for plan in plans if plan.shape.store == "postgres"} == {6}
    for plan in plans:
        assert sum(call.tool in UNSAFE for call in plan.calls) == Options().calls // 2
        assert len({call.name for call in plan.calls}) == Options().calls


def test_every_kind_of_fault_is_drawn() -> None:
    """And PostgreSQL's only where there is one."""
    plans = [make_plan(seed, Options()) for seed in MANY]
    assert {fault.kind for plan in plans for fault in plan.faults} == set(KINDS)
    for plan in plans:
        assert all(plan.shape.store in KINDS[fault.kind].stores for fault in plan.faults)


def test_only_wanted_faults_are_drawn() -> None:
    """With none at all nothing breaks, and the target is kind."""
    plan = make_plan(3, Options(kinds=("kill_nats",)))
    assert {fault.kind for fault in plan.faults} == {"kill_nats"}
    assert make_plan(3, Options(kinds=(), is_target_moody=False)).is_calm


def test_options_survive_the_way_to_a_worker() -> None:
    """As one line of JSON."""
    options = Options(calls=7, kinds=("kill_nats", "lost_link"), is_target_moody=False)
    assert Options.from_json(options.to_json()) == options
