"""The list, page by page: every open wait is reached, whatever happens meanwhile."""

import re

from tests.unit.approvals.inbox.browsing import Browser, signed_in
from tests.unit.approvals.inbox.pretending import Page
from toolbus_approvals.inbox.reading import MAX_ROWS
from toolbus_runtime.http.paging import encode_cursor

ROW = re.compile(r'<tr id="row-(wait_[0-9a-f]{32})">')
OLDER = re.compile(r'<a href="([^"]+)" id="older">')


async def pages(opened: Browser, where: str = "/") -> list[list[str]]:
    """The ids on each page, from this one to the last."""
    found: list[list[str]] = []
    while True:
        text = (await opened.get(where)).text
        found.append(ROW.findall(text))
        older = OLDER.search(text)
        if older is None:
            return found
        where = older[1]


async def test_every_wait_is_on_one_page(page: Page) -> None:
    """Newest first; the links lead to the oldest, and back to the newest."""
    waits = [page.desk.add().id for _ in range(2 * MAX_ROWS + 3)][::-1]
    async with signed_in(page) as opened:
        assert await pages(opened) == [waits[:MAX_ROWS], waits[MAX_ROWS : 2 * MAX_ROWS], waits[2 * MAX_ROWS :]]
        first = (await opened.get("/")).text
        assert f"The newest {MAX_ROWS} open waits." in first
        assert 'id="newest"' not in first
        last = (await opened.get(f"/?before={encode_cursor(4)}")).text
        assert "3 older open waits." in last
        assert '<a href="/" id="newest">' in last


async def test_what_comes_and_goes_meanwhile_moves_no_page(page: Page) -> None:
    """A page begins behind a wait, not behind a number of them: nothing is shown twice or left out."""
    waits = [page.desk.add() for _ in range(MAX_ROWS + 2)]
    async with signed_in(page) as opened:
        older = OLDER.search((await opened.get("/")).text)
        assert older is not None
        page.desk.add()
        page.desk.close(waits[-1], "denied")
        assert await pages(opened, older[1]) == [[waits[1].id, waits[0].id]]
        assert ROW.findall((await opened.get(older[1].replace("/?", "/inbox/list?"))).text) == [
            waits[1].id,
            waits[0].id,
        ]


async def test_a_list_that_just_fits_ends_with_a_word(page: Page) -> None:
    """The page behind it is empty, and says so."""
    for _ in range(MAX_ROWS):
        page.desk.add()
    async with signed_in(page) as opened:
        older = OLDER.search((await opened.get("/")).text)
        assert older is not None
        assert "Nothing older waits for anybody." in (await opened.get(older[1])).text


async def test_whoever_decides_on_an_older_page_stays_there(page: Page) -> None:
    """And a page that refreshes itself asks for itself."""
    wait = page.desk.add()
    page.desk.add()
    where = f"/?before={encode_cursor(2)}"
    async with signed_in(page) as opened:
        text = (await opened.get(where)).text
        assert f'hx-get="/inbox/list?before={encode_cursor(2)}"' in text
        assert ROW.findall(text) == [wait.id]
        values: dict[str, str | list[str]] = {
            "wait": f"{wait.id} {wait.digest}",
            "decision": "approve",
            "before": encode_cursor(2),
        }
        answer = await opened.send(where, "/inbox/decide", values)
        assert (answer.status_code, answer.headers["location"]) == (303, where)
        assert "1 done, 0 not" in (await opened.get(where)).text


async def test_a_key_for_some_tools_has_pages_of_these(page: Page) -> None:
    """What others wait for takes no room on them."""
    seen = page.desk.add(tool="mail")
    for _ in range(MAX_ROWS):
        page.desk.add(tool="refund")
    async with signed_in(page, page.key("approve", tools=("mail",))) as opened:
        assert await pages(opened) == [[seen.id]]


async def test_a_page_that_nobody_gave_out_is_refused(page: Page) -> None:
    """Whether it is read, or decided on."""
    wait = page.desk.add()
    values: dict[str, str | list[str]] = {"wait": f"{wait.id} {wait.digest}", "decision": "approve", "before": "%%"}
    async with signed_in(page) as opened:
        answer = await opened.get("/?before=p12")
        assert (answer.status_code, "(invalid_cursor)" in answer.text) == (422, True)
        answer = await opened.send("/", "/inbox/decide", values)
        assert answer.status_code == 422
    assert not page.desk.said
