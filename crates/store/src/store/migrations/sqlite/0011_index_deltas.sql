-- Which process refreshes an index of work items for all of them, and what v1 answered in the last refreshes. Nobody needs
-- them after a few minutes, so no backup has them. Only a database server has rows here; both have the same tables.
CREATE TABLE index_turn (
    name       TEXT    NOT NULL PRIMARY KEY,
    -- Number of the last refresh that was told.
    number     INTEGER NOT NULL,
    -- The turn there is or was.
    holder     TEXT    NOT NULL,
    taken_at   INTEGER NOT NULL,
    -- When it ends by itself; 0 when it was ended.
    held_until INTEGER NOT NULL
) STRICT;
CREATE TABLE index_delta (
    name     TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    -- Before the first call of v1.
    began_at INTEGER NOT NULL,
    bytes    BLOB    NOT NULL,
    PRIMARY KEY (name, number)
) STRICT;
CREATE INDEX index_delta_by_age ON index_delta (began_at);
