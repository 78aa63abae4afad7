//! The table roots that a state knows already, by table handle.
//!
//! A new state begins with the roots of the previous state. The roots of the first few handles are
//! copied. Those of further handles are in groups. Both states share a group as long as no table of
//! the group changes. A commit therefore pays for the tables that it changed, and not for all
//! tables that the process has opened. A root that is looked up later in a shared group is valid
//! for both states: a changed table would have split its group off.

use crate::btree::TreeRoot;
use std::sync::{Arc, OnceLock};

/// Handles for which every state has entries of its own.
const DIRECT_COUNT: usize = 16;
/// Handles in a group.
const GROUP_LEN: usize = 32;
/// Number of groups. Tables with higher handles are looked up in the catalog.
const GROUP_COUNT: usize = 32;

/// Empty until the table is looked up. Then its root, or `None` if the table does not exist.
type CachedRoot = OnceLock<Option<TreeRoot>>;
type RootGroup = [CachedRoot; GROUP_LEN];

#[derive(Debug, Default)]
pub(crate) struct KnownRoots {
    direct: Box<[CachedRoot; DIRECT_COUNT]>,
    grouped: OnceLock<Arc<[OnceLock<Arc<RootGroup>>; GROUP_COUNT]>>,
}

/// The roots that the next state begins with.
impl Clone for KnownRoots {
    fn clone(&self) -> Self {
        let mut direct = Box::<[CachedRoot; DIRECT_COUNT]>::default();
        // Most entries are empty.
        for (cached, known) in direct.iter_mut().zip(&*self.direct) {
            if let Some(root) = known.get() {
                *cached = CachedRoot::from(*root);
            }
        }
        Self {
            direct,
            grouped: self.grouped.clone(),
        }
    }
}

impl KnownRoots {
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<Option<&TreeRoot>> {
        let cached = match self.direct.get(handle) {
            Some(cached) => cached,
            None => self.grouped_root(handle)?,
        };
        cached.get().map(Option::as_ref)
    }

    fn grouped_root(&self, handle: usize) -> Option<&CachedRoot> {
        let index = handle - DIRECT_COUNT;
        let group = self.grouped.get()?.get(index / GROUP_LEN)?.get()?;
        Some(&group[index % GROUP_LEN])
    }

    /// Notes a root that was looked up, if there is an entry for its handle.
    pub(crate) fn note(&self, handle: usize, root: Option<TreeRoot>) {
        if let Some(cached) = self.direct.get(handle) {
            cached.get_or_init(|| root);
            return;
        }
        let index = handle - DIRECT_COUNT;
        let groups = self.grouped.get_or_init(Arc::default);
        if let Some(group) = groups.get(index / GROUP_LEN) {
            group.get_or_init(Arc::default)[index % GROUP_LEN].get_or_init(|| root);
        }
    }

    /// Sets the root of a table in this state. It may be equal to the root in the previous state.
    pub(crate) fn change(&mut self, handle: usize, root: Option<TreeRoot>) {
        if self.get(handle) != Some(root.as_ref()) {
            self.forget(handle);
            self.note(handle, root);
        }
    }

    /// Empties the entry of a table, in this state only.
    fn forget(&mut self, handle: usize) {
        if let Some(cached) = self.direct.get_mut(handle) {
            cached.take();
            return;
        }
        let index = handle - DIRECT_COUNT;
        let groups = self.grouped.get_mut().map(Arc::make_mut);
        let group = groups.and_then(|groups| groups.get_mut(index / GROUP_LEN)?.get_mut());
        if let Some(group) = group {
            Arc::make_mut(group)[index % GROUP_LEN].take();
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
