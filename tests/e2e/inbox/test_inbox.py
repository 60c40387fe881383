"""People at the inbox page, with and without scripts, with nothing but a keyboard."""

from playwright.sync_api import expect

from tests.e2e.inbox.person import Person
from tests.unit.approvals.inbox.pretending import ASKED, LOST
from toolbus_approvals.inbox.reading import MAX_ROWS
from toolbus_contracts.tools import Approval
from toolbus_contracts.waits import AnswerWait, ApproveWait, CompleteCall, DenyWait


def test_a_call_is_approved_by_keyboard_and_focus_returns_to_the_list(person: Person) -> None:
    """Sign in, open the wait, give a reason, approve; the next Tab goes on from the heading of the list."""
    wait, other = person.inbox.desk.add(), person.inbox.desk.add()
    person.sign_in()
    person.tab_to(f"#open-{wait.id}")
    person.page.keyboard.press("Enter")
    person.tab_to("#note")
    person.page.keyboard.type("looks right")
    person.page.keyboard.press("Tab")
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("status").filter(has_text="it was approved")).to_be_visible()
    expect(person.page.locator("#list")).to_be_focused()
    assert person.inbox.desk.said[0][1] == ApproveWait(digest=wait.digest, note="looks right")
    person.tab_to(f"#open-{other.id}")


def test_several_are_denied_by_keyboard_each_by_its_digest(person: Person) -> None:
    """Ticks with the space bar, one reason for all."""
    waits = [person.inbox.desk.add() for _ in range(3)]
    person.sign_in()
    for wait in (waits[2], waits[0]):  # the newest stands first
        person.tab_to(f"#tick-{wait.id}")
        person.page.keyboard.press("Space")
    person.tab_to("#several-note")
    person.page.keyboard.type("not today")
    person.page.keyboard.press("Tab")
    person.page.keyboard.press("Tab")
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("status").filter(has_text="2 done, 0 not")).to_be_visible()
    assert {(wait_id, command) for wait_id, command, _ in person.inbox.desk.said} == {
        (wait.id, DenyWait(digest=wait.digest, note="not today")) for wait in (waits[0], waits[2])
    }


def test_older_waits_are_a_link_away(person: Person) -> None:
    """By keyboard to the page of the oldest, and back to the newest."""
    waits = [person.inbox.desk.add() for _ in range(MAX_ROWS + 1)]
    person.sign_in()
    person.page.focus("#older")
    person.page.keyboard.press("Enter")
    expect(person.page.locator(f"#row-{waits[0].id}")).to_be_visible()
    expect(person.page.locator("tbody tr")).to_have_count(1)
    person.tab_to("#newest")
    person.page.keyboard.press("Enter")
    expect(person.page.locator(f"#row-{waits[-1].id}")).to_be_visible()


def test_an_edit_is_previewed_and_made(person: Person) -> None:
    """What would change is shown line by line before anything is said."""
    wait = person.inbox.desk.add(approval=Approval(may_edit=True, quorum=2))
    person.sign_in()
    page = person.page
    page.goto(f"/inbox/waits/{wait.id}")
    page.get_by_text("Change the arguments and approve that").click()
    page.fill("#edited", '{"charge": "ch_1", "amount": 11}')
    page.fill("#edit-note", "less")
    page.get_by_role("button", name="Show what changes").click()
    expect(page.locator("#preview")).to_be_focused()
    expect(page.get_by_label("What would change")).to_contain_text('"amount": 11')
    person.picture("inbox-edit")
    assert not person.inbox.desk.said
    page.get_by_role("button", name="Approve with these arguments").click()
    expect(page.get_by_role("status").filter(has_text="refund")).to_be_visible()
    assert person.inbox.desk.waits[wait.id].arguments == {"charge": "ch_1", "amount": 11}


def test_values_are_supplied(person: Person) -> None:
    """The form of the fields, prefilled with what the model said."""
    wait = person.inbox.desk.add("input", ask_user=ASKED, arguments={"amount": 5, "reason": "broken"})
    person.sign_in()
    page = person.page
    page.goto(f"/inbox/waits/{wait.id}")
    expect(page.get_by_label("Amount")).to_have_value("5")
    page.get_by_label("Amount").fill("12")
    page.get_by_label("kind").select_option("part")
    person.picture("inbox-input")
    page.get_by_role("button", name="Send these values").click()
    expect(page.get_by_role("status").filter(has_text="it was answered")).to_be_visible()
    assert person.inbox.desk.said[0][1] == AnswerWait(
        digest=wait.digest, values={"amount": 12, "reason": "broken", "kind": "part"}
    )


def test_a_function_is_completed_and_a_doubt_settled(person: Person) -> None:
    """By whoever has the scopes for it."""
    function = person.inbox.desk.add("function")
    doubt = person.inbox.desk.add("doubt", error=LOST, attempt=1)
    person.sign_in("approve", "work", "operate")
    page = person.page
    page.goto(f"/inbox/waits/{function.id}")
    page.get_by_label("Output (JSON)").fill('{"text": "done"}')
    page.get_by_role("button", name="It succeeded").click()
    expect(page.get_by_role("status").filter(has_text="it was completed")).to_be_visible()
    page.goto(f"/inbox/waits/{doubt.id}")
    page.get_by_label("It did not happen; try again").check()
    page.get_by_label("How you know").fill("asked the bank")
    person.picture("inbox-doubt")
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_role("status").filter(has_text="settled as retry")).to_be_visible()
    assert person.inbox.desk.said[0][1] == CompleteCall(output={"text": "done"})
    assert person.inbox.desk.settled[0].note == "asked the bank"


def test_a_refusal_keeps_what_was_typed_and_gets_the_focus(person: Person) -> None:
    """Somebody was quicker: the page says how it ended."""
    wait = person.inbox.desk.add()
    person.sign_in()
    page = person.page
    page.goto(f"/inbox/waits/{wait.id}")
    page.fill("#note", "mine")
    person.inbox.desk.close(wait, "denied")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("wait_closed")


def test_signing_out_ends_it(person: Person) -> None:
    """The way back leads to the form."""
    person.sign_in()
    person.page.get_by_role("button", name="Sign out").click()
    expect(person.page.get_by_label("API key")).to_be_focused()
    person.page.goto("/")
    expect(person.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_hostile_arguments_do_nothing(person: Person) -> None:
    """No script of theirs runs, no picture of theirs is loaded, no text turns around."""
    attack = '<script>alert(1)</script><img src="x" onerror="alert(2)"><style>*{display:none}</style>'
    wait = person.inbox.desk.add(
        arguments={"to": attack, "name": "a\u202egnp.exe\u202c\u200b", attack: "javascript:alert(3)"}
    )
    person.sign_in()
    for where in ("/", f"/inbox/waits/{wait.id}"):
        person.page.goto(where)
        expect(person.page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
        expect(person.page.locator("span.mark").first).to_be_visible()
        expect(person.page.locator("img")).to_have_count(0)
    person.picture("inbox-hostile")
