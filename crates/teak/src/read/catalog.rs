//! The catalog: a tree whose keys are the names of tables and whose values are their roots.

use crate::{
    Error, PageNumber, Result,
    btree::{
        PageSink, PageSource, RootFault, TreeRoot, UnknownTree, cursor::TreeCursor,
        insert::Existing, lookup, mutable_tree::Tree,
    },
    page::{
        comparison::Comparisons,
        key::KeyOrder,
        value::{StoredValue, ValueKind},
    },
};

/// The root of an empty catalog.
pub(crate) fn empty() -> TreeRoot {
    TreeRoot::new(KeyOrder::Bytes, true, false, 0)
}

/// The root of the table `name`.
pub(crate) fn find<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    name: &[u8],
    comparisons: &Comparisons,
) -> Result<Option<TreeRoot>> {
    match entry(source, catalog, name, comparisons)? {
        None => Ok(None),
        Some(CatalogEntry::Table(root)) => Ok(Some(root)),
        Some(CatalogEntry::Dropped(_)) => Ok(None),
        Some(CatalogEntry::Unordered(_, missing)) => Err(Error::ComparisonMissing {
            table: printable(name),
            comparison: missing.into_iter().next().unwrap_or_default(),
        }),
        Some(CatalogEntry::Unknown(unknown)) => Err(unknown.error(&loss_text(name))),
    }
}

/// What stands under `name`.
pub(crate) fn entry<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    name: &[u8],
    comparisons: &Comparisons,
) -> Result<Option<CatalogEntry>> {
    let value = lookup::get(source, catalog, name)?;
    value
        .map(|value| decode(catalog.page, value, comparisons))
        .transpose()
}

/// What a catalog entry holds.
#[derive(Clone, Debug)]
pub(crate) enum CatalogEntry {
    Table(TreeRoot),
    /// A table in an order whose comparison is missing, and which comparisons are. Its pages are as those of others, but
    /// what stands in for its order must neither be searched by nor written to a catalog.
    Unordered(TreeRoot, Vec<String>),
    /// What is left of a table that was dropped. Nobody sees it, and its keys are not compared any more.
    Dropped(TreeRoot),
    /// A table that only a newer version can read. The others are none the worse for it.
    Unknown(UnknownTree),
}

impl CatalogEntry {
    /// The root, for who wants the pages of the table and does not compare its keys.
    pub(crate) fn root(&self) -> Option<&TreeRoot> {
        match self {
            Self::Table(root) | Self::Unordered(root, _) | Self::Dropped(root) => Some(root),
            Self::Unknown(_) => None,
        }
    }
}

/// How errors speak of a table that is not known.
pub(crate) fn loss_text(name: &[u8]) -> String {
    format!("table {:?}", String::from_utf8_lossy(name))
}

/// Reads a catalog entry.
pub(crate) fn decode(
    catalog_page: PageNumber,
    value: StoredValue<'_>,
    comparisons: &Comparisons,
) -> Result<CatalogEntry> {
    let damaged = |damage: crate::page::PageDamage| damage.at(catalog_page, "open table");
    if value.kind != ValueKind::Tree {
        return Err(damaged(crate::page::PageDamage(
            "a catalog entry is not the root of a tree",
        )));
    }
    match TreeRoot::decode_entry(value.bytes) {
        Ok((root, _)) if root.kind.dropped => Ok(CatalogEntry::Dropped(root)),
        Ok((mut root, names)) => Ok(match names.resolve(&mut root, comparisons) {
            missing if missing.is_empty() => CatalogEntry::Table(root),
            missing => CatalogEntry::Unordered(root, missing),
        }),
        Err(RootFault::Unknown(unknown)) => Ok(CatalogEntry::Unknown(unknown)),
        Err(RootFault::Damaged(damage)) => Err(damaged(damage)),
    }
}

/// Calls `visit` for each table, in the order of names, and for what is left of those that were dropped.
pub(crate) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    comparisons: &Comparisons,
    mut visit: impl FnMut(&[u8], CatalogEntry) -> Result<()>,
) -> Result<()> {
    let mut cursor = TreeCursor::new(source, *catalog);
    while cursor.next()? {
        let entry = decode(catalog.page, cursor.stored_value(), comparisons)?;
        visit(cursor.key(), entry)?;
    }
    Ok(())
}

/// The name of the first table behind `name`, or from it on, that this version knows and can search.
pub(crate) fn table_from<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    comparisons: &Comparisons,
    name: &[u8],
    is_included: bool,
) -> Result<Option<Vec<u8>>> {
    let mut cursor = TreeCursor::new(source, *catalog);
    let found = cursor.seek(name)?;
    let mut is_on_one = match found {
        Some(true) if !is_included => cursor.next()?,
        found => found.is_some(),
    };
    while is_on_one {
        // A walk from each table to the next one ends.
        if cursor.key() < name || cursor.key() == name && !is_included {
            let detail = "the names of the tables are not in ascending order";
            return Err(Error::corrupted(catalog.page, "scan", detail));
        }
        if let CatalogEntry::Table(_) = decode(catalog.page, cursor.stored_value(), comparisons)? {
            return Ok(Some(cursor.key().to_vec()));
        }
        is_on_one = cursor.next()?;
    }
    Ok(None)
}

/// Writes the root of the table `name`.
pub(crate) fn put<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
    root: &TreeRoot,
) -> Result<()> {
    let bytes = root.encode_entry();
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &bytes,
    };
    Tree::new(sink, catalog)
        .insert(name, value, Existing::Replace)
        .map(drop)
}

/// Takes the table `name` out of the catalog; its pages are the caller's to release.
pub(crate) fn remove<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
) -> Result<bool> {
    Tree::new(sink, catalog).remove(name)
}

pub(crate) fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
