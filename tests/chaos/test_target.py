"""The target writes down what came before it answers, and treats it as the seed says."""

from pathlib import Path

import httpx
import orjson
import pytest

from tests.chaos.target import MOODS, Target

NAMES = [f"n{number}" for number in range(600)]


async def asked(target: Target, name: str) -> httpx.Response:
    """The answer to one POST on a connection of its own."""
    url = f"http://127.0.0.1:{target.port}/act/{name}"
    async with httpx.AsyncClient(trust_env=False, timeout=0.3) as http:
        return await http.post(url, json={}, headers={"Idempotency-Key": f"call_{name}"})


async def test_a_kind_target_answers_everything(tmp_path: Path) -> None:
    """And has written down method, name and key."""
    async with Target(None, tmp_path / "journal") as target:
        answers = [await asked(target, name) for name in NAMES[:20]]
    assert {answer.status_code for answer in answers} == {200}
    lines = [orjson.loads(line) for line in (tmp_path / "journal").read_bytes().splitlines()]
    assert [(line["method"], line["name"], line["call_id"]) for line in lines] == [
        ("POST", name, f"call_{name}") for name in NAMES[:20]
    ]


async def test_the_same_seed_has_the_same_moods(tmp_path: Path) -> None:
    """Every mood comes, whatever the order in which names are asked for."""
    async with Target(5, tmp_path / "one") as one, Target(5, tmp_path / "other") as other:
        first = {name: one.manner(name) for name in NAMES}
        second = {name: other.manner(name) for name in reversed(NAMES)}
    assert first == second
    assert {manner.mood for manner in first.values()} == {"answer", *MOODS}


@pytest.mark.parametrize("mood", ["cut_request", "cut_after", "cut_answer", "hang"])
async def test_a_mood_that_brings_no_answer_is_written_down(tmp_path: Path, mood: str) -> None:
    """Only a request that was cut before it was whole has no effect."""
    async with Target(5, tmp_path / "journal") as drawing:
        name = next(name for name in NAMES if drawing.manner(name).mood == mood)
    async with Target(5, tmp_path / "journal") as target:
        with pytest.raises(httpx.TransportError):
            await asked(target, name)
        seen = [request for request in target.requests if request.name]
    assert [(request.mood, request.has_effect) for request in seen] == [(mood, mood != "cut_request")]
