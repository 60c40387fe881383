"""Waits of servers that ask, as the page shows them."""

import pytest

from tests.unit.approvals.inbox.browsing import signed_in
from tests.unit.approvals.inbox.pretending import Page
from toolbus_contracts.tools import AskUser


async def test_whoever_agrees_sees_what_a_server_is_told(page: Page) -> None:
    """On its own page; it is not among those that are agreed to several at once, by their arguments."""
    wait = page.desk.add(answers={"where": {"action": "accept", "content": {"city": "Rome"}}})
    plain = page.desk.add()
    async with signed_in(page) as opened:
        listed = (await opened.get("/")).text
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
        other = (await opened.get(f"/inbox/waits/{plain.id}")).text
    assert listed.count('type="checkbox"') == 1
    assert "What its server is told" in text
    assert "Rome" in text
    assert "What its server is told" not in other


@pytest.mark.parametrize("is_from_server", [True, False])
async def test_the_form_of_a_server_is_not_filled_with_arguments(page: Page, *, is_from_server: bool) -> None:
    """Its fields may be called as they are, and mean something else."""
    asked = AskUser(fields={"charge": {"type": "string"}})
    wait = page.desk.add("input", ask_user=asked, is_from_server=is_from_server)
    async with signed_in(page) as opened:
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
    assert ('value="ch_1"' in text) is not is_from_server
