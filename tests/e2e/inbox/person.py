"""Somebody at a browser: keys and eyes, and what the browser complains of."""

import os
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Dialog, Page, expect

from tests.unit.approvals.inbox.pretending import Page as Inbox
from toolbus_contracts.keys import Scope

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
WRITES_PICTURES = bool(os.environ.get("TOOLBUS_TEST_PICTURES"))
_REFUSED = re.compile(r"the server responded with a status of (4\d\d|503)")
MAX_TABS = 60


class Problems:
    """Errors of scripts, whatever the policy kept out, and dialogs: none of them belongs on this page."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("console", self._on_console)
        page.on("dialog", self._on_dialog)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.found.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not _REFUSED.search(message.text):
            self.found.append(message.text)


class Person:
    """Who sits at the page."""

    def __init__(self, page: Page, inbox: Inbox) -> None:
        self.page = page
        self.inbox = inbox

    def sign_in(self, *scopes: Scope) -> "Person":
        """Sign in with a key of these scopes, by keyboard: the field has the focus."""
        token = self.inbox.key(*scopes)
        self.page.goto("/")
        expect(self.page.locator("#key")).to_be_focused()
        self.page.keyboard.type(token.text())
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#list")).to_be_visible()
        return self

    def tab_to(self, selector: str) -> None:
        """Press Tab until this has the focus, as somebody without a mouse does."""
        for _ in range(MAX_TABS):
            self.page.keyboard.press("Tab")
            if self.page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"{selector} is not reached by {MAX_TABS} tabs")

    def status(self) -> str:
        """What the page last told those who cannot see it change."""
        return self.page.locator("#status").inner_text()

    def picture(self, name: str) -> None:
        """Take a picture for the documentation, when that was asked for (TOOLBUS_TEST_PICTURES=1)."""
        if WRITES_PICTURES:
            PICTURES.mkdir(exist_ok=True)
            self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the page for people with disabilities."""
        self.page.evaluate(AXE.read_text())
        found: dict[str, Any] = self.page.evaluate("axe.run()")
        return [f"{one['id']}: {[node['html'][:200] for node in one['nodes']]}" for one in found["violations"]]
