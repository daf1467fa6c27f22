-- What a process says of itself with each renewal of its lease; nothing where its version does not.
ALTER TABLE process ADD COLUMN word TEXT;

-- Which part of v1's quota each process has: one row for each key of v1, under a name that does not show it.
CREATE TABLE quota_part (
    name       TEXT   PRIMARY KEY,
    -- Grows with each change; a row is written only as the next version of the one that was read.
    version    BIGINT NOT NULL,
    -- JSON.
    parts      TEXT   NOT NULL,
    -- Microseconds since 1970 by the clock of the database.
    written_at BIGINT NOT NULL
);
CREATE INDEX quota_part_by_age ON quota_part (written_at);
