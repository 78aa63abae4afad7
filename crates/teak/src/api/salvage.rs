//! Salvage: saving the readable part of a damaged database.

use super::{
    Durability, Marks, Options, Transaction, WriteTxn,
    expiring::{ExpiringCopy, stored_table},
    salvage_indexes::{FoundIndexes, settings_of, take_indexes},
    salvage_target::{SalvageTarget, is_impossible},
    table_options::TableOptions,
};
use crate::{
    Database, Error, Result, TableTypes, TransactionId,
    admin::salvage::{DamagedFile, FoundTable, Loss},
    btree::{TableClass, TreeRoot},
    page::{
        comparison::{Comparison, Comparisons},
        stamp::ExpirySettings,
    },
    read::catalog::CatalogEntry,
    types::TypeNames,
};
use std::{fmt, ops::ControlFlow, path::Path};

/// Bytes of records that are collected before they are written.
const BATCH_BYTES: usize = 4 << 20;

/// Progress of a salvage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SalvageProgress {
    /// Pages of the damaged database read so far.
    pub pages_done: u64,
    /// Pages of the damaged database, free ones included.
    pub pages_total: u64,
}

/// The result for one table.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SalvagedTable {
    /// Its name.
    pub name: Vec<u8>,
    /// Records that were saved.
    pub records: u64,
    /// Records that the table had.
    pub records_before: u64,
    /// The losses of this table.
    pub losses: Vec<Loss>,
}

impl SalvagedTable {
    /// How many records were lost.
    #[must_use]
    pub fn records_lost(&self) -> u64 {
        self.records_before.saturating_sub(self.records)
    }

    fn is_complete(&self) -> bool {
        self.losses.is_empty() && self.records == self.records_before
    }
}

/// The records that were saved, and the losses. As text it lists each loss on a line of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The commit whose state was saved.
    pub transaction: TransactionId,
    /// Why commit records were passed over, as text.
    pub passed_over: Vec<String>,
    /// The tables that were found, in the order of their names.
    pub tables: Vec<SalvagedTable>,
    /// Losses of the catalog: tables with names in these key ranges may be lost.
    pub catalog_losses: Vec<Loss>,
    /// Names of tables that require a newer version of Teak. They were not saved.
    pub unknown_tables: Vec<Vec<u8>>,
    /// Names of tables whose comparisons are missing: see [`salvage`]. They were not saved.
    pub unordered_tables: Vec<Vec<u8>>,
    /// Names of the named snapshots. None is saved: salvage saves only the newest state.
    pub lost_snapshots: Vec<Vec<u8>>,
    /// Names of the prepared transactions. None is saved: salvage saves the state that readers see.
    pub lost_prepared: Vec<Vec<u8>>,
    /// Losses of the list of named snapshots: there may have been snapshots with names in these key
    /// ranges.
    pub snapshot_list_losses: Vec<Loss>,
    /// Number of losses beyond those listed.
    pub more_losses: u64,
}

impl SalvageReport {
    /// Whether nothing of the state, no named snapshot and no prepared transaction was lost. (There
    /// may have been newer states: see [`SalvageReport::passed_over`].)
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.catalog_losses.is_empty()
            && self.unknown_tables.is_empty()
            && self.unordered_tables.is_empty()
            && self.lost_snapshots.is_empty()
            && self.lost_prepared.is_empty()
            && self.snapshot_list_losses.is_empty()
            && self.more_losses == 0
            && self.tables.iter().all(SalvagedTable::is_complete)
    }
}

