//! Where a key was found, so that it is read again without a descent for as long as its tree is the same.
//!
//! The root of a committed tree holds the tag of its root page, and each page the tags of its children, so that roots that are
//! equal are roots of equal trees, of whichever state, and a place in one is a place in the other. That does not hold of a
//! tree that is being changed, whose tags are yet to be found.

use super::{PageSource, TreeRoot, enter, position::Position, visit_inner, visit_leaf};
use crate::{PageNumber, Result, Tag, page::value::StoredValue};

/// A key, and where it is in the tree that it was looked up in last.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedPlace {
    key: Vec<u8>,
    noted: Option<Noted>,
}

#[derive(Clone, Debug)]
struct Noted {
    root: TreeRoot,
    /// The leaf, its tag and the index in it; `None` if the key is not there.
    record: Option<(PageNumber, Tag, usize)>,
}

impl CachedPlace {
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
            self.noted = Some(Noted {
                root: *root,
                record,
            });
        }
        let Some((number, tag, index)) = self.noted.as_ref().and_then(|noted| noted.record) else {
            return Ok(None);
        };
        enter::page(source, number, tag, "lookup")?;
        let node = visit_leaf(source, number, "lookup")?.node(index);
        let node = node.map_err(|damage| damage.at(number, "lookup"))?;
        Ok(Some((number, node.value)))
    }
}

/// The leaf of a key, its tag and the index in it.
fn find<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
) -> Result<Option<(PageNumber, Tag, usize)>> {
    let mut position = Position::default();
    if root.is_empty() || !position.descend(source, root, key)? {
        return Ok(None);
    }
    let found = match position.path() {
        [.., parent, leaf] => {
            let inner = visit_inner(source, parent.page, 1, "lookup")?;
            let tag = inner.tag(parent.index);
            let tag = tag.map_err(|damage| damage.at(parent.page, "lookup"))?;
            Some((leaf.page, tag, leaf.index))
        }
        [leaf] => Some((leaf.page, root.tag, leaf.index)),
        [] => None,
    };
    Ok(found)
}
