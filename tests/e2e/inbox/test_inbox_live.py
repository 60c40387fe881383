"""The page as long as it is open: what changes is told, what was begun stays."""

from playwright.sync_api import expect

from tests.e2e.inbox.conftest import Served
from tests.e2e.inbox.person import Person
from toolbus_contracts.tools import Approval


def test_a_new_wait_appears_and_what_was_begun_stays(scripted: Person, served: Served) -> None:
    """Ticks, typed text and focus outlive the refresh; the number is told politely."""
    first = served.inbox.desk.add()
    scripted.sign_in()
    page = scripted.page
    page.check(f"#tick-{first.id}")
    page.fill("#several-note", "half a rea")
    served.do(lambda: served.inbox.desk.add(tool="second"))
    expect(page.get_by_text("second")).to_be_visible()
    expect(page.locator("#status")).to_have_text("The list is up to date: 2 open waits.")
    expect(page.locator(f"#tick-{first.id}")).to_be_checked()
    expect(page.locator("#several-note")).to_have_value("half a rea")
    expect(page.locator("#several-note")).to_be_focused()
    scripted.picture("inbox-list")


def test_focus_inside_the_list_outlives_a_refresh(scripted: Person, served: Served) -> None:
    """Somebody who walks through the list by keyboard stays where they are."""
    first = served.inbox.desk.add()
    scripted.sign_in()
    scripted.page.focus(f"#open-{first.id}")
    served.do(lambda: served.inbox.desk.add(tool="second"))
    expect(scripted.page.get_by_text("second")).to_be_visible()
    expect(scripted.page.locator(f"#open-{first.id}")).to_be_focused()


def test_a_wait_that_somebody_else_decided_goes_away(scripted: Person, served: Served) -> None:
    """Without a reload."""
    gone, stays = served.inbox.desk.add(), served.inbox.desk.add()
    scripted.sign_in()
    expect(scripted.page.locator(f"#row-{gone.id}")).to_be_visible()
    expect(scripted.page.locator("#waits[data-live]")).to_be_attached()
    served.do(lambda: served.inbox.desk.close(gone, "approved"))
    expect(scripted.page.locator(f"#row-{gone.id}")).to_have_count(0)
    expect(scripted.page.locator(f"#row-{stays.id}")).to_be_visible()


def test_an_open_wait_says_that_it_has_changed(scripted: Person, served: Served) -> None:
    """What was typed is not thrown away; the digest of before would be refused anyhow."""
    wait = served.inbox.desk.add(approval=Approval(quorum=2))
    scripted.sign_in()
    page = scripted.page
    page.goto(f"/inbox/waits/{wait.id}")
    page.fill("#note", "typing")
    expect(page.locator("[data-live]")).to_be_attached()
    served.do(lambda: served.inbox.desk.close(wait, "denied"))
    expect(page.locator("#status")).to_contain_text("changed meanwhile")
    expect(page.locator("#note")).to_have_value("typing")


def test_the_end_of_the_session_is_told(scripted: Person, served: Served) -> None:
    """A revoked key ends the stream, and the page says what to do."""
    token = served.inbox.key()
    page = scripted.page
    page.goto("/")
    page.fill("#key", token.text())
    page.keyboard.press("Enter")
    expect(page.locator("#waits[data-live]")).to_be_attached()
    served.do(lambda: served.inbox.revoke(token))
    served.do(served.inbox.desk.add)
    expect(page.locator("#status")).to_contain_text("signed out", timeout=15_000)
