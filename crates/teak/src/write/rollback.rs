//! Rollback of the database to a named snapshot: its tables become those of that state. Pages that
//! died since are in use again, unchanged, and pages that were born since die. Nothing is copied.
//! The states in between stay for named snapshots and readers that use them. The commit of a
//! prepared transaction continues from its state in the same way.

use crate::{
    Error, Result, TransactionId,
    btree::{
        PageSource, TreeRoot,
        pages::{Forest, unshared},
        reading::reading,
    },
    page::comparison::Comparisons,
    planted::planted,
};
use crate::{
    read::{
        catalog::{self, CatalogEntry},
        named_list::NamedSnapshot,
    },
    write::transaction::WriteTransaction,
};

impl WriteTransaction {
    /// Continues the transaction from the state of a named snapshot. No table may have been changed
    /// yet.
    pub(crate) fn roll_back_to_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        if !self.pages.is_unchanged()
            || !self.savepoints.is_empty()
            || self.named.revived.is_some()
            || self.tables.open.values().any(|table| table.is_changed)
        {
            let text = "a transaction that has changed a table, or has a savepoint, cannot roll back to a snapshot; begin a new one";
            return Err(Error::InvalidArgument(text.into()));
        }
        let named = self.committed_named(name)?;
        self.continue_from(&named)?;
        self.name_base();
        Ok(())
    }

    /// Continues from a state that the list has. No table has been changed yet.
    pub(crate) fn continue_from(&mut self, named: &NamedSnapshot) -> Result<()> {
        let catalog = TreeRoot::decode_of_names(&named.catalog).map_err(|fault| {
            fault.at(
                self.named.list.page,
                "rolling back",
                "the catalog of the snapshot",
            )
        })?;
        let pages = &self.pages;
        let [born, died] = reading(pages, || {
            unshared(
                pages,
                forest(pages, pages.base(), &self.catalog)?,
                forest(pages, named.transaction, &catalog)?,
            )
        })?;
        let mut revived: Vec<_> = died
            .into_iter()
            .map(|page| (page.checksummed.extent, page.birth))
            .collect();
        revived.sort_unstable();
        planted!(ReviveNothing => revived.clear());
        self.named.revived = Some(revived);
        let born = born
            .into_iter()
            .map(|page| (page.checksummed.extent, page.birth));
        self.pages.deaths = born.collect();
        self.catalog = catalog;
        self.tables.open.clear();
        self.tables.has_other_roots = true;
        Ok(())
    }
}

/// All trees of a state: the catalog and its tables.
pub(crate) fn forest<S: PageSource + ?Sized>(
    source: &S,
    state: TransactionId,
    catalog: &TreeRoot,
) -> Result<Forest> {
    let mut forest = Forest::new(state);
    forest.add(catalog);
    let no_comparisons = Comparisons::default();
    catalog::for_each(
        source,
        catalog,
        &no_comparisons,
        |name, entry, _| match entry {
            CatalogEntry::Table(root)
            | CatalogEntry::Unordered(root, _)
            | CatalogEntry::Dropped(root) => {
                forest.add(&root);
                Ok(())
            }
            CatalogEntry::Unknown(unknown) => Err(unknown.error(&catalog::loss_text(name))),
        },
    )?;
    Ok(forest)
}
