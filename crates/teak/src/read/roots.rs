//! The roots of tables that a state knows already, by the numbers of their handles.
//!
//! A new state begins with the roots of the state before it. Those of the first few numbers are copied. Those of further numbers are
//! in groups, which both states share as long as no table of the group changes, so that a commit pays for what it changed and not for
//! the tables that the process has opened. A root that is found later in a shared group is right for both states: a table that
//! changed between them would have put its group apart.

use crate::btree::TreeRoot;
use std::sync::{Arc, OnceLock};

/// Numbers whose roots every state has places of its own for.
const DIRECT_COUNT: usize = 16;
/// Numbers in a group.
const GROUP_LEN: usize = 32;
/// Groups. Tables with higher numbers are looked up in the catalog.
const GROUP_COUNT: usize = 32;

/// Empty until somebody asks for the table; then its root, or `None` if it does not exist.
type CachedRoot = OnceLock<Option<TreeRoot>>;
type RootGroup = [CachedRoot; GROUP_LEN];

#[derive(Debug, Default)]
pub(crate) struct KnownRoots {
    direct: Box<[CachedRoot; DIRECT_COUNT]>,
    grouped: OnceLock<Arc<[OnceLock<Arc<RootGroup>>; GROUP_COUNT]>>,
}

/// What the next state begins with.
impl Clone for KnownRoots {
    fn clone(&self) -> Self {
        let mut direct = Box::<[CachedRoot; DIRECT_COUNT]>::default();
        // Most places are empty.
        for (place, known) in direct.iter_mut().zip(&*self.direct) {
            if let Some(root) = known.get() {
                *place = CachedRoot::from(*root);
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
        let place = match self.direct.get(handle) {
            Some(place) => place,
            None => self.grouped_root(handle)?,
        };
        place.get().map(Option::as_ref)
    }

    fn grouped_root(&self, handle: usize) -> Option<&CachedRoot> {
        let index = handle - DIRECT_COUNT;
        let group = self.grouped.get()?.get(index / GROUP_LEN)?.get()?;
        Some(&group[index % GROUP_LEN])
    }

    /// Notes a root that was looked up, if there is a place for it.
    pub(crate) fn note(&self, handle: usize, root: Option<TreeRoot>) {
        if let Some(place) = self.direct.get(handle) {
            place.get_or_init(|| root);
            return;
        }
        let index = handle - DIRECT_COUNT;
        let groups = self.grouped.get_or_init(Arc::default);
        if let Some(group) = groups.get(index / GROUP_LEN) {
            group.get_or_init(Arc::default)[index % GROUP_LEN].get_or_init(|| root);
        }
    }

    /// A table has another root in this state than in the one before, or the same.
    pub(crate) fn change(&mut self, handle: usize, root: Option<TreeRoot>) {
        if self.get(handle) != Some(root.as_ref()) {
            self.forget(handle);
            self.note(handle, root);
        }
    }

    /// Empties the place of a table, in this state alone.
    fn forget(&mut self, handle: usize) {
        if let Some(place) = self.direct.get_mut(handle) {
            place.take();
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
