-- What v1 shows no more of a work item archived through the gateway: its title and number for the expansion of its
-- children, and the item above it, which must not take it along when it is deleted.
ALTER TABLE work_item ADD COLUMN archived_name TEXT;
ALTER TABLE work_item ADD COLUMN archived_number INTEGER;
ALTER TABLE work_item ADD COLUMN archived_parent_id TEXT;
CREATE INDEX work_item_below_archived ON work_item (archived_parent_id) WHERE archived_parent_id IS NOT NULL;
