"""The page for everybody: rules of accessibility, motion, narrow windows."""

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.inbox.conftest import WIDE, Served
from tests.e2e.inbox.person import AXE, Person
from tests.unit.approvals.inbox.pretending import ASKED, LOST
from toolbus_contracts.tools import Approval
from toolbus_contracts.values import Json
from toolbus_runtime.http.paging import encode_cursor

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (make axe; needs npm)")


def _visited(person: Person) -> list[str]:
    """Every kind of page there is, the same ones each time."""
    desk = person.inbox.desk
    edited: Json = {"charge": "ch_1", "amount": 11}
    approval = desk.add(
        approval=Approval(may_edit=True, quorum=2, approvers=("role:finance",)), labels={"a": "b\u202e"}
    )
    waits = [
        approval,
        desk.add("input", ask_user=ASKED),
        desk.add("function"),
        desk.add("doubt", error=LOST, attempt=1),
        desk.close(desk.add(), "denied", note="no"),
        desk.edit(desk.add(), edited, "less"),
    ]
    others = ["/inbox/waits/wait_" + "f" * 32, "/inbox/sign-in", f"/?before={encode_cursor(3)}"]
    return ["/", *(f"/inbox/waits/{wait.id}" for wait in waits), *others]


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scripted: Person, scheme: str) -> None:
    """No violation on any page, in light and in dark."""
    scripted.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # parametrized
    pages = _visited(scripted)
    scripted.sign_in("approve", "work", "operate")
    found = {}
    for where in pages:
        scripted.page.goto(where)
        found[where] = scripted.violations()
    assert not {where: violations for where, violations in found.items() if violations}


def test_nothing_moves_for_whoever_wants_no_motion(scripted: Person) -> None:
    """`prefers-reduced-motion` stops every transition and animation."""
    scripted.page.emulate_media(reduced_motion="reduce")
    scripted.sign_in()
    moving = scripted.page.evaluate(
        """[...document.querySelectorAll("*")].filter((one) => {
             const style = getComputedStyle(one);
             return parseFloat(style.transitionDuration) > 0.001 || parseFloat(style.animationDuration) > 0.001;
           }).length"""
    )
    assert moving == 0


def test_a_narrow_window_shows_everything(scripted: Person) -> None:
    """At 320 pixels (400 % zoom) nothing but the table, which scrolls in itself, is wider than the window."""
    pages = _visited(scripted)
    scripted.sign_in("approve", "work", "operate")
    scripted.page.set_viewport_size({"width": 320, "height": 800})
    for where in pages:
        scripted.page.goto(where)
        assert scripted.page.evaluate("document.documentElement.scrollWidth") <= 320, where
    scripted.page.goto(pages[1])
    scripted.picture("inbox-narrow")


def test_the_page_of_an_approval_as_people_see_it(scripted: Person) -> None:
    """Risk in words, who must agree, the exact arguments, the request they become."""
    wait = scripted.inbox.desk.add(approval=Approval(may_edit=True, quorum=2, approvers=("role:finance",)))
    scripted.sign_in()
    scripted.page.goto(f"/inbox/waits/{wait.id}")
    for name in ("What it is", "Arguments", "The request they become", "Decide"):
        expect(scripted.page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    scripted.picture("inbox-approval")


def test_the_way_to_the_content_is_the_first_stop(chromium: Browser, served: Served) -> None:
    """Somebody who uses a keyboard need not walk through the header."""
    context = chromium.new_context(base_url=served.url, viewport=WIDE)
    page = context.new_page()
    person = Person(page, served.inbox).sign_in()
    person.page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    context.close()
