"""Laws of the fold: it takes every event in every state, and may be cut anywhere."""

from collections.abc import Callable
from functools import reduce
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import instances
from toolbus_contracts.calls import TERMINAL, TERMINAL_KINDS, Call, CallEvent, evolve_call
from toolbus_contracts.executions import Execution, ExecutionEvent, evolve_execution
from toolbus_contracts.keys import Key, KeyEvent, evolve_key
from toolbus_contracts.tools import Tool, ToolEvent, evolve_tool
from toolbus_contracts.values import Message
from toolbus_contracts.waits import (
    Delegation,
    DelegationEvent,
    Grant,
    GrantEvent,
    Wait,
    WaitEvent,
    evolve_delegation,
    evolve_grant,
    evolve_wait,
)

Fold = Callable[[Any, Any], Any]
FOLDS: dict[str, tuple[Fold, Any, type[Message], Any]] = {
    "call": (evolve_call, CallEvent, Call, None),
    "tool": (evolve_tool, ToolEvent, Tool, Tool()),
    "execution": (evolve_execution, ExecutionEvent, Execution, None),
    "key": (evolve_key, KeyEvent, Key, None),
    "wait": (evolve_wait, WaitEvent, Wait, None),
    "grant": (evolve_grant, GrantEvent, Grant, None),
    "delegation": (evolve_delegation, DelegationEvent, Delegation, None),
}


def histories(union: Any) -> st.SearchStrategy[list[Any]]:
    """Events of one category in any order, sensible or not."""
    members = get_args(get_args(union)[0])
    return st.lists(st.one_of(*map(instances, members)), max_size=6)


@pytest.mark.parametrize("category", FOLDS)
@given(data=st.data())
def test_every_event_fits_every_state(category: str, data: st.DataObject) -> None:
    """No order of events makes the fold fail: what is stored has happened."""
    evolve, union, state_type, initial = FOLDS[category]
    state = reduce(evolve, data.draw(histories(union)), initial)
    assert state is None or isinstance(state, state_type)


@pytest.mark.parametrize("category", FOLDS)
@given(data=st.data())
def test_replay_may_be_cut_anywhere(category: str, data: st.DataObject) -> None:
    """A state that was written down half-way and read again goes on as if it had never been."""
    evolve, union, state_type, initial = FOLDS[category]
    history = data.draw(histories(union))
    cut = data.draw(st.integers(0, len(history)))
    half = reduce(evolve, history[:cut], initial)
    kept = half and state_type.model_validate_json(half.model_dump_json(by_alias=True))
    assert reduce(evolve, history[cut:], kept) == reduce(evolve, history, initial)


@given(history=histories(CallEvent))
def test_a_call_has_ended_when_its_last_moving_event_says_so(history: list[Any]) -> None:
    """An event of a terminal kind leads to a terminal status with its time, when the call is known at all."""
    state: Call | None = None
    for event in history:
        state = evolve_call(state, event)
        if event.kind in TERMINAL_KINDS and state is not None:
            assert state.status in TERMINAL
            assert state.finished_at is not None
