# ruff: noqa: S608 -- column names are put together here, values never are
"""The statements of the SQLite adapter."""

from toolbus_runtime.store.reading import COLUMNS
from toolbus_runtime.store.tables import EVENT_COLUMNS

# busy_timeout comes first: changing the journal mode can meet another process, too.
SESSION = ("PRAGMA busy_timeout=10000", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")

LOG_HEAD = "SELECT position, recorded_at FROM events ORDER BY position DESC LIMIT 1"
# CROSS JOIN keeps the order of the tables, so that events are found by index and never scanned.
STREAM_HEADS = """
SELECT e.stream, e.version, e.hash FROM json_each(?1) AS wanted CROSS JOIN events AS e
 WHERE e.stream = wanted.value AND e.version = (SELECT max(version) FROM events WHERE stream = wanted.value)
"""
CAUSE = "SELECT stream FROM events WHERE tenant = ?1 AND causation_id = ?2 AND ordinal = 0"
INSERT = f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * len(EVENT_COLUMNS))})"

LOAD = f"""
SELECT {", ".join(f"e.{column}" for column in EVENT_COLUMNS)}
  FROM json_each(?1) AS wanted CROSS JOIN events AS e
 WHERE e.stream = json_extract(wanted.value, '$[0]') AND e.version > json_extract(wanted.value, '$[1]')
 ORDER BY e.position
"""

HEAD = "SELECT coalesce(max(position), 0) FROM events"

PUT_PAYLOAD = "INSERT INTO payloads (tenant, digest, body, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
GET_PAYLOAD = "SELECT body FROM payloads WHERE tenant = ?1 AND digest = ?2"

HOLD_LEASE = """
INSERT INTO leases (name, owner, expires_at) VALUES (?1, ?2, ?4)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
 WHERE leases.owner = excluded.owner OR leases.expires_at <= ?3
    OR leases.expires_at > ?4 -- further ahead than a lease can be: the clock was set back
RETURNING 1
"""
RELEASE_LEASE = "DELETE FROM leases WHERE name = ?1 AND owner = ?2"
LEASE_HELD = "SELECT 1 FROM leases WHERE name = ?1 AND owner = ?2 AND expires_at > ?3"

LOAD_CHECKPOINT = "SELECT position, note FROM checkpoints WHERE name = ?1"
SAVE_CHECKPOINT = """
INSERT INTO checkpoints (name, position, note) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET position = excluded.position, note = excluded.note
"""
