//! The catalog: a tree whose keys are the names of tables and whose values are their roots.

use crate::{
    PageNumber, Result,
    page::{
        key::KeyOrder,
        value::{StoredValue, ValueKind},
    },
    tree::{
        PageSink, PageSource, RootFault, TreeRoot, UnknownTree,
        cursor::Cursor,
        insert::{Existing, Tree},
        lookup,
    },
};

/// The root of an empty catalog.
pub(super) fn empty() -> TreeRoot {
    TreeRoot::new(KeyOrder::Bytes, true, false, 0)
}

/// The root of the table `name`.
pub(super) fn find<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    name: &[u8],
) -> Result<Option<TreeRoot>> {
    let Some(value) = lookup::get(source, catalog, name)? else {
        return Ok(None);
    };
    match decode(catalog.page, value)? {
        Entry::Table(root) => Ok(Some(root)),
        Entry::Unknown(unknown) => Err(unknown.error(&in_words(name))),
    }
}

/// What a catalog entry holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Table(TreeRoot),
    /// A table that only a newer version can read. The others are none the worse for it.
    Unknown(UnknownTree),
}

/// How errors speak of a table that is not known.
pub(super) fn in_words(name: &[u8]) -> String {
    format!("table {:?}", String::from_utf8_lossy(name))
}

/// Reads a catalog entry.
pub(super) fn decode(catalog_page: PageNumber, value: StoredValue<'_>) -> Result<Entry> {
    let damaged = |damage: crate::page::Damage| damage.at(catalog_page, "open table");
    if value.kind != ValueKind::Tree {
        return Err(damaged(crate::page::Damage(
            "a catalog entry is not the root of a tree",
        )));
    }
    match TreeRoot::decode(value.bytes) {
        Ok(root) => Ok(Entry::Table(root)),
        Err(RootFault::Unknown(unknown)) => Ok(Entry::Unknown(unknown)),
        Err(RootFault::Damaged(damage)) => Err(damaged(damage)),
    }
}

/// Calls `visit` for each table, in the order of names.
pub(super) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    mut visit: impl FnMut(&[u8], Entry) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(source, *catalog);
    while cursor.next()? {
        visit(cursor.key(), decode(catalog.page, cursor.stored_value())?)?;
    }
    Ok(())
}

/// The name of the first table behind `name`, or from it on, that this version knows.
pub(super) fn table_from<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    name: &[u8],
    is_included: bool,
) -> Result<Option<Vec<u8>>> {
    let mut cursor = Cursor::new(source, *catalog);
    let found = cursor.seek(name)?;
    let mut is_on_one = match found {
        Some(true) if !is_included => cursor.next()?,
        found => found.is_some(),
    };
    while is_on_one {
        if let Entry::Table(_) = decode(catalog.page, cursor.stored_value())? {
            return Ok(Some(cursor.key().to_vec()));
        }
        is_on_one = cursor.next()?;
    }
    Ok(None)
}

/// Writes the root of the table `name`.
pub(super) fn put<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
    root: &TreeRoot,
) -> Result<()> {
    let bytes = root.encode();
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &bytes,
    };
    Tree::new(sink, catalog)
        .insert(name, value, Existing::Replace)
        .map(drop)
}

/// Takes the table `name` out of the catalog; its pages are the caller's to release.
pub(super) fn remove<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
) -> Result<bool> {
    Tree::new(sink, catalog).remove(name)
}
