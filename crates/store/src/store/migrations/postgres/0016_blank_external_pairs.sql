-- A blank external pair is no pair: several types of an owner, and several contexts of a property, may have it.
DROP INDEX work_item_type_pair;
CREATE UNIQUE INDEX work_item_type_pair
    ON work_item_type (workspace_id, COALESCE(project_id, ''), external_source, external_id)
    WHERE external_source <> '' AND external_id <> '' AND deleted_at IS NULL;

DROP INDEX property_context_pair;
CREATE UNIQUE INDEX property_context_pair ON property_context (property_id, external_source, external_id)
    WHERE external_source <> '' AND external_id <> '' AND deleted_at IS NULL;
