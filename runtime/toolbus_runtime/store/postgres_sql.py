# ruff: noqa: S608 -- column names are put together here, values never are
"""The statements of the PostgreSQL adapter; every one is served by an index, see `SESSION`."""

from toolbus_runtime.store.reading import COLUMNS
from toolbus_runtime.store.tables import EVENT_COLUMNS

APPEND_LOCK = 7_305_808_102_219_441_268  # any number, the same in every process
MIGRATE_LOCK = APPEND_LOCK + 1

SESSION = {
    "application_name": "toolbus",
    "synchronous_commit": "on",
    "timezone": "UTC",
    # Plans are made once, when the tables may still be empty, and must not become scans when they grow.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
    # A frozen process must not keep the append lock for ever, and nobody waits for it without end.
    "idle_in_transaction_session_timeout": "10s",
    "lock_timeout": "10s",
}

BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({APPEND_LOCK})"

# A plan made for an empty table must be the right one for a full table. LIMIT and OFFSET 0 keep a LATERAL query from
# becoming a join that reads all events; IS NOT DISTINCT FROM keeps the tenant out of the choice of index, because
# `events_tenant` looks as good as `events_cause` while there is nothing in either.
# Rows of (what, name, number, text, moment): the log's head, heads of streams $1, causes ($2 tenants, $3 ids) by index.
HEADS = """
SELECT 'log', '', coalesce(last.position, 0), '', greatest(clock_timestamp(), last.recorded_at)
  FROM (SELECT 1) AS always
  LEFT JOIN (SELECT position, recorded_at FROM events ORDER BY position DESC LIMIT 1) AS last ON true
UNION ALL
SELECT 'stream', wanted.stream, newest.version, newest.hash, NULL
  FROM unnest($1::text[]) AS wanted (stream)
 CROSS JOIN LATERAL (
       SELECT version, hash FROM events WHERE stream = wanted.stream ORDER BY version DESC LIMIT 1) AS newest
UNION ALL
SELECT 'cause', earlier.stream, asked.number, '', NULL
  FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS asked (tenant, causation_id, number)
 CROSS JOIN LATERAL (
       SELECT stream FROM events
        WHERE causation_id = asked.causation_id AND tenant IS NOT DISTINCT FROM asked.tenant AND ordinal = 0
        LIMIT 1) AS earlier
"""

LOAD = f"""
SELECT {", ".join(f"e.{column}" for column in EVENT_COLUMNS)}
  FROM unnest($1::text[], $2::int[]) AS wanted (stream, version)
 CROSS JOIN LATERAL (
       SELECT {COLUMNS} FROM events WHERE stream = wanted.stream AND version > wanted.version OFFSET 0) AS e
 ORDER BY e.position
"""

HEAD = "SELECT coalesce(max(position), 0) FROM events"
NOW = "SELECT clock_timestamp()"

PUT_PAYLOADS = """
INSERT INTO payloads (tenant, digest, body, created_at)
SELECT $1, given.digest, given.body, clock_timestamp() FROM unnest($2::text[], $3::bytea[]) AS given (digest, body)
    ON CONFLICT (tenant, digest) DO NOTHING
"""
GET_PAYLOAD = "SELECT body FROM payloads WHERE tenant = $1 AND digest = $2"

HOLD_LEASE = """
INSERT INTO leases AS held (name, owner, expires_at)
VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
 WHERE held.owner = excluded.owner OR held.expires_at <= clock_timestamp()
    OR held.expires_at > excluded.expires_at -- further ahead than a lease can be: the clock was set back
RETURNING 1
"""
RELEASE_LEASE = "DELETE FROM leases WHERE name = $1 AND owner = $2"

LOAD_CHECKPOINT = "SELECT position, note FROM checkpoints WHERE name = $1"
_KEEP = "ON CONFLICT (name) DO UPDATE SET position = excluded.position, note = excluded.note RETURNING 1"
SAVE_CHECKPOINT = f"INSERT INTO checkpoints (name, position, note) VALUES ($1, $2, $3) {_KEEP}"
# FOR SHARE: nobody takes the lease over between this check and the commit.
SAVE_CHECKPOINT_FENCED = f"""
WITH held AS (
     SELECT 1 FROM leases WHERE name = $4 AND owner = $5 AND expires_at > clock_timestamp() FOR SHARE)
INSERT INTO checkpoints (name, position, note) SELECT $1, $2::bigint, $3 FROM held {_KEEP}
"""
