"""The configuration of a NATS server: accounts, users and permissions, from `subjects.py`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolbus_contracts.subjects import MAX_MESSAGE_BYTES, BusUser

HOST = "127.0.0.1"
SERVICES_ACCOUNT = "TOOLBUS"
RESPONSE_EXPIRES = "15m"  # an ask that waits for its call is answered on a reply subject this long


def accounts_text(bus_users: Iterable[BusUser], passwords: Mapping[str, str]) -> str:
    """
    The `accounts` block: the services' account, which has JetStream, and one account for each tenant.

    A tenant's account sees the subjects of its client and nothing else. A reply subject that a client
    names is a subject of its own account.
    """
    listed = tuple(bus_users)
    clients = [user for user in listed if user.tenant is not None]
    services = ",\n      ".join(_user(user, passwords[user.name]) for user in listed if user.tenant is None)
    exports = ",\n      ".join(line for user in clients for line in _exports(user))
    tenants = "\n  ".join(_tenant(user, passwords[user.name]) for user in clients)
    return f"""accounts {{
  {SERVICES_ACCOUNT} {{
    jetstream: enabled
    users: [
      {services}
    ]
    exports: [
      {exports}
    ]
  }}
  {tenants}
}}
"""


def config_text(accounts: str, *, folder: Path, port: int, sync_interval: str) -> str:
    """The whole `nats.conf` of one server that listens on the loopback address."""
    return f"""host: {HOST}
port: {port}
server_name: toolbus
max_payload: {MAX_MESSAGE_BYTES + 64 * 1024}
max_pending: 256MB
jetstream {{
  store_dir: {json.dumps(str(folder / "jetstream"))}
  sync_interval: {json.dumps(sync_interval)}
}}
authorization {{
  timeout: 10
}}
{accounts}"""


def write_config(
    folder: Path,
    passwords: Mapping[str, str],
    bus_users: Iterable[BusUser],
    *,
    port: int,
    sync_interval: str = "2m",
) -> Path:
    """
    Write `nats.conf` (mode 600) into the folder and return its path; JetStream stores beside it.

    `sync_interval` is NATS' own default: the store is the truth, so the bus may lose its last messages
    in a power failure and is fed again. "always" syncs every message to the disk, and a tenth of the
    throughput or less is left (measured on one disk: 750 to 1,340 messages/s instead of 14,000 to 50,000).
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "nats.conf"
    path.touch(mode=0o600)
    path.chmod(0o600)
    text = config_text(accounts_text(bus_users, passwords), folder=folder, port=port, sync_interval=sync_interval)
    path.write_text(text)
    return path


def _user(user: BusUser, password: str) -> str:
    allowed = user.permissions
    respond = f', allow_responses: {{max: 1, expires: "{RESPONSE_EXPIRES}"}}' if allowed.may_respond else ""
    return (
        f"{{user: {json.dumps(user.name)}, password: {json.dumps(password)}, permissions: {{"
        f"publish: {{allow: {json.dumps(list(allowed.publish))}}}, "
        f"subscribe: {{allow: {json.dumps(list(allowed.subscribe))}}}{respond}}}}}"
    )


def _tenant(user: BusUser, password: str) -> str:
    imports = ",\n      ".join(
        f"{{{kind}: {{account: {SERVICES_ACCOUNT}, subject: {json.dumps(shared)}}}}}" for kind, shared in _shared(user)
    )
    return f"""{_account(user)} {{
    users: [{_user(user, password)}]
    imports: [
      {imports}
    ]
  }}"""


def _exports(user: BusUser) -> Iterable[str]:
    for kind, subject in _shared(user):
        threshold = f', response_threshold: "{RESPONSE_EXPIRES}"' if kind == "service" else ""
        yield f"{{{kind}: {json.dumps(subject)}, accounts: [{_account(user)}]{threshold}}}"


def _shared(user: BusUser) -> Iterable[tuple[str, str]]:
    """What a client publishes is served to it, what it listens to is streamed to it; its inboxes are its own."""
    yield from (("service", subject) for subject in user.permissions.publish)
    yield from (
        ("stream", subject) for subject in user.permissions.subscribe if not subject.startswith(user.inbox_prefix)
    )


def _account(user: BusUser) -> str:
    return json.dumps(f"TENANT_{user.tenant}")
