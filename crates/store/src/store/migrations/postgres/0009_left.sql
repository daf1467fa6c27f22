-- Workspaces whose records of this store have been carried over to a v2 of the deployment's own, after a check.
CREATE TABLE left_workspaces (
    -- What the workspace is called in paths.
    slug    TEXT    PRIMARY KEY,
    -- Where the records went.
    url     TEXT    NOT NULL,
    -- Microseconds since 1970.
    left_at BIGINT NOT NULL
);

-- What came of comparing answers with those of that v2: counts by day.
CREATE TABLE shadow_count (
    -- Days since 1970 UTC.
    day       BIGINT NOT NULL,
    operation TEXT    NOT NULL,
    -- equal, different, not_comparable, dropped or failed.
    outcome   TEXT    NOT NULL,
    requests  BIGINT NOT NULL,
    PRIMARY KEY (day, operation, outcome)
);

-- In what they differ, by place and kind.
CREATE TABLE shadow_difference (
    operation TEXT    NOT NULL,
    -- A JSON pointer into the body, without ids; or the status, or a header.
    place     TEXT    NOT NULL,
    -- What the gateway answered, and what that v2 answered: kinds of values.
    ours      TEXT    NOT NULL,
    theirs    TEXT    NOT NULL,
    requests  BIGINT NOT NULL,
    first_at  BIGINT NOT NULL,
    last_at   BIGINT NOT NULL,
    PRIMARY KEY (operation, place, ours, theirs)
);
