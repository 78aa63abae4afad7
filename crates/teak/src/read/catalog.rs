//! The catalog: a tree whose keys are table names and whose values are table roots.

use crate::{
    Error, PageNumber, Result,
    btree::{
        PageSink, PageSource, RootFault, TableClass, TreeRoot, UnknownTree, cursor::TreeCursor,
        insert::Existing, lookup, mutable_tree::Tree,
    },
    page::{
        comparison::{COMPARISON_NAME_MAX, Comparisons},
        key::KeyOrder,
        value::{StoredValue, TREE_ROOT_LEN, ValueKind},
    },
    types::TypeNames,
};

/// Prefix of the names of the indexes of expiring tables. The name of the table follows.
pub(crate) const EXPIRY_INDEX_START: &[u8] = b"\0expiry\0";

/// The name of the index of an expiring table.
pub(crate) fn expiry_index_of(name: &[u8]) -> Vec<u8> {
    [EXPIRY_INDEX_START, name].concat()
}

/// The name of the expiring table that an entry of the catalog is the index of.
pub(crate) fn table_of_index<'n>(name: &'n [u8], entry: &CatalogEntry) -> Option<&'n [u8]> {
    let root = entry.root()?;
    let table = name.strip_prefix(EXPIRY_INDEX_START);
    table.filter(|_| is_expiry_index(name, root))
}

/// Whether a tree is the index of an expiring table.
pub(crate) fn is_expiry_index(name: &[u8], root: &TreeRoot) -> bool {
    root.kind.class == TableClass::Expiring && name.starts_with(EXPIRY_INDEX_START)
}

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

/// The catalog entry of `name`.
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

/// The recorded names of the types of the table `name`. They are empty if it does not exist.
pub(crate) fn types<'s, S: PageSource + ?Sized>(
    source: &'s S,
    catalog: &TreeRoot,
    name: &[u8],
) -> Result<TypeNames<'s>> {
    let value = lookup::get(source, catalog, name)?;
    Ok(value.map(types_in).unwrap_or_default())
}

/// The recorded names of types in a catalog entry. An entry that cannot be read has none.
pub(crate) fn types_in(value: StoredValue<'_>) -> TypeNames<'_> {
    let decoded = TreeRoot::decode_entry(value.bytes);
    decoded.map(|(_, names)| names.types).unwrap_or_default()
}

/// The content of a catalog entry.
#[derive(Clone, Debug)]
pub(crate) enum CatalogEntry {
    Table(TreeRoot),
    /// A table whose comparison is missing, and the names of the missing comparisons. Its pages
    /// have the usual layout. The placeholder for its order must neither be used for searches nor
    /// be written to a catalog.
    Unordered(TreeRoot, Vec<String>),
    /// The rest of a dropped table. No transaction sees it, and its keys are not compared any more.
    Dropped(TreeRoot),
    /// A table that only a newer version can read. It does not affect the other tables.
    Unknown(UnknownTree),
}

impl CatalogEntry {
    /// The root, for callers that want the pages of the table and do not compare its keys.
    pub(crate) fn root(&self) -> Option<&TreeRoot> {
        match self {
            Self::Table(root) | Self::Unordered(root, _) | Self::Dropped(root) => Some(root),
            Self::Unknown(_) => None,
        }
    }
}

/// How errors refer to an unknown table.
pub(crate) fn loss_text(name: &[u8]) -> String {
    format!("table {:?}", String::from_utf8_lossy(name))
}

/// Decodes a catalog entry.
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

/// Calls `visit` for each table in the order of names, including the rests of dropped tables.
pub(crate) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    catalog: &TreeRoot,
    comparisons: &Comparisons,
    mut visit: impl FnMut(&[u8], CatalogEntry, TypeNames<'_>) -> Result<()>,
) -> Result<()> {
    let mut cursor = TreeCursor::new(source, *catalog);
    while cursor.next()? {
        let value = cursor.stored_value();
        let entry = decode(catalog.page, value, comparisons)?;
        visit(cursor.key(), entry, types_in(value))?;
    }
    Ok(())
}

/// The name of the first table after `name`, or from `name` on if `is_included`, that this version
/// knows and can search.
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
        // The check guarantees that a walk from each table to the next one ends.
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

/// Writes the new root of the table `name`, which has an entry.
pub(crate) fn put<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
    root: &TreeRoot,
) -> Result<()> {
    Tree::new(sink, catalog).replace_root(name, root)
}

/// Whether a leaf of the catalog has room for the entry of the table `name`. There is always room
/// for one without names of types.
pub(crate) fn has_room_for_types(page_size: usize, name: &[u8], types: &TypeNames<'_>) -> bool {
    let len = TREE_ROOT_LEN + 2 * (1 + COMPARISON_NAME_MAX);
    let len = len + 2 + types.keys.len() + types.values.len();
    types.is_empty()
        || empty()
            .leaf_format()
            .stays_inline(page_size, name.len(), len)
}

/// Writes a new entry for the table `name`, with the names of its types.
pub(crate) fn insert<S: PageSink>(
    sink: &mut S,
    catalog: &mut TreeRoot,
    name: &[u8],
    root: &TreeRoot,
    types: TypeNames<'_>,
) -> Result<()> {
    let bytes = root.encode_entry(types);
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &bytes,
    };
    Tree::new(sink, catalog)
        .insert(name, value, Existing::Replace)
        .map(drop)
}

/// Removes the table `name` from the catalog. The caller has to release its pages.
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
