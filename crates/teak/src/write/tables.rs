//! Creating, renaming and dropping tables: changes of catalog entries.

use crate::{
    Error, Result, TableTypes,
    btree::{
        PageSource, TYPE_NAME_MAX, TableClass, TreeRoot, mutable_tree::Tree, reading::reading_twice,
    },
    page::key::KeyOrder,
    read::catalog::{self, printable},
    types::TypeNames,
    write::transaction::{WriteTransaction, changing, not_found},
};

impl WriteTransaction {
    /// Creates a table, and records the names of its types; it must not exist.
    pub(crate) fn create_table(
        &mut self,
        handle: usize,
        name: &[u8],
        mut root: TreeRoot,
        types: TypeNames<'_>,
    ) -> Result<()> {
        self.refuse_broken()?;
        let orders = [Some(&mut root.order), root.kind.values.as_mut()];
        for order in orders.into_iter().flatten() {
            if let KeyOrder::Custom(comparison) = order {
                let known = self.base.comparisons.named(comparison.name());
                *order = KeyOrder::Custom(known.ok_or_else(|| Error::ComparisonMissing {
                    table: printable(name),
                    comparison: comparison.name().to_owned(),
                })?);
            }
        }
        let table = self.open(handle, name)?;
        if table.root.is_some() {
            return Err(Error::TableExists(printable(name)));
        }
        self.set_entry(handle, name, root, types)
    }

    /// Writes the entry of an open table to the catalog.
    fn set_entry(
        &mut self,
        handle: usize,
        name: &[u8],
        mut root: TreeRoot,
        types: TypeNames<'_>,
    ) -> Result<()> {
        refuse_long_names(self.pages.page_size(), name, &types)?;
        root.kind.typed = !types.is_empty();
        self.change_catalog(|pages, catalog| catalog::insert(pages, catalog, name, &root, types))?;
        self.note_root(handle, name, Some(root))
    }

    /// Writes the entry of a table that existed before. The catalog holds its root without the
    /// checksums that sealing computes.
    fn move_entry(
        &mut self,
        handle: usize,
        name: &[u8],
        root: TreeRoot,
        types: TypeNames<'_>,
    ) -> Result<()> {
        self.set_entry(handle, name, root, types)?;
        let table = self.opened(handle);
        debug_assert!(table.hint.is_empty(), "the table was written as a whole");
        table.is_changed = true;
        Ok(())
    }

