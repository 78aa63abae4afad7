//! The catalog: a tree whose keys are the names of tables and whose values are their roots.

use crate::{
    PageNumber, Result,
    page::{
        key::KeyOrder,
        value::{StoredValue, ValueKind},
    },
    tree::{
        PageSink, PageSource, TreeRoot,
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
    decode(catalog.page, value).map(Some)
}

/// The root that a catalog entry holds.
pub(super) fn decode(catalog_page: PageNumber, value: StoredValue<'_>) -> Result<TreeRoot> {
    let damaged = |damage: crate::page::Damage| damage.at(catalog_page, "open table");
    if value.kind != ValueKind::Tree {
        return Err(damaged(crate::page::Damage(
            "a catalog entry is not the root of a tree",
        )));
    }
    TreeRoot::decode(value.bytes).map_err(damaged)
}

/// Calls `visit` for each table, in the order of names.
pub(super) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    mut visit: impl FnMut(&[u8], TreeRoot) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(source, *catalog);
    while cursor.next()? {
        visit(cursor.key(), decode(catalog.page, cursor.stored_value())?)?;
    }
    Ok(())
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
