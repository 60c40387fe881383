"""A letter that no store keeps is taken out of outputs, and no other."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from toolbus_integrations.host.running import without_nul

texts = st.text(st.sampled_from("\x00\\u0f1"), max_size=12)


@given(st.lists(texts, max_size=4))
@example(["\\u0000", "\x00", "\\\x00", "\\\\u0000", "\x00\x00u0000"])
def test_only_the_letter_itself_gives_way(given_texts: list[str]) -> None:
    """What is written like it, behind a backslash of its own, stays as it is."""
    found = json.loads(without_nul(json.dumps(given_texts).encode()))
    assert found == [text.replace("\x00", "\ufffd") for text in given_texts]
