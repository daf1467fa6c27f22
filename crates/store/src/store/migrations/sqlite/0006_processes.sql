-- Gateway processes that share the store; the folder `peers` says what for. Times are microseconds since 1970 UTC by the
-- clock of the database.
CREATE TABLE process (
    id          TEXT   PRIMARY KEY,
    -- Name of the session lock that the process holds as long as it lives.
    number      INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    -- How often the lease was renewed.
    beats       INTEGER NOT NULL
);

-- The process whose request is at work; none for those of older versions.
ALTER TABLE intent ADD COLUMN process_id TEXT;

-- The least number of the last step of its tables that a program must know to read, and to write, this store.
ALTER TABLE service ADD COLUMN min_reader INTEGER NOT NULL DEFAULT 5;
ALTER TABLE service ADD COLUMN min_writer INTEGER NOT NULL DEFAULT 5;