/// Copies the readable part of a damaged database into a new one, and reports the losses. The
/// damaged file is not changed, and need not be one that can be opened; `docs/corruption.md`
/// describes the attempts. The new database has the page size of the old one, its geometry, its
/// marks, and the durability it is opened with. Its tables have the options and sequences of the
/// old ones. Tables in custom orders are saved if `comparisons` has theirs. Named snapshots are not
/// saved; their names are in the report. The new file is renamed to `target` when it is complete:
/// if salvage fails, is cancelled by `progress`, or is killed, there is none.
///
/// ```
/// use std::ops::ControlFlow;
/// # use teak::{Database, Transaction};
/// # let directory = tempfile::tempdir()?;
/// # let (damaged, saved) = (directory.path().join("damaged.teak"), directory.path().join("saved.teak"));
/// # let database = Database::open(&damaged)?;
/// # let mut txn = database.begin_write()?;
/// # txn.create_table::<&str, u64>("ages")?.insert(&mut txn, "Ada", 36)?;
/// # txn.commit()?;
/// # database.close()?;
/// let go_on = &mut |_| ControlFlow::Continue(());
/// let report = teak::salvage(&damaged, &saved, &[], go_on)?;
/// println!("{report}");
/// assert!(report.is_complete());
///
/// let txn = Database::open(&saved)?.begin_read()?;
/// assert_eq!(txn.open_table::<&str, u64>("ages")?.get(&txn, "Ada")?, Some(36));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::NotADatabase`] if no commit record can be read; [`Error::Corrupted`] if none leads to
/// tables; [`Error::UnknownFormat`] if a newer version wrote it; [`Error::InUse`] while it is open
/// for writing; [`Error::AlreadyExists`] if `target` exists; [`Error::Cancelled`] if `progress`
/// breaks; [`Error::InvalidArgument`] for an impossible comparison name, or if `target` is the name
/// of a database's lock file; any error of writing the new database, such as [`Error::Io`].
pub fn salvage(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    comparisons: &[&'static Comparison],
    progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
) -> Result<SalvageReport> {
    let comparisons = Comparisons::new(comparisons);
    let options = Options::new().with_comparisons_of(&comparisons);
    options.salvage(source, target, progress)
}

/// Copies the readable part into a new database, and closes it.
pub(crate) fn salvage_into(
    mut damaged_file: DamagedFile,
    database: Database,
    progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
) -> Result<SalvageReport> {
    let mut report = SalvageReport {
        transaction: damaged_file.transaction(),
        passed_over: std::mem::take(&mut damaged_file.passed_over),
        tables: Vec::new(),
        catalog_losses: Vec::new(),
        unknown_tables: Vec::new(),
        unordered_tables: Vec::new(),
        lost_snapshots: Vec::new(),
        lost_prepared: Vec::new(),
        snapshot_list_losses: Vec::new(),
        more_losses: 0,
    };
    save_marks(&damaged_file, &database)?;
    let mut tables = damaged_file.tables()?;
    report.catalog_losses = damaged_file.losses.take();
    let indexes = indexes_of(&mut damaged_file, &mut tables, progress)?;
    for FoundTable { name, entry, types } in tables {
        match entry {
            CatalogEntry::Table(root) => {
                let settings = settings_of(&indexes, &name, &root);
                let saved = salvage_table(
                    &mut damaged_file,
                    &database,
                    (name.clone(), &root, &types, settings),
                    progress,
                );
                report.tables.push(match saved {
                    // The name occurs twice in a catalog that is out of order, or is not a possible
                    // name.
                    Err(
                        error @ (Error::TableMismatch { .. }
                        | Error::KeyTooLong { .. }
                        | Error::ValueTooLong { .. }
                        | Error::InvalidArgument(_)),
                    ) => SalvagedTable {
                        name,
                        records: 0,
                        records_before: root.records,
                        losses: vec![Loss {
                            page: root.page,
                            keys: None,
                            records_max: Some(root.records),
                            detail: error.to_string(),
                        }],
                    },
                    saved => saved?,
                });
            }
            CatalogEntry::Unordered(..) => report.unordered_tables.push(name),
            CatalogEntry::Unknown(_) => report.unknown_tables.push(name),
            CatalogEntry::Dropped(_) => {}
        }
    }
    note_lost_states(&mut damaged_file, &mut report)?;
    report.more_losses = damaged_file.losses.more;
    // Last, because the size limits apply to the contents and not to the space that building it
    // takes.
    let mut txn = database.begin_write()?;
    if damaged_file.geometry().is_possible() {
        txn.set_geometry(damaged_file.geometry())?;
    }
    txn.commit()?;
    database.close()?;
    Ok(report)
}

/// Takes out the indexes of expiring tables.
fn indexes_of(
    damaged_file: &mut DamagedFile,
    tables: &mut Vec<FoundTable>,
    progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
) -> Result<FoundIndexes> {
    let mut progress = progress_of(damaged_file.page_count(), progress);
    take_indexes(damaged_file, tables, &mut progress)
}

/// Reports a number of pages.
fn progress_of<'p>(
    pages_total: u64,
    progress: &'p mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
) -> impl FnMut(u64) -> ControlFlow<()> + 'p {
    move |pages_done| {
        progress(SalvageProgress {
            pages_done,
            pages_total,
        })
    }
}

/// Notes the states of other transactions, none of which is saved.
fn note_lost_states(damaged_file: &mut DamagedFile, report: &mut SalvageReport) -> Result<()> {
    for key in damaged_file.states()? {
        let lost = match key.is_prepared() {
            true => &mut report.lost_prepared,
            false => &mut report.lost_snapshots,
        };
        lost.push(key.name().to_vec());
    }
    report.snapshot_list_losses = damaged_file.losses.take();
    Ok(())
}

fn save_marks(damaged_file: &DamagedFile, database: &Database) -> Result<()> {
    let marks = damaged_file.marks();
    if marks != Marks::default() {
        let mut txn = database.begin_write()?;
        txn.set_marks(marks.values)?;
        txn.commit()?;
    }
    Ok(())
}

