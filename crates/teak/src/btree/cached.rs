//! Where a key was found, so that it is read again without a descent for as long as its tree is the same.
//!
//! The root of a committed tree holds the checksum of its root page, and each page the checksums of its children, so that roots that are
//! equal are roots of equal trees, of whichever state, and a place in one is a place in the other. That does not hold of a
//! tree that is being changed, whose checksums are yet to be found.

use super::{PageSource, TreeRoot, enter, position::Position, visit_inner, visit_leaf};
use crate::{Checksum, PageNumber, Result, page::value::StoredValue};

/// A key, and where it is in the tree that it was looked up in last.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedPosition {
    key: Vec<u8>,
    noted: Option<CachedEntry>,
}

#[derive(Clone, Debug)]
struct CachedEntry {
    root: TreeRoot,
    /// The leaf, its checksum and the index in it; `None` if the key is not there.
    record: Option<(PageNumber, Checksum, usize)>,
}

impl CachedPosition {
    /// Whether the place is that of `key` in the committed tree of `root`.
    pub(crate) fn is_of(&self, root: &TreeRoot, key: &[u8]) -> bool {
        self.noted.as_ref().is_some_and(|noted| noted.root == *root) && self.key == key
    }

    /// Knows nothing from now on: what was noted may come from bytes that were not there.
    pub(crate) fn forget(&mut self) {
        self.noted = None;
    }

    /// The leaf and the value of `key`, from the place if that is known, else by a descent that notes it.
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

/// The leaf of a key, its checksum and the index in it.
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
