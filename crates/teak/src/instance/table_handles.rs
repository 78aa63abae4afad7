//! The handles by which a process identifies tables.

use crate::sync::lock;
use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

/// The table handles of one open database. No handle is assigned twice, and none is released.
#[derive(Debug, Default)]
pub(crate) struct TableHandles {
    handles: Mutex<HashMap<Vec<u8>, usize>>,
    /// Tables whose keys were checked against their comparison.
    compared: Mutex<HashSet<usize>>,
}

impl TableHandles {
    /// The handle of a table, if it has one.
    pub(crate) fn known(&self, name: &[u8]) -> Option<usize> {
        lock(&self.handles).get(name).copied()
    }

    /// The handle of a table, assigned now if it has none.
    pub(crate) fn of(&self, name: &[u8]) -> usize {
        let mut handles = lock(&self.handles);
        if let Some(&handle) = handles.get(name) {
            return handle;
        }
        let handle = handles.len();
        handles.insert(name.to_vec(), handle);
        handle
    }

    /// Whether the order of a table was checked.
    pub(crate) fn is_compared(&self, handle: usize) -> bool {
        lock(&self.compared).contains(&handle)
    }

    /// Notes that a table is in order.
    pub(crate) fn note_compared(&self, handle: usize) {
        lock(&self.compared).insert(handle);
    }
}
