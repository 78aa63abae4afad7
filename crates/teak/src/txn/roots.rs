//! The roots of tables that a state knows already, by the numbers of their handles.
//!
//! A new state begins with the roots of the state before it. Those of the first few numbers are copied. Those of further numbers are
//! in groups, which both states share as long as no table of the group changes, so that a commit pays for what it changed and not for
//! the tables that the process has opened. A root that is found later in a shared group is right for both states: a table that
//! changed between them would have put its group apart.

use crate::tree::TreeRoot;
use std::sync::{Arc, OnceLock};

/// Numbers whose roots every state has places of its own for.
const NEAR: usize = 16;
/// Numbers in a group.
const GROUP: usize = 32;
/// Groups. Tables with higher numbers are looked up in the catalog.
const GROUPS: usize = 32;

/// Empty until somebody asks for the table; then its root, or `None` if it does not exist.
type Place = OnceLock<Option<TreeRoot>>;
type Group = [Place; GROUP];

#[derive(Debug, Default)]
pub(super) struct KnownRoots {
    near: Box<[Place; NEAR]>,
    far: OnceLock<Arc<[OnceLock<Arc<Group>>; GROUPS]>>,
}

/// What the next state begins with.
impl Clone for KnownRoots {
    fn clone(&self) -> Self {
        let mut near = Box::<[Place; NEAR]>::default();
        // Most places are empty.
        for (place, known) in near.iter_mut().zip(&*self.near) {
            if let Some(root) = known.get() {
                *place = Place::from(*root);
            }
        }
        Self {
            near,
            far: self.far.clone(),
        }
    }
}

impl KnownRoots {
    #[inline]
    pub(super) fn get(&self, handle: usize) -> Option<Option<&TreeRoot>> {
        let place = match self.near.get(handle) {
            Some(place) => place,
            None => self.far_place(handle)?,
        };
        place.get().map(Option::as_ref)
    }

    fn far_place(&self, handle: usize) -> Option<&Place> {
        let index = handle - NEAR;
        let group = self.far.get()?.get(index / GROUP)?.get()?;
        Some(&group[index % GROUP])
    }

    /// Notes a root that was looked up, if there is a place for it.
    pub(super) fn note(&self, handle: usize, root: Option<TreeRoot>) {
        if let Some(place) = self.near.get(handle) {
            place.get_or_init(|| root);
            return;
        }
        let index = handle - NEAR;
        let groups = self.far.get_or_init(Arc::default);
        if let Some(group) = groups.get(index / GROUP) {
            group.get_or_init(Arc::default)[index % GROUP].get_or_init(|| root);
        }
    }

    /// A table has another root in this state than in the one before, or the same.
    pub(super) fn change(&mut self, handle: usize, root: Option<TreeRoot>) {
        if self.get(handle) != Some(root.as_ref()) {
            self.forget(handle);
            self.note(handle, root);
        }
    }

    /// Empties the place of a table, in this state alone.
    fn forget(&mut self, handle: usize) {
        if let Some(place) = self.near.get_mut(handle) {
            place.take();
            return;
        }
        let index = handle - NEAR;
        let groups = self.far.get_mut().map(Arc::make_mut);
        let group = groups.and_then(|groups| groups.get_mut(index / GROUP)?.get_mut());
        if let Some(group) = group {
            Arc::make_mut(group)[index % GROUP].take();
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
