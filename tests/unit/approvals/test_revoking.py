"""Grants and delegations are ended by who gave them, or by an admin; by nobody else."""

import pytest

from tests.unit.approvals.making import NOW, SOON, delegation, grant, person
from toolbus_approvals.core.revoking import decide_revoke
from toolbus_contracts.errors import NotAllowed
from toolbus_contracts.waits import Delegation, DelegationRevoked, Grant, GrantRevoked

GRANT, DELEGATION = grant(), delegation("user:bo", "user:cy", "finance")


def revoked(given: Grant | Delegation, subject: str) -> GrantRevoked | DelegationRevoked:
    """The event of that."""
    if isinstance(given, Grant):
        return GrantRevoked(grant_id=given.id, subject=subject, at=SOON)
    return DelegationRevoked(delegation_id=given.id, subject=subject, at=SOON)


@pytest.mark.parametrize("given", [GRANT, DELEGATION], ids=["grant", "delegation"])
def test_it_is_revoked_by_who_gave_it_or_an_admin(given: Grant | Delegation) -> None:
    """With whatever key; not by others, and not by whom a delegation was given to."""
    assert decide_revoke(given, person("user:bo", key_id="key_9")) == (revoked(given, "user:bo"),)
    assert decide_revoke(given, person("user:root"), is_admin=True) == (revoked(given, "user:root"),)
    noun = "grant" if isinstance(given, Grant) else "delegation"
    for subject in ("user:cy", "user:root"):
        with pytest.raises(NotAllowed, match=rf"^{noun} {given.id} is revoked by user:bo or an admin$"):
            decide_revoke(given, person(subject))


@pytest.mark.parametrize("given", [GRANT, DELEGATION], ids=["grant", "delegation"])
def test_revoking_again_adds_nothing(given: Grant | Delegation) -> None:
    """It is over already."""
    assert decide_revoke(given.model_copy(update={"revoked_at": NOW}), person("user:bo")) == ()
