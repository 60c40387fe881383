"""Decide whether somebody may end what was given beforehand."""

from toolbus_contracts.errors import NotAllowed
from toolbus_contracts.waits import Delegation, DelegationRevoked, Grant, GrantRevoked, Spoken


def decide_revoke(
    given: Grant | Delegation, who: Spoken, *, is_admin: bool = False
) -> tuple[GrantRevoked | DelegationRevoked, ...]:
    """
    End a grant or a delegation; again adds nothing.

    Raises:
        NotAllowed: the speaker neither gave it nor is an admin.
    """
    if who.subject != given.subject and not is_admin:
        noun = "grant" if isinstance(given, Grant) else "delegation"
        raise NotAllowed(f"{noun} {given.id} is revoked by {given.subject} or an admin")
    if given.revoked_at is not None:
        return ()
    if isinstance(given, Grant):
        return (GrantRevoked(grant_id=given.id, subject=who.subject, at=who.at),)
    return (DelegationRevoked(delegation_id=given.id, subject=who.subject, at=who.at),)
