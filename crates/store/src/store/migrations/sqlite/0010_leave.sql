-- What was carried to a deployment's own v2, so that a second run goes on where the first one ended. Ids there are
-- text, because another service chooses them.
CREATE TABLE leave_record (
    -- Address of that v2.
    target       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    own_id       TEXT    NOT NULL,
    -- Its id there; none as long as it is not known to be made.
    target_id    TEXT,
    -- Fingerprint of what was carried.
    digest       TEXT    NOT NULL,
    -- When it was carried whole; none before that.
    done_at      INTEGER,
    PRIMARY KEY (target, workspace_id, kind, own_id)
) STRICT, WITHOUT ROWID;
