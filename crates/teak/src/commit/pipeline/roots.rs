//! Step 2: the roots of changed tables, the catalog, and named snapshots.

use crate::{
    Result,
    btree::{TreeRoot, seal},
    read::catalog,
    write::transaction::WriteTransaction,
};

/// Seals every changed table and writes its root to the catalog.
pub(super) fn write_roots(txn: &mut WriteTransaction) -> Result<()> {
    for (handle, name, mut root) in changed_roots(txn) {
        seal::seal(&mut txn.pages, &mut root)?;
        txn.change_catalog(|pages, catalog| catalog::put(pages, catalog, &name, &root))?;
        if let Some(table) = txn.tables.open.get_mut(&handle) {
            table.root = Some(root);
            table.is_changed = false;
        }
    }
    Ok(())
}

/// The changed roots, by table handle and name.
fn changed_roots(txn: &WriteTransaction) -> Vec<(usize, Vec<u8>, TreeRoot)> {
    let open = txn.tables.open.iter();
    open.filter(|(_, table)| table.is_changed)
        .filter_map(|(handle, table)| Some((*handle, table.name.clone(), table.root?)))
        .collect()
}

/// Seals the catalog, and writes the list of named snapshots.
pub(super) fn write_catalog(txn: &mut WriteTransaction) -> Result<()> {
    debug_assert!(
        changed_roots(txn).is_empty(),
        "the catalog is sealed after it has the roots of all changed tables"
    );
    seal::seal(&mut txn.pages, &mut txn.catalog)?;
    txn.write_named()?;
    assert!(
        txn.pages.parked.trees.is_empty(),
        "parked trees are in the catalog"
    );
    Ok(())
}
