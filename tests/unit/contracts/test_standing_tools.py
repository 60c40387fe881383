"""Tools whose calls stand still for somebody: what may be written, and what models see of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from toolbus_contracts.tools import Approval, ToolDefinition, parameters

HOOK = {"url": "https://client.example/tools", "secret": "secret://hook"}


def define(**parts: Any) -> ToolDefinition:
    """A function with these promises."""
    return ToolDefinition.model_validate({"name": "draft", "function": {}, **parts})


def test_models_need_not_give_what_a_person_is_asked_for() -> None:
    """They may, so that the person finds it filled."""
    schema = {"type": "object", "properties": {"iban": {}, "amount": {}}, "required": ["iban", "amount"]}
    found = parameters(define(function={"parameters": schema}, ask_user={"fields": {"iban": {"type": "string"}}}))
    assert found == {**schema, "required": ["amount"]}


def test_what_is_not_written_is_this() -> None:
    """One person, not the one who asked; a day, and then no."""
    assert Approval.model_validate({"required": True}) == Approval(
        approvers=(), quorum=1, requester_may_approve=False, expires_s=86400.0, on_expiry="deny", may_edit=False
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"webhook": HOOK, "expires_s": 2678400},
        {"approval": {"approvers": ["role:finance", "user:ana@example.org", "service:crm"], "quorum": 20}},
        {"approval": {"escalate": [{"after_s": 3600, "to": ["role:finance_lead"]}]}},
        {"ask_user": {"fields": {"iban": {"type": "string"}}, "message": "Which account?"}},
    ],
)
def test_what_may_be_written(parts: dict[str, Any]) -> None:
    """As the published examples have it."""
    assert define(**parts).tool_type == "function"


@pytest.mark.parametrize(
    "parts",
    [
        {"webhook": {**HOOK, "secret": "whsec_plain"}},
        {"webhook": {**HOOK, "url": "ftp://client.example"}},
        {"expires_s": 2678401},
        {"approval": {"required": False}},
        {"approval": {"approvers": ["finance"]}},
        {"approval": {"quorum": 0}},
        {"approval": {"escalate": [{"after_s": 0, "to": ["role:a"]}]}},
        {"ask_user": {"fields": {}}},
    ],
)
def test_what_may_not_be_written(parts: dict[str, Any]) -> None:
    """Secrets stay references, a wait ends within 31 days, an approval is one, somebody is asked for something."""
    with pytest.raises(ValidationError):
        define(**parts)


@pytest.mark.parametrize("parts", [{"webhook": HOOK}, {"expires_s": 5.0}])
def test_only_a_function_has_a_client(parts: dict[str, Any]) -> None:
    """What nobody keeps cannot be promised."""
    with pytest.raises(ValidationError, match="belong to tools of type function"):
        define(function=None, api_call={"method": "GET", "url": "https://a.example"}, **parts)