    /// The recorded names of a table's types.
    pub(crate) fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        let pages = &self.pages;
        reading_twice(pages, || catalog::types(pages, &self.catalog, name))
    }

    /// Records other names of a table's types.
    pub(crate) fn set_types(
        &mut self,
        handle: usize,
        name: &[u8],
        types: TypeNames<'_>,
    ) -> Result<()> {
        self.refuse_broken()?;
        let root = self.open(handle, name)?.root;
        let root = root.ok_or_else(|| not_found(name))?;
        self.move_entry(handle, name, root, types)
    }

    /// Notes the root that the catalog has now.
    fn note_root(&mut self, handle: usize, name: &[u8], root: Option<TreeRoot>) -> Result<()> {
        self.tables.version += 1;
        let version = self.tables.version;
        let table = self.open(handle, name)?;
        debug_assert!(
            table.version < version,
            "each change of a table has a version of its own"
        );
        table.root = root;
        table.is_changed = false;
        table.version = version;
        table.hint.clear();
        Ok(())
    }

    /// Drops a table with all its pages. Returns whether there was one.
    pub(crate) fn drop_table(&mut self, handle: usize, name: &[u8]) -> Result<bool> {
        self.refuse_broken()?;
        let table = match self.open(handle, name) {
            Err(Error::ComparisonMissing { .. }) => return self.drop_unordered(handle, name),
            opened => opened?,
        };
        if table.root.is_none() {
            return Ok(false);
        }
        let is_expiring = is_expiring(table.root.as_ref());
        self.change(handle, name, |tree| tree.clear())?;
        self.forget_table(handle, name)?;
        if is_expiring && let Some((handle, name)) = self.index_of(name) {
            self.drop_table(handle, &name)?;
        }
        Ok(true)
    }

    /// The handle and the name of the index of an expiring table. An index has none.
    fn index_of(&self, name: &[u8]) -> Option<(usize, Vec<u8>)> {
        let index = catalog::expiry_index_of(name);
        let is_table = !name.starts_with(catalog::EXPIRY_INDEX_START);
        is_table.then(|| (self.engine.handle(&index), index))
    }

    /// Like [`Self::drop_table`], for a table whose comparison is missing.
    fn drop_unordered(&mut self, handle: usize, name: &[u8]) -> Result<bool> {
        let pages = &self.pages;
        let entry = reading_twice(pages, || {
            catalog::entry(pages, &self.catalog, name, &self.base.comparisons)
        })?;
        let Some(mut root) = entry.and_then(|entry| entry.root().copied()) else {
            return Ok(false);
        };
        self.status.is_broken = true;
        changing(&mut self.pages, |pages| Tree::new(pages, &mut root).clear())?;
        self.status.is_broken = false;
        self.note_open(handle, name, None);
        self.forget_table(handle, name)?;
        Ok(true)
    }

    fn forget_table(&mut self, handle: usize, name: &[u8]) -> Result<()> {
        self.change_catalog(|pages, catalog| catalog::remove(pages, catalog, name))?;
        self.note_root(handle, name, None)
    }

    /// Renames a table, and its index if it has one. The new name must be free.
    pub(crate) fn rename_table(&mut self, old: (usize, &[u8]), new: (usize, &[u8])) -> Result<()> {
        self.refuse_broken()?;
        let table = self.check_rename(old, new)?;
        let indexes = match is_expiring(Some(&table.0)) {
            true => self.index_of(old.1).zip(self.index_of(new.1)),
            false => None,
        };
        let Some((old_index, new_index)) = &indexes else {
            return self.move_table(old, new, &table);
        };
        let (old_index, new_index) = (
            (old_index.0, &old_index.1[..]),
            (new_index.0, &new_index.1[..]),
        );
        // Both names are checked before anything changes.
        let index = self.check_rename(old_index, new_index)?;
        self.all_or_broken(|txn| {
            txn.move_table(old, new, &table)?;
            txn.move_table(old_index, new_index, &index)
        })
    }

    /// The root and the types of a table, if it can be renamed.
    fn check_rename(
        &mut self,
        (old_handle, old): (usize, &[u8]),
        (new_handle, new): (usize, &[u8]),
    ) -> Result<(TreeRoot, TableTypes)> {
        let Some(root) = self.open(old_handle, old)?.root else {
            return Err(not_found(old));
        };
        if self.open(new_handle, new)?.root.is_some() {
            return Err(Error::TableExists(printable(new)));
        }
        let types = TableTypes::from(self.types_of(old)?);
        refuse_long_names(self.pages.page_size(), new, &types.names())?;
        Ok((root, types))
    }

    /// Moves the entry of a table that can be renamed.
    fn move_table(
        &mut self,
        (old_handle, old): (usize, &[u8]),
        (new_handle, new): (usize, &[u8]),
        (root, types): &(TreeRoot, TableTypes),
    ) -> Result<()> {
        self.forget_table(old_handle, old)?;
        self.move_entry(new_handle, new, *root, types.names())
    }
}

fn is_expiring(root: Option<&TreeRoot>) -> bool {
    root.is_some_and(|root| root.kind.class == TableClass::Expiring)
}

/// Refuses names that do not fit into a catalog entry.
fn refuse_long_names(page_size: usize, name: &[u8], types: &TypeNames<'_>) -> Result<()> {
    let len = types.keys.len().max(types.values.len());
    let text = if len > TYPE_NAME_MAX {
        format!("the name of a codec has at most {TYPE_NAME_MAX} bytes, not {len}")
    } else if !catalog::has_room_for_types(page_size, name, types) {
        format!(
            "a table name of {} bytes leaves no room for the names of its types; choose a shorter \
             one, or codecs without names",
            name.len()
        )
    } else {
        return Ok(());
    };
    Err(Error::InvalidArgument(text))
}
