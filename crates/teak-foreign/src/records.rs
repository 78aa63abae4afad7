//! The records of a table: what its entries mean.

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

/// The way through the values of a key.
#[derive(Debug)]
struct ValueWalk {
    key: PageSlice,
    path: Path,
    /// The page that has the key.
    page: u64,
    /// How many there are, where their description says it.
    expected: Option<u64>,
}

/// The records of a table, in the order in which they stand in the file: of a key with several values one for each.
#[derive(Debug)]
pub struct Records<'p, 'e, S> {
    pages: &'p mut Pages<'e, S>,
    path: Path,
    /// The key whose values come now.
    values: Option<ValueWalk>,
    /// The page that it begins with, for messages.
    root: u64,
    is_main: bool,
    has_several: bool,
    /// As the description says.
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

    /// The next record: key and value. None behind the last, if there were as many as the table says.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::CutShort`], [`Error::Io`]. What comes after one means nothing.
    pub fn next_record(&mut self) -> Result<Option<(PageSlice, PageSlice)>> {
        self.next_but_named(&mut |_| Ok(()))
    }

    /// How many pages of the file were read so far, and of how many that may be in use.
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

    fn next_but_named(
        &mut self,
        visit: &mut dyn FnMut(NamedDatabase<'_>) -> Result<()>,
    ) -> Result<Option<(PageSlice, PageSlice)>> {
        loop {
            if let Some(values) = &mut self.values {
                match values.path.next(self.pages)? {
                    Some(Entry::Packed(value)) => {
                        self.seen += 1;
                        return Ok(Some((values.key.clone(), value)));
                    }
                    Some(Entry::Node {
                        key: value,
                        node,
                        page,
                        ..
                    }) => {
                        if node.flags != 0 {
                            return Err(unknown_node(page, node.flags));
                        }
                        self.seen += 1;
                        return Ok(Some((values.key.clone(), value)));
                    }
                    None => {
                        let found = values.path.entries();
                        let expected = values.expected.unwrap_or(found);
                        refuse_other_count(values.page, "a key of it", expected, found)?;
                        self.values = None;
                    }
                }
                continue;
            }
            match self.path.next(self.pages)? {
                None => {
                    refuse_other_count(self.root, "its table", self.expected, self.seen)?;
                    return Ok(None);
                }
                Some(Entry::Packed(_)) => {
                    let detail = "a page of a table has values without keys";
                    return Err(Error::damaged(self.root, detail));
                }
                Some(Entry::Node {
                    page,
                    key,
                    node: found,
                    value,
                }) => match found.flags {
                    0 => {
                        self.seen += 1;
                        return Ok(Some((key, value)));
                    }
                    node::RUN => {
                        let number = self
                            .pages
                            .format()
                            .overflow_page_number(&value)
                            .unwrap_or(0);
                        let value =
                            self.pages
                                .overflow_value(number, found.value_len as usize, page)?;
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
                    node::VALUES if self.has_several => {
                        let path = Path::within(self.pages.format(), value, page)?;
                        self.values = Some(ValueWalk {
                            key,
                            path,
                            page,
                            expected: None,
                        });
                    }
                    flags if flags == node::VALUES | node::TREE && self.has_several => {
                        let tree = (value.len() == TREE_LEN)
                            .then(|| self.pages.format().tree(&value))
                            .flatten();
                        let tree = tree.ok_or_else(|| {
                            Error::damaged(page, "a description of values is too short")
                        })?;
                        let path = Path::new(self.pages, &tree, page)?;
                        self.values = Some(ValueWalk {
                            key,
                            path,
                            page,
                            expected: Some(tree.records),
                        });
                    }
                    flags => return Err(unknown_node(page, flags)),
                },
            }
        }
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
