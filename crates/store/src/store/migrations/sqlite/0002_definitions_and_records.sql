-- The definitions of workspaces. Ids are UUIDs in lower case with dashes; JSON is text; times are microseconds
-- since 1970 UTC; flags are 0 or 1. Deletes are soft: a row with deleted_at is history, and only live rows count
-- for uniqueness.
CREATE TABLE workspace (
    id             TEXT    PRIMARY KEY,
    -- Grows with every change of its definitions; what is kept in memory is compared with it.
    version        INTEGER NOT NULL,
    -- The ten flags by name, as JSON.
    flags          TEXT    NOT NULL,
    default_level  INTEGER NOT NULL,
    created_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE work_item_type (
    id              TEXT    PRIMARY KEY,
    workspace_id    TEXT    NOT NULL REFERENCES workspace (id),
    project_id      TEXT,
    name            TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    is_active       INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    is_default      INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    is_epic         INTEGER NOT NULL CHECK (is_epic IN (0, 1)),
    level           INTEGER NOT NULL,
    logo_props      TEXT    NOT NULL,
    external_id     TEXT,
    external_source TEXT,
    created_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    CHECK (is_default = 0 OR is_active = 1)
) STRICT;
CREATE INDEX work_item_type_of_workspace ON work_item_type (workspace_id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX work_item_type_default ON work_item_type (workspace_id, COALESCE(project_id, ''))
    WHERE is_default = 1 AND deleted_at IS NULL;
CREATE UNIQUE INDEX work_item_type_name ON work_item_type (workspace_id, COALESCE(project_id, ''), name)
    WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX work_item_type_pair
    ON work_item_type (workspace_id, COALESCE(project_id, ''), external_source, external_id)
    WHERE external_source IS NOT NULL AND external_id IS NOT NULL AND deleted_at IS NULL;

-- Workspace types available in projects.
CREATE TABLE type_import (
    project_id   TEXT    NOT NULL,
    type_id      TEXT    NOT NULL REFERENCES work_item_type (id),
    workspace_id TEXT    NOT NULL REFERENCES workspace (id),
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (project_id, type_id)
) STRICT;
CREATE INDEX type_import_of_workspace ON type_import (workspace_id);

CREATE TABLE property (
    id               TEXT    PRIMARY KEY,
    workspace_id     TEXT    NOT NULL REFERENCES workspace (id),
    project_id       TEXT,
    name             TEXT    NOT NULL,
    display_name     TEXT    NOT NULL,
    description      TEXT,
    property_type    TEXT    NOT NULL,
    relation_type    TEXT,
    is_required      INTEGER NOT NULL CHECK (is_required IN (0, 1)),
    is_multi         INTEGER NOT NULL CHECK (is_multi IN (0, 1)),
    is_active        INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    default_value    TEXT    NOT NULL,
    settings         TEXT    NOT NULL,
    validation_rules TEXT    NOT NULL,
    logo_props       TEXT    NOT NULL,
    sort_order       REAL    NOT NULL,
    external_id      TEXT,
    external_source  TEXT,
    created_at       INTEGER NOT NULL,
    deleted_at       INTEGER,
    CHECK ((property_type = 'RELATION') = (relation_type IS NOT NULL))
) STRICT;
CREATE INDEX property_of_workspace ON property (workspace_id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX property_name ON property (workspace_id, COALESCE(project_id, ''), name)
    WHERE deleted_at IS NULL;

-- Properties on types.
CREATE TABLE type_property (
    type_id      TEXT    NOT NULL REFERENCES work_item_type (id),
    property_id  TEXT    NOT NULL REFERENCES property (id),
    workspace_id TEXT    NOT NULL REFERENCES workspace (id),
    sort_order   REAL    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (type_id, property_id)
) STRICT;
CREATE INDEX type_property_of_workspace ON type_property (workspace_id);

CREATE TABLE property_option (
    id              TEXT    PRIMARY KEY,
    workspace_id    TEXT    NOT NULL REFERENCES workspace (id),
    property_id     TEXT    NOT NULL REFERENCES property (id),
    name            TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    is_default      INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    sort_order      REAL    NOT NULL,
    logo_props      TEXT    NOT NULL,
    external_id     TEXT,
    external_source TEXT,
    created_at      INTEGER NOT NULL,
    deleted_at      INTEGER
) STRICT;
CREATE INDEX property_option_of_workspace ON property_option (workspace_id) WHERE deleted_at IS NULL;

CREATE TABLE property_context (
    id              TEXT    PRIMARY KEY,
    workspace_id    TEXT    NOT NULL REFERENCES workspace (id),
    property_id     TEXT    NOT NULL REFERENCES property (id),
    name            TEXT    NOT NULL,
    all_projects    INTEGER NOT NULL CHECK (all_projects IN (0, 1)),
    all_types       INTEGER NOT NULL CHECK (all_types IN (0, 1)),
    -- Ids as JSON arrays; empty exactly under their flag.
    projects        TEXT    NOT NULL,
    types           TEXT    NOT NULL,
    is_required     INTEGER NOT NULL CHECK (is_required IN (0, 1)),
    is_multi        INTEGER NOT NULL CHECK (is_multi IN (0, 1)),
    is_default      INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    default_value   TEXT    NOT NULL,
    settings        TEXT    NOT NULL,
    sort_order      REAL    NOT NULL,
    external_id     TEXT,
    external_source TEXT,
    created_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    CHECK ((all_projects = 1) = (projects = '[]')),
    CHECK ((all_types = 1) = (types = '[]'))
) STRICT;
CREATE INDEX property_context_of_workspace ON property_context (workspace_id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX property_context_all_projects ON property_context (property_id)
    WHERE all_projects = 1 AND deleted_at IS NULL;
CREATE UNIQUE INDEX property_context_name ON property_context (property_id, name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX property_context_pair ON property_context (property_id, external_source, external_id)
    WHERE external_source IS NOT NULL AND external_id IS NOT NULL AND deleted_at IS NULL;

-- Choices a context offers.
CREATE TABLE context_option (
    context_id   TEXT    NOT NULL REFERENCES property_context (id),
    option_id    TEXT    NOT NULL REFERENCES property_option (id),
    workspace_id TEXT    NOT NULL REFERENCES workspace (id),
    is_default   INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    sort_order   REAL    NOT NULL,
    PRIMARY KEY (context_id, option_id)
) STRICT;
CREATE INDEX context_option_of_workspace ON context_option (workspace_id);

-- What is recorded on work items of v1.
CREATE TABLE work_item (
    id            TEXT    PRIMARY KEY,
    workspace_id  TEXT    NOT NULL,
    project_id    TEXT    NOT NULL,
    type_id       TEXT,
    -- When it was archived through the gateway; v1 keeps the day only.
    archived_at   INTEGER,
    -- Since when v1 does not show it; its values are hidden until it returns.
    missing_since INTEGER,
    changed_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX work_item_of_project ON work_item (project_id);
CREATE INDEX work_item_of_type ON work_item (type_id);

-- Values of custom properties, one row for each element.
CREATE TABLE custom_value (
    work_item_id TEXT    NOT NULL REFERENCES work_item (id),
    property_id  TEXT    NOT NULL,
    position     INTEGER NOT NULL,
    -- A JSON scalar.
    value        TEXT    NOT NULL,
    -- The option a value points at.
    option_id    TEXT,
    PRIMARY KEY (work_item_id, property_id, position)
) STRICT;
CREATE INDEX custom_value_of_property ON custom_value (property_id);
CREATE INDEX custom_value_of_option ON custom_value (option_id) WHERE option_id IS NOT NULL;

-- What changes in projects, for caches: `items` grows with every own write about its work items, `epoch` with
-- every write through any gateway process to v1.
CREATE TABLE project (
    id    TEXT    PRIMARY KEY,
    items INTEGER NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;

-- Writes that concern v1 and the store: settled once both have it.
CREATE TABLE intent (
    id           TEXT    PRIMARY KEY,
    workspace_id TEXT    NOT NULL,
    project_id   TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    -- The addressed work item; none for a create.
    work_item_id TEXT,
    user_id      TEXT    NOT NULL,
    -- What v1 was asked for, what is to be stored, and what was found, as JSON.
    sent         TEXT    NOT NULL,
    own          TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    began_at     INTEGER NOT NULL,
    settled_at   INTEGER
) STRICT;
CREATE INDEX intent_open ON intent (project_id) WHERE settled_at IS NULL;

-- Where the audit log of each workspace ends: the last number and the last instant given. Whoever appends holds
-- its row, so that numbers and instants grow in the order of the commits.
CREATE TABLE audit_end (
    workspace_id    TEXT    PRIMARY KEY,
    sequence_number INTEGER NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

-- The audit log: appended, never changed.
CREATE TABLE audit_log (
    id                  TEXT    PRIMARY KEY,
    event_id            TEXT    NOT NULL,
    workspace_id        TEXT    NOT NULL,
    sequence_number     INTEGER NOT NULL,
    event_name          TEXT    NOT NULL,
    category            TEXT    NOT NULL,
    outcome             TEXT    NOT NULL,
    source              TEXT    NOT NULL,
    actor_type          TEXT    NOT NULL,
    actor_id            TEXT,
    actor_display_name  TEXT    NOT NULL,
    actor_email         TEXT    NOT NULL,
    target_type         TEXT    NOT NULL,
    target_id           TEXT    NOT NULL,
    target_display_name TEXT    NOT NULL,
    old_value           TEXT,
    new_value           TEXT,
    reason              TEXT    NOT NULL,
    metadata            TEXT    NOT NULL,
    ip_address          TEXT,
    user_agent          TEXT    NOT NULL,
    project_id          TEXT,
    -- What searches look at: the event, the actor and the target by name, folded; no database knows the letter
    -- case of every script.
    search_text         TEXT    NOT NULL,
    created_at          INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX audit_log_sequence ON audit_log (workspace_id, sequence_number);
CREATE UNIQUE INDEX audit_log_event ON audit_log (event_id);
CREATE INDEX audit_log_by_time ON audit_log (workspace_id, created_at, id);
CREATE INDEX audit_log_by_id ON audit_log (workspace_id, id);
CREATE INDEX audit_log_by_actor ON audit_log (workspace_id, actor_id, created_at, id);
CREATE INDEX audit_log_by_event_name ON audit_log (workspace_id, event_name, created_at, id);
CREATE INDEX audit_log_by_target ON audit_log (workspace_id, target_id, created_at, id);

-- The log is append-only for everybody, this program included.
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
