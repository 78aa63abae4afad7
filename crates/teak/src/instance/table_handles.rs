//! The numbers by which a process knows tables.

use crate::sync::lock;
use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

/// The numbers of the tables of one open database. No number is given twice, and none is given up.
#[derive(Debug, Default)]
pub(crate) struct TableHandles {
    handles: Mutex<HashMap<Vec<u8>, usize>>,
    /// Tables whose keys are in the order that their comparison says.
    compared: Mutex<HashSet<usize>>,
}

impl TableHandles {
    /// The number of a table, if it has one.
    pub(crate) fn known(&self, name: &[u8]) -> Option<usize> {
        lock(&self.handles).get(name).copied()
    }

    /// The number of a table, which it gets now if it has none.
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
