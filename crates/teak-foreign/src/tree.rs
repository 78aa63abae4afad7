//! The walk through one tree, from its first entry to its last. Branches must be exactly as deep as
//! the description of the tree says.

use crate::{
    Error, PageSlice, Result, Source,
    format::{Format, Header, NODE_LEN, Node, Tree, kind, node},
    pages::Pages,
};

/// The greatest depth in any engine.
const DEPTH_MAX: u16 = 32;

/// An entry of a leaf.
pub(crate) enum Entry {
    /// A key, and its node's description of the value.
    Node {
        page: u64,
        key: PageSlice,
        node: Node,
        /// The value, or a reference to it.
        value: PageSlice,
    },
    /// One of several values of one length.
    Packed(PageSlice),
}

/// A page on the path.
#[derive(Debug)]
struct PathStep {
    number: u64,
    bytes: PageSlice,
    /// The length of packed values, in a leaf that has them.
    packed_len: Option<usize>,
    count: usize,
    next: usize,
}

/// A path to an entry.
#[derive(Debug)]
pub(crate) struct Path {
    format: Format,
    steps: Vec<PathStep>,
    depth: usize,
    entries: u64,
}

impl Path {
    /// A walk through the tree whose description is in page `parent`.
    pub(crate) fn new(
        pages: &mut Pages<'_, impl Source>,
        tree: &Tree,
        parent: u64,
    ) -> Result<Self> {
        let mut path = Self {
            format: pages.format(),
            steps: Vec::new(),
            depth: usize::from(tree.depth),
            entries: 0,
        };
        match tree.root {
            None if tree.records == 0 && tree.depth == 0 => Ok(path),
            Some(root) if (1..=DEPTH_MAX).contains(&tree.depth) => {
                path.enter(pages, root, parent)?;
                Ok(path)
            }
            _ => {
                let detail = format!(
                    "it describes a tree with {} records that is {} pages deep",
                    tree.records, tree.depth
                );
                Err(Error::damaged(parent, detail))
            }
        }
    }

    /// A walk through a page that is embedded in a node of page `number`.
    pub(crate) fn within(format: Format, bytes: PageSlice, number: u64) -> Result<Self> {
        let header = format.header(&bytes);
        let header =
            header.ok_or_else(|| Error::damaged(number, "the values of a key are too short"))?;
        let step = PathStep::leaf(format, number, &header, bytes)?;
        Ok(Self {
            format,
            steps: vec![step],
            depth: 1,
            entries: 0,
        })
    }

    /// The number of entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The next entry; `None` after the last.
    pub(crate) fn next(&mut self, pages: &mut Pages<'_, impl Source>) -> Result<Option<Entry>> {
        loop {
            let is_leaf = self.steps.len() == self.depth;
            let Some(step) = self.steps.last_mut() else {
                return Ok(None);
            };
            if step.next == step.count {
                self.steps.pop();
                continue;
            }
            let index = step.next;
            step.next += 1;
            if is_leaf {
                self.entries += 1;
                return step.entry(self.format, index).map(Some);
            }
            let (at, found) = step.node(self.format, index)?;
            let key_end = at + NODE_LEN + found.key_len;
            if key_end > step.bytes.len() {
                return Err(Error::damaged(step.number, "a key continues past its page"));
            }
            let (child, number) = (self.format.child(&found), step.number);
            self.enter(pages, child, number)?;
        }
    }

    fn enter(
        &mut self,
        pages: &mut Pages<'_, impl Source>,
        number: u64,
        parent: u64,
    ) -> Result<()> {
        let page = pages.page(number, parent)?;
        let is_leaf = self.steps.len() + 1 == self.depth;
        let step = match (is_leaf, page.header.kind) {
            (true, _) => PathStep::leaf(self.format, number, &page.header, page.bytes)?,
            (false, kind::BRANCH) => {
                let count = count_nodes(self.format, number, &page.header, &page.bytes)?;
                if count == 0 {
                    return Err(Error::damaged(number, "it leads nowhere"));
                }
                PathStep {
                    number: page.number,
                    bytes: page.bytes,
                    packed_len: None,
                    count,
                    next: 0,
                }
            }
            (false, other) => {
                let detail = format!(
                    "it is no page above leaves (kind {other:#x}), where the description of the tree has one"
                );
                return Err(Error::damaged(number, detail));
            }
        };
        self.steps.push(step);
        Ok(())
    }
}

impl PathStep {
    fn leaf(format: Format, number: u64, header: &Header, bytes: PageSlice) -> Result<Self> {
        let (packed_len, count) = match header.kind & !kind::WITHIN {
            kind::LEAF => (None, count_nodes(format, number, header, &bytes)?),
            // libmdbx has either.
            other if other == kind::PACKED | kind::LEAF || other == kind::PACKED => {
                let len = usize::from(header.value_len);
                let count = format.entry_count(header).unwrap_or(usize::MAX);
                let room = bytes.len() - format.header_len();
                if count.saturating_mul(len) > room || count > room {
                    let detail = format!("{count} values of {len} bytes do not fit into it");
                    return Err(Error::damaged(number, detail));
                }
                (Some(len), count)
            }
            other => {
                let detail = format!(
                    "it is no leaf (kind {other:#x}), where the description of the tree has one"
                );
                return Err(Error::damaged(number, detail));
            }
        };
        Ok(Self {
            number,
            bytes,
            packed_len,
            count,
            next: 0,
        })
    }

    fn entry(&self, format: Format, index: usize) -> Result<Entry> {
        if let Some(len) = self.packed_len {
            let value = self.bytes.part(format.header_len() + index * len, len);
            let value = value
                .ok_or_else(|| Error::damaged(self.number, "a value continues past its page"))?;
            return Ok(Entry::Packed(value));
        }
        let (at, found) = self.node(format, index)?;
        let value_at = at + NODE_LEN + format.key_room(found.key_len);
        let value_len = match found.flags & node::RUN {
            0 => found.value_len as usize,
            _ => format.overflow_reference_len(),
        };
        let key = self.bytes.part(at + NODE_LEN, found.key_len);
        let value = self.bytes.part(value_at, value_len);
        let (Some(key), Some(value)) = (key, value) else {
            let detail = format!("record {index} continues past its page");
            return Err(Error::damaged(self.number, detail));
        };
        Ok(Entry::Node {
            page: self.number,
            key,
            node: found,
            value,
        })
    }

    /// The node at this index, and its offset.
    fn node(&self, format: Format, index: usize) -> Result<(usize, Node)> {
        let pointer = crate::bytes::u16_at(&self.bytes, format.header_len() + 2 * index);
        let at = pointer.map(|pointer| usize::from(pointer) + format.pointer_base());
        let after_pointers = format.header_len() + 2 * self.count;
        let found = at
            .filter(|at| *at >= after_pointers)
            .and_then(|at| Some((at, format.node(&self.bytes, at)?)));
        found.ok_or_else(|| {
            let detail = format!("the pointer to record {index} leads out of it");
            Error::damaged(self.number, detail)
        })
    }
}

/// The number of nodes of a page, whose pointers must fit into it.
fn count_nodes(format: Format, number: u64, header: &Header, bytes: &[u8]) -> Result<usize> {
    let count = format.entry_count(header).filter(|count| {
        header.lower <= header.upper && format.header_len() + 2 * count <= bytes.len()
    });
    count.ok_or_else(|| {
        let detail = format!(
            "its pointers end at {} and its nodes begin at {}",
            header.lower, header.upper
        );
        Error::damaged(number, detail)
    })
}
