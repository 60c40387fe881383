"""Names of keys, as people and xdotool write them, in the names that browsers have for them."""

import re
from typing import Final

KEYS: Final = {
    "alt": "Alt",
    "back_space": "Backspace",
    "backspace": "Backspace",
    "cmd": "Meta",
    "command": "Meta",
    "control": "Control",
    "ctrl": "Control",
    "del": "Delete",
    "delete": "Delete",
    "down": "ArrowDown",
    "end": "End",
    "enter": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "home": "Home",
    "insert": "Insert",
    "kp_enter": "NumpadEnter",
    "left": "ArrowLeft",
    "meta": "Meta",
    "next": "PageDown",
    "option": "Alt",
    "page_down": "PageDown",
    "page_up": "PageUp",
    "pagedown": "PageDown",
    "pageup": "PageUp",
    "prior": "PageUp",
    "return": "Enter",
    "right": "ArrowRight",
    "shift": "Shift",
    "space": "Space",
    "super": "Meta",
    "super_l": "Meta",
    "tab": "Tab",
    "up": "ArrowUp",
    "win": "Meta",
}


def chord(text: str) -> str:
    """Keys that are pressed together, joined by `+`: `ctrl+shift+Return` becomes `Control+Shift+Enter`."""
    keys = re.split(r"(?<=.)\+(?=.)", text.strip())
    return "+".join(KEYS.get(key.lower(), key) for key in keys)
