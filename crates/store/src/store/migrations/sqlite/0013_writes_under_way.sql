-- What processes have to themselves at v1 while they write: a row that nobody took away is of a process that died, or was cut
-- off, with a call of v1 that may still be carried out.
CREATE TABLE write_under_way (
    name       TEXT   NOT NULL,
    -- The turn, which has a row for each name.
    turn       TEXT   NOT NULL,
    -- Microseconds since 1970 by the clock of the database.
    begun_at   BIGINT NOT NULL,
    PRIMARY KEY (turn, name)
);
CREATE INDEX write_under_way_by_name ON write_under_way (name);
