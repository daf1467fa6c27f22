//! Tables of records, found by id or by owner. May use: nothing of this crate.

use std::collections::HashMap;

use uuid::Uuid;

/// An id of any record.
pub(crate) type Id = Uuid;

/// A record of a [`Table`].
pub(crate) trait Row {
    /// Its own id.
    fn id(&self) -> Id;
    /// The record under which it is grouped (project, work item, cycle, …).
    fn owner(&self) -> Id;
    /// Whether it was deleted; deleted rows stay, as in v1.
    fn gone(&self) -> bool;
}

/// Records in the order of their creation, found by id or by owner.
#[derive(Debug)]
pub(crate) struct Table<T> {
    rows: Vec<T>,
    by_id: HashMap<Id, usize>,
    by_owner: HashMap<Id, Vec<usize>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_id: HashMap::new(), by_owner: HashMap::new() }
    }
}

impl<T: Row> Table<T> {
    /// Adds a record as the youngest.
    pub(crate) fn add(&mut self, row: T) {
        let index = self.rows.len();
        self.by_id.insert(row.id(), index);
        self.by_owner.entry(row.owner()).or_default().push(index);
        self.rows.push(row);
    }

    /// Number of all records, deleted ones included.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Replaces the record that has the same id.
    pub(crate) fn put(&mut self, row: T) {
        if let Some(&index) = self.by_id.get(&row.id()) {
            self.rows[index] = row;
        }
    }

    /// Removes the youngest record, as if it had never been added.
    pub(crate) fn take_last(&mut self) -> Option<T> {
        let row = self.rows.pop()?;
        self.by_id.remove(&row.id());
        if let Some(indexes) = self.by_owner.get_mut(&row.owner()) {
            indexes.pop();
        }
        Some(row)
    }

    /// The record, deleted or not.
    pub(crate) fn any(&self, id: Id) -> Option<&T> {
        self.by_id.get(&id).map(|&i| &self.rows[i])
    }

    /// The record, deleted or not, to change it.
    pub(crate) fn any_mut(&mut self, id: Id) -> Option<&mut T> {
        self.by_id.get(&id).map(|&i| &mut self.rows[i])
    }

    /// The record unless it was deleted.
    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        self.any(id).filter(|row| !row.gone())
    }

    /// The record, unless it was deleted, to change it.
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.any_mut(id).filter(|row| !row.gone())
    }

    /// The record at a position of [`Table::position`].
    pub(crate) fn at(&self, index: usize) -> &T {
        &self.rows[index]
    }

    /// Its position in the order of creation: the smaller, the older.
    pub(crate) fn position(&self, id: Id) -> usize {
        self.by_id.get(&id).copied().unwrap_or(usize::MAX)
    }

    /// The undeleted records of an owner, oldest first.
    pub(crate) fn of(&self, owner: Id) -> impl DoubleEndedIterator<Item = &T> {
        self.indexes_of(owner).iter().map(|&i| &self.rows[i]).filter(|row| !row.gone())
    }

    /// The positions of all records of an owner, deleted ones included.
    pub(crate) fn indexes_of(&self, owner: Id) -> &[usize] {
        self.by_owner.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Changes a record, unless it was deleted.
    pub(crate) fn change(&mut self, id: Id, change: impl FnOnce(&mut T)) {
        if let Some(row) = self.get_mut(id) {
            change(row);
        }
    }

    /// Changes every undeleted record of an owner.
    pub(crate) fn change_of(&mut self, owner: Id, mut change: impl FnMut(&mut T)) {
        for &index in self.by_owner.get(&owner).map_or(&[][..], Vec::as_slice) {
            let row = &mut self.rows[index];
            if !row.gone() {
                change(row);
            }
        }
    }

    /// All undeleted records, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter().filter(|row| !row.gone())
    }

    /// All undeleted records, oldest first, to change them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().filter(|row| !row.gone())
    }

    /// Reserves memory for `more` further records.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.rows.reserve(more);
        self.by_id.reserve(more);
    }
}
