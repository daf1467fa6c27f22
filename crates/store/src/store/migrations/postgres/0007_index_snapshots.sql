-- Indices of work items as one process has built them, for the others. They can always be built anew, so no backup has them.
CREATE TABLE index_snapshot (
    name     TEXT   NOT NULL,
    part     BIGINT NOT NULL,
    bytes    BYTEA  NOT NULL,
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (name, part)
);
