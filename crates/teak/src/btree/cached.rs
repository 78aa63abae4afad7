//! Caches where a key was found, so that it can be read again without a descent as long as its tree
//! has not changed.
//!
//! The root of a committed tree holds the checksum of its root page, and each page the checksums of
//! its children. Equal roots are therefore roots of equal trees, in whichever state, and a position
//! in one is valid in the other. This does not hold for a tree that is being changed, whose
//! checksums are not computed yet.

use super::{PageSource, TreeRoot, enter, position::Position, visit_inner, visit_leaf};
use crate::{Checksum, PageNumber, Result, page::value::StoredValue};

/// A key, and its position in the tree in which it was last looked up.
#[derive(Clone, Default)]
pub(crate) struct CachedPosition {
    key: Vec<u8>,
    noted: Option<CachedEntry>,
}

#[derive(Clone)]
struct CachedEntry {
    root: TreeRoot,
    /// The leaf, its checksum and the index in it; `None` if the key is absent.
    record: Option<(PageNumber, Checksum, usize)>,
}

impl CachedPosition {
    /// The key that was last looked up.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether the position is that of `key` in the committed tree of `root`.
    pub(crate) fn is_of(&self, root: &TreeRoot, key: &[u8]) -> bool {
        self.noted.as_ref().is_some_and(|noted| noted.root == *root) && self.key == key
    }

    /// Clears the position: it may come from bytes that could not be read.
    pub(crate) fn forget(&mut self) {
        self.noted = None;
    }

    /// Returns the leaf and the value of `key`, from the cached position if it is valid, else by a
    /// descent that updates it.
    pub(crate) fn get<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<Option<(PageNumber, StoredValue<'s>)>> {
        if !self.is_of(root, key) {
            self.noted = None;
            let record = find(source, root, key)?;
            self.key.clear();
            self.key.extend_from_slice(key);
            self.noted = Some(CachedEntry {
                root: *root,
                record,
            });
        }
        let Some((number, checksum, index)) = self.noted.as_ref().and_then(|noted| noted.record)
        else {
            return Ok(None);
        };
        enter::page(source, number, checksum, "lookup")?;
        let node = visit_leaf(source, number, "lookup")?.node(index);
        let node = node.map_err(|damage| damage.at(number, "lookup"))?;
        Ok(Some((number, node.value)))
    }
}

/// Finds the leaf of a key, its checksum and the index in it.
fn find<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
) -> Result<Option<(PageNumber, Checksum, usize)>> {
    let mut position = Position::default();
    if root.is_empty() || !position.descend(source, root, key)? {
        return Ok(None);
    }
    let found = match position.path() {
        [.., parent, leaf] => {
            let inner = visit_inner(source, parent.page, 1, "lookup")?;
            let checksum = inner.checksum(parent.index);
            let checksum = checksum.map_err(|damage| damage.at(parent.page, "lookup"))?;
            Some((leaf.page, checksum, leaf.index))
        }
        [leaf] => Some((leaf.page, root.checksum, leaf.index)),
        [] => None,
    };
    Ok(found)
}
