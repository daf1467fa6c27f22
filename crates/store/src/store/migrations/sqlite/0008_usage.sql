-- Who calls which operation: counts by day, for reports on the move from v1 to v2. No path, query or body value is kept.
CREATE TABLE usage_count (
    -- Days since 1970 UTC.
    day       INTEGER NOT NULL,
    -- Name of the operation of v1 or v2.
    operation TEXT   NOT NULL,
    -- First digit of the status.
    class     INTEGER NOT NULL,
    -- Fingerprint of the credential.
    caller    TEXT   NOT NULL,
    -- Product and version of the User-Agent.
    client    TEXT   NOT NULL,
    calls     INTEGER NOT NULL,
    PRIMARY KEY (day, operation, class, caller, client)
) STRICT;

-- Who is behind a fingerprint, as far as that is known.
CREATE TABLE usage_caller (
    fingerprint TEXT   PRIMARY KEY,
    -- v1 key, gateway key or app.
    kind        TEXT   NOT NULL,
    person      TEXT   NOT NULL,
    -- Title of the key, or name of the app.
    title       TEXT   NOT NULL,
    seen_at     INTEGER NOT NULL
) STRICT;

-- The last batch of counts that each process has written, so that one whose outcome was lost is not added twice.
CREATE TABLE usage_writer (
    process TEXT   PRIMARY KEY,
    batch   INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

-- With what fingerprints are made.
CREATE TABLE usage_secret (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    secret TEXT   NOT NULL
) STRICT;