fn salvage_table(
    damaged_file: &mut DamagedFile,
    database: &Database,
    (name, root, types, settings): (
        Vec<u8>,
        &TreeRoot,
        &TableTypes,
        Result<ExpirySettings, Loss>,
    ),
    progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
) -> Result<SalvagedTable> {
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::Lazy);
    let options = TableOptions::of_root(root);
    let (settings, mut losses) = match settings {
        Ok(settings) => (settings, Vec::new()),
        Err(loss) => (ExpirySettings::default(), vec![loss]),
    };
    let mut create = |types: TypeNames<'_>| match options.expiring {
        true => txn.create_expiring(&name, options, types, &settings),
        false => txn.create(&name, options, types),
    };
    // A name may occur twice in a damaged catalog. One table gets the records of both then, and the
    // types of the first.
    let created = match create(types.names()) {
        Err(Error::TableTypeMismatch { .. }) => create(TypeNames::default()),
        created => created,
    };
    let drawn = created?.sequence;
    // The numbers of an expiring table are those of its records.
    if !options.expiring {
        txn.draw_sequence(&name, root.sequence.saturating_sub(drawn))?;
    }
    txn.commit()?;
    let txn = database.begin_read()?;
    let table = match root.kind.class {
        TableClass::Multi => SalvageTarget::Multi(txn.open_multi_table(&name)?),
        TableClass::Single => SalvageTarget::Plain(txn.open_table(&name)?),
        TableClass::Expiring => {
            SalvageTarget::Expiring(ExpiringCopy::of(&txn, &name), stored_table(&txn, &name)?)
        }
    };
    let mut copy = TableSalvage {
        database,
        table,
        batch: Vec::new(),
        batch_bytes: 0,
    };
    let mut progress = progress_of(damaged_file.page_count(), progress);
    damaged_file.records(root, &mut progress, |key, value| copy.take(key, value))?;
    copy.write_batch()?;
    losses.extend(damaged_file.losses.take());
    Ok(SalvagedTable {
        name,
        records: copy.table.len(&database.begin_read()?)?,
        records_before: root.records,
        losses,
    })
}

/// Writes the records of one table.
struct TableSalvage<'d> {
    database: &'d Database,
    table: SalvageTarget,
    batch: Vec<(Vec<u8>, Vec<u8>)>,
    batch_bytes: usize,
}

impl TableSalvage<'_> {
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if value.len() > BATCH_BYTES {
            self.write_batch()?;
            return self.write(|table, txn| table.put(txn, key, value));
        }
        self.batch_bytes += key.len() + value.len() + size_of::<(Vec<u8>, Vec<u8>)>();
        self.batch.push((key.to_vec(), value.to_vec()));
        if self.batch_bytes >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let records: Vec<_> = batch.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        self.write(|table, txn| match table.insert_many(txn, &records) {
            // One of the keys is impossible in any table; insert the others one by one.
            Err(error) if is_impossible(&error) => records
                .iter()
                .try_for_each(|(key, value)| table.put(txn, key, value)),
            written => written.map(drop),
        })
    }

    fn write(&self, write: impl FnOnce(&SalvageTarget, &mut WriteTxn) -> Result<()>) -> Result<()> {
        let mut txn = self.database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        write(&self.table, &mut txn)?;
        txn.commit().map(drop)
    }
}

impl fmt::Display for SalvageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "saved the state of commit {}", self.transaction)?;
        for why in &self.passed_over {
            writeln!(f, "passed over: {why}")?;
        }
        for loss in &self.catalog_losses {
            writeln!(
                f,
                "catalog, where names of tables are the keys: {}",
                LossText(loss)
            )?;
        }
        for table in &self.tables {
            let name = table.name.escape_ascii();
            for loss in &table.losses {
                writeln!(f, "table \"{name}\": {}", LossText(loss))?;
            }
            let (records, lost) = (table.records, table.records_lost());
            writeln!(f, "table \"{name}\": {records} records saved, {lost} lost")?;
        }
        for name in &self.unknown_tables {
            let name = name.escape_ascii();
            writeln!(
                f,
                "table \"{name}\" was not saved: it needs a newer version"
            )?;
        }
        for name in &self.unordered_tables {
            let name = name.escape_ascii();
            writeln!(
                f,
                "table \"{name}\" was not saved: it uses a custom comparison; salvage it from the application with teak::salvage"
            )?;
        }
        for name in &self.lost_snapshots {
            let name = name.escape_ascii();
            writeln!(f, "snapshot \"{name}\" is lost: no older state was saved")?;
        }
        for name in &self.lost_prepared {
            let name = name.escape_ascii();
            writeln!(
                f,
                "prepared transaction \"{name}\" is lost: only what readers see was saved"
            )?;
        }
        for loss in &self.snapshot_list_losses {
            writeln!(
                f,
                "list of named snapshots, where their names are the keys: {}",
                LossText(loss)
            )?;
        }
        if self.more_losses > 0 {
            writeln!(
                f,
                "and {} losses more, which are not listed",
                self.more_losses
            )?;
        }
        Ok(())
    }
}

/// A loss as text.
struct LossText<'l>(&'l Loss);

impl fmt::Display for LossText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss {
            page,
            keys,
            records_max,
            detail,
        } = self.0;
        write!(f, "page {page} is damaged ({detail})")?;
        if let Some(keys) = keys {
            write!(f, ", {keys}")?;
        }
        match records_max {
            Some(1) | None => Ok(()),
            Some(count) => write!(f, ", {count} records at most"),
        }
    }
}
