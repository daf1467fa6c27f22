-- The deployment this store belongs to: one row.
CREATE TABLE service (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    v1_base_url TEXT    NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT;

-- Values that v1 can never hold, each with the v1 value seen when it was written.
-- Ids are UUIDs in lower case with dashes; value and seen are JSON; times are microseconds since 1970 UTC.
CREATE TABLE overlay (
    workspace_id TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    record_id    TEXT    NOT NULL,
    field        TEXT    NOT NULL,
    value        TEXT    NOT NULL CHECK (json_valid(value)),
    seen         TEXT    NOT NULL CHECK (json_valid(seen)),
    written_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, kind, record_id, field)
) STRICT, WITHOUT ROWID;
