-- Which process refreshes an index of work items for all of them, and what v1 answered in the last refreshes. Nobody needs
-- them after a few minutes, so no backup has them. Times are by the clock of this database.
CREATE TABLE index_turn (
    name       TEXT   NOT NULL PRIMARY KEY,
    -- Number of the last refresh that was told.
    number     BIGINT NOT NULL,
    -- The turn there is or was.
    holder     TEXT   NOT NULL,
    taken_at   BIGINT NOT NULL,
    -- When it ends by itself; 0 when it was ended.
    held_until BIGINT NOT NULL
);
CREATE TABLE index_delta (
    name     TEXT   NOT NULL,
    number   BIGINT NOT NULL,
    -- Before the first call of v1.
    began_at BIGINT NOT NULL,
    bytes    BYTEA  NOT NULL,
    PRIMARY KEY (name, number)
);
CREATE INDEX index_delta_by_age ON index_delta (began_at);
