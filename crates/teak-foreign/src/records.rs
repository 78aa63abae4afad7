//! The records of a table: the meaning of a tree's entries.

use crate::{
    Error, PageSlice, Result, Source, Table,
    format::{TREE_LEN, node},
    pages::Pages,
    tree::{Entry, Path},
};

/// A named database among the records of the main table.
pub(crate) struct NamedDatabase<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) page: u64,
    /// Its description.
    pub(crate) tree: &'a [u8],
}

/// A walk through the values of a key.
#[derive(Debug)]
struct ValueWalk {
    key: PageSlice,
    path: Path,
    /// The page that has the key.
    page: u64,
    /// The number of values, if the description has it.
    expected: Option<u64>,
}

/// The records of a table, in the order of the file. A key with several values has a record for
/// each.
#[derive(Debug)]
pub struct Records<'p, 'e, S> {
    pages: &'p mut Pages<'e, S>,
    path: Path,
    /// The key whose values are being read.
    values: Option<ValueWalk>,
    /// The page that it begins with, for messages.
    root: u64,
    is_main: bool,
    has_several: bool,
    /// The number in the description.
    expected: u64,
    seen: u64,
}

impl<'p, 'e, S: Source> Records<'p, 'e, S> {
    pub(crate) fn new(pages: &'p mut Pages<'e, S>, table: &Table) -> Result<Self> {
        let path = Path::new(pages, &table.tree, 0)?;
        Ok(Self {
            pages,
            path,
            values: None,
            root: table.tree.root.unwrap_or(0),
            is_main: table.name.is_none(),
            has_several: table.values.is_some(),
            expected: table.tree.records,
            seen: 0,
        })
    }

    /// The next record: key and value. `None` after the last, if the number of records is the
    /// table's.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::CutShort`], [`Error::Io`]. After an error the results are
    /// meaningless.
    pub fn next_record(&mut self) -> Result<Option<(PageSlice, PageSlice)>> {
        self.next_but_named(&mut |_| Ok(()))
    }

    /// The number of pages of the file read so far, and of pages that may be in use.
    pub fn progress(&self) -> (u64, u64) {
        self.pages.progress()
    }

    /// Shows all named databases among the records.
    pub(crate) fn for_each_named(
        &mut self,
        mut visit: impl FnMut(NamedDatabase<'_>) -> Result<()>,
    ) -> Result<()> {
        while self.next_but_named(&mut visit)?.is_some() {}
        Ok(())
    }

    /// The next record. Calls `visit` for each named database on the way.
    fn next_but_named(
        &mut self,
        visit: &mut dyn FnMut(NamedDatabase<'_>) -> Result<()>,
    ) -> Result<Option<(PageSlice, PageSlice)>> {
        loop {
            if let Some(pair) = self.next_value()? {
                return Ok(Some(pair));
            }
            let (page, key, found, value) = match self.path.next(self.pages)? {
                Some(Entry::Node {
                    page,
                    key,
                    node,
                    value,
                }) => (page, key, node, value),
                Some(Entry::Packed(_)) => {
                    let detail = "a page of a table has values without keys";
                    return Err(Error::damaged(self.root, detail));
                }
                None => {
                    refuse_other_count(self.root, "its table", self.expected, self.seen)?;
                    return Ok(None);
                }
            };
            match found.flags {
                0 => {
                    self.seen += 1;
                    return Ok(Some((key, value)));
                }
                node::RUN => {
                    let number = self.pages.format().overflow_page_number(&value);
                    let len = found.value_len as usize;
                    let value = self.pages.overflow_value(number.unwrap_or(0), len, page)?;
                    self.seen += 1;
                    return Ok(Some((key, value)));
                }
                node::TREE if self.is_main && !self.has_several => {
                    self.seen += 1;
                    visit(NamedDatabase {
                        name: &key,
                        page,
                        tree: &value,
                    })?;
                }
                flags if flags & node::VALUES != 0 && self.has_several => {
                    self.values = Some(self.walk_values(page, key, flags, value)?);
                }
                flags => return Err(unknown_node(page, flags)),
            }
        }
    }

    /// The next value of the key whose values are being read. `None` when there is no such key, or
    /// no value left.
    fn next_value(&mut self) -> Result<Option<(PageSlice, PageSlice)>> {
        let Some(values) = &mut self.values else {
            return Ok(None);
        };
        let value = match values.path.next(self.pages)? {
            Some(Entry::Packed(value)) => value,
            Some(Entry::Node {
                key, node, page, ..
            }) => {
                if node.flags != 0 {
                    return Err(unknown_node(page, node.flags));
                }
                key
            }
            None => {
                let found = values.path.entries();
                let expected = values.expected.unwrap_or(found);
                refuse_other_count(values.page, "a key of it", expected, found)?;
                self.values = None;
                return Ok(None);
            }
        };
        self.seen += 1;
        Ok(Some((values.key.clone(), value)))
    }

    /// A walk over the values of `key`: they are in a page within `value`, or in a tree that
    /// `value` describes.
    fn walk_values(
        &mut self,
        page: u64,
        key: PageSlice,
        flags: u16,
        value: PageSlice,
    ) -> Result<ValueWalk> {
        let format = self.pages.format();
        let (path, expected) = match flags {
            node::VALUES => (Path::within(format, value, page)?, None),
            flags if flags == node::VALUES | node::TREE => {
                let tree = (value.len() == TREE_LEN).then(|| format.tree(&value));
                let tree = tree
                    .flatten()
                    .ok_or_else(|| Error::damaged(page, "a description of values is too short"))?;
                (Path::new(self.pages, &tree, page)?, Some(tree.records))
            }
            flags => return Err(unknown_node(page, flags)),
        };
        Ok(ValueWalk {
            key,
            path,
            page,
            expected,
        })
    }
}

fn unknown_node(page: u64, flags: u16) -> Error {
    let detail = format!("it has a record with flags {flags:#x}, which cannot be in its table");
    Error::damaged(page, detail)
}

fn refuse_other_count(page: u64, of: &str, expected: u64, found: u64) -> Result<()> {
    match expected == found {
        true => Ok(()),
        false => {
            let detail = format!("{of} has {found} records, and its description says {expected}");
            Err(Error::damaged(page, detail))
        }
    }
}
