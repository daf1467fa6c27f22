-- Indices of work items as one process has built them, for the others. They can always be built anew, so no backup has them.
CREATE TABLE index_snapshot (
    name     TEXT   NOT NULL,
    part     INTEGER NOT NULL,
    bytes    BLOB  NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (name, part)
);
