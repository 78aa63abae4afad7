//! The program's only interface to the engine: opening databases, tables of raw bytes, and
//! iteration over their records.

mod records;
mod table;

pub(crate) use records::{Direction, KeyBound, RecordChange};
pub(crate) use table::AnyTable;

use crate::common_arguments::WaitArgument;
use crate::encryption::{self, KeyUse};
use crate::failure::Failure;
use crate::key_arguments::EncodingArguments;
use crate::locking::{Locking, locking};
use crate::output;
use crate::outputs;
use crate::text::{Header, Order, TableKind, shown_path};
use std::{ops::ControlFlow, path::Path, time::Duration};
use teak::Transaction as _;
use teak::{
    Create, Database, Deletion, Durability, Options, ReadTxn, Recovery, SalvageReport, Sharing,
    TableInfo, TableTypes, TransactionId, WriteOptions, WriteTxn,
};

fn options() -> Options {
    let Locking {
        lock_file,
        is_unlocked,
    } = locking();
    let mut options = Options::new();
    if is_unlocked {
        options = options.sharing(Sharing::Unlocked);
    }
    match lock_file {
        Some(lock_file) => options.lock_file(lock_file),
        None => options,
    }
}

/// Opens a database that must exist, to read it.
pub(crate) fn open_for_reading(path: &Path) -> Result<Database, Failure> {
    open_for_copying(path, KeyUse::Always)
}

/// Opens a database that must exist, to read it. `key_use` says whether a given key must be its
/// own.
pub(crate) fn open_for_copying(path: &Path, key_use: KeyUse) -> Result<Database, Failure> {
    outputs::refuse_standard_output(path)?;
    let options = options().read_only(true).create(Create::Never);
    report_recovery(encryption::for_existing(options, path, key_use)?.open(path)?)
}

/// Opens a database that must exist, to change it.
pub(crate) fn open_for_writing(path: &Path) -> Result<Database, Failure> {
    outputs::refuse_standard_output(path)?;
    let options = for_writing()?.create(Create::Never);
    report_recovery(encryption::for_existing(options, path, KeyUse::Always)?.open(path)?)
}

/// Options under which commits fail if the file has lost the name that was given.
fn for_writing() -> Result<Options, Failure> {
    refuse_unlocked("this command writes")?;
    Ok(options().require_name(true))
}

/// Refuses `--no-lock`, with the reason.
pub(crate) fn refuse_unlocked(reason: &str) -> Result<(), Failure> {
    match locking().is_unlocked {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "--no-lock is for reading without a lock file, but {reason}; leave it out"
        ))),
    }
}

/// Opens a database to change it, or creates it with at most these permissions. Then runs `work`
/// and closes it. If `work` fails, a database that was created for it is removed, unless it has
/// commits.
pub(crate) fn open_or_create<T>(
    path: &Path,
    page_size_bytes: Option<usize>,
    file_mode: u32,
    encoding: EncodingArguments,
    work: impl FnOnce(&Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    outputs::refuse_standard_output(path)?;
    let mut options = for_writing()?.file_mode(file_mode);
    if let Some(page_size_bytes) = page_size_bytes {
        options = options.page_size(page_size_bytes);
    }
    let (database, is_new) = opened_or_created(path, &options, encoding)?;
    let done = work(&database);
    match done {
        Ok(_) => database.close()?,
        Err(_) => {
            drop(database);
            if is_new {
                remove_unused(path);
            }
        }
    }
    done
}

/// Opens a database, or creates it. Returns whether it is new.
fn opened_or_created(
    path: &Path,
    options: &Options,
    encoding: EncodingArguments,
) -> Result<(Database, bool), Failure> {
    let new = encryption::for_new(options.clone(), path, encoding)?;
    if let Some(new) = &new {
        match new.clone().create(Create::New).open(path) {
            Err(teak::Error::AlreadyExists(_)) => {}
            created => return Ok((created?, true)),
        }
    }
    // With `--encrypt`, a database that is not encrypted is refused.
    let existing = match new {
        Some(new) if encoding.encrypt => new,
        Some(_) => encryption::for_existing(options.clone(), path, KeyUse::Always)?,
        None => {
            let options = options.clone().create(Create::Never);
            encryption::for_existing(options, path, KeyUse::Always)?
        }
    };
    let opened = match existing.open(path) {
        Err(teak::Error::NotFound(_)) => return Err(encryption::not_to_be_encrypted(path)),
        opened => report_recovery(opened?)?,
    };
    let compression = opened.info().compression;
    if encoding.compress.is_some() && compression != encoding.compress {
        let is = compression.map_or("not compressed".to_owned(), |is| {
            format!("compressed with {is}")
        });
        output::warn(&format!("the database already exists and stays {is}"));
    }
    Ok((opened, false))
}

/// Removes a database without commits, if no other process has it open.
fn remove_unused(path: &Path) {
    let alone = Options::new().create(Create::Never).sharing(Sharing::Alone);
    let Ok(alone) = encryption::for_existing(alone, path, KeyUse::Always) else {
        return;
    };
    let alone = alone.open(path);
    let is_unused = |database: &Database| {
        let state = database.begin_read();
        state.is_ok_and(|state| state.id() == TransactionId(0))
    };
    if alone.as_ref().is_ok_and(is_unused) {
        // It does no harm if it stays.
        let _ = teak::delete(path, Deletion::Now);
    }
}

/// The least page size of a compressed database that is made from something else.
const COMPRESSED_PAGE_SIZE: usize = 32 << 10;

/// Creates a database exclusively, with at most these permissions.
pub(crate) fn create_exclusive(
    path: &Path,
    page_size_bytes: usize,
    file_mode: u32,
    encoding: EncodingArguments,
) -> Result<Database, Failure> {
    let options = Options::new().require_name(true).create(Create::New);
    let options = options.sharing(Sharing::Alone).file_mode(file_mode);
    // Smaller pages would save little.
    let page_size_bytes = match encoding.compress {
        Some(_) => page_size_bytes.max(COMPRESSED_PAGE_SIZE),
        None => page_size_bytes,
    };
    let options = options.page_size(page_size_bytes);
    let options = encryption::for_new(options, path, encoding)?;
    Ok(options.ok_or_else(encryption::refused_key)?.open(path)?)
}

fn report_recovery(database: Database) -> Result<Database, Failure> {
    if let Recovery::RolledBack { from, to, reason } = database.info().recovery {
        output::warn(&format!(
            "the system went down while transaction {from} was being written; the database is at transaction {to} ({reason})"
        ));
    }
    Ok(database)
}

/// Begins to read a named snapshot, or the newest state.
pub(crate) fn begin_read(database: &Database, snapshot: Option<&[u8]>) -> Result<ReadTxn, Failure> {
    Ok(match snapshot {
        Some(name) => database.open_snapshot(name)?,
        None => database.begin_read()?,
    })
}

/// Begins a read of the newest state, or of a named snapshot, and opens a table in it.
pub(crate) fn read_table(
    database: &Database,
    snapshot: Option<&[u8]>,
    name: &[u8],
) -> Result<(ReadTxn, AnyTable), Failure> {
    let txn = begin_read(database, snapshot)?;
    let table = open_table(&txn, name)?;
    Ok((txn, table))
}

/// Opens a table of a read.
pub(crate) fn open_table(txn: &ReadTxn, name: &[u8]) -> Result<AnyTable, Failure> {
    Ok(AnyTable::open(txn, name)?)
}

/// Opens a table that must exist, in a write.
pub(crate) fn open_table_for_writing(txn: &WriteTxn, name: &[u8]) -> Result<AnyTable, Failure> {
    Ok(AnyTable::open(txn, name)?)
}

/// Whether a table with this name exists.
pub(crate) fn has_table(txn: &WriteTxn, name: &[u8]) -> Result<bool, Failure> {
    match AnyTable::open(txn, name) {
        Ok(_) => Ok(true),
        Err(teak::Error::TableNotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a table with any options and types, or creates it with those of a header.
pub(crate) fn open_or_create_table(
    txn: &mut WriteTxn,
    name: &[u8],
    header: &Header,
) -> Result<AnyTable, Failure> {
    match AnyTable::open(txn, name) {
        Err(teak::Error::TableNotFound(_)) => {
            let table = AnyTable::create(txn, name, header.kind)?;
            if header.types != TableTypes::default() {
                txn.set_table_types(name, &header.types)?;
            }
            Ok(table)
        }
        opened => Ok(opened?),
    }
}

/// The order of a table's keys.
pub(crate) fn order_of(info: &TableInfo) -> Order {
    kind_of(info).order
}

/// The kind of a table for text formats.
pub(crate) fn kind_of(info: &TableInfo) -> TableKind {
    table::kind(&info.options)
}

/// The catalog entry of one table.
pub(crate) fn table_info(txn: &ReadTxn, name: &[u8]) -> Result<TableInfo, Failure> {
    let found = txn.tables()?.into_iter().find(|info| info.name == name);
    found.ok_or_else(|| teak::Error::TableNotFound(lossy(name)).into())
}

/// A name for errors of the engine, which escape it themselves.
pub(crate) fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The time that a command waits for other writers before it reports that.
const SILENCE: Duration = Duration::from_secs(1);

/// Begins to write. While other processes write, reports who they are and waits as long as allowed.
pub(crate) fn begin_write(database: &Database, wait: WaitArgument) -> Result<WriteTxn, Failure> {
    let silence = silence(wait);
    match database.begin_write_with(WriteOptions::new().timeout(silence))? {
        Some(txn) => Ok(txn),
        None => wait_and_report(database, wait, silence),
    }
}

/// How long a command waits for other writers before it reports that.
pub(crate) fn silence(wait: WaitArgument) -> Duration {
    wait.limit.map_or(SILENCE, |limit| limit.min(SILENCE))
}

/// Reports which process writes, and waits for the rest of the allowed time.
pub(crate) fn wait_and_report(
    database: &Database,
    wait: WaitArgument,
    silence: Duration,
) -> Result<WriteTxn, Failure> {
    let rest = wait.limit.map(|limit| limit.saturating_sub(silence));
    if rest.is_none_or(|rest| !rest.is_zero()) {
        let limit = match wait.limit {
            Some(limit) => format!("for at most {limit:?}"),
            None => "until it has ended; --wait-timeout SECONDS limits that".to_owned(),
        };
        let (writer, path) = (writer(database), shown_path(database.path()));
        output::warn(&format!("{writer} is writing to {path}; waiting {limit}"));
    }
    let begun = match rest {
        None => Some(database.begin_write()?),
        Some(rest) => database.begin_write_with(WriteOptions::new().timeout(rest))?,
    };
    begun.ok_or_else(|| busy(database, wait))
}

/// The failure if others write longer than the timeout.
pub(crate) fn busy(database: &Database, wait: WaitArgument) -> Failure {
    Failure::Busy(format!(
        "{} has been writing to {} for longer than {:?}; try again when it has ended, or wait longer (--wait-timeout)",
        writer(database),
        shown_path(database.path()),
        wait.limit.unwrap_or_default()
    ))
}

fn writer(database: &Database) -> String {
    match database.info().writer_process {
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    }
}

/// Runs `change` in a write transaction and commits durably.
pub(crate) fn change<T>(
    database: &Database,
    wait: WaitArgument,
    change: impl FnOnce(&mut WriteTxn) -> Result<T, Failure>,
) -> Result<(T, TransactionId), Failure> {
    let mut txn = begin_write(database, wait)?;
    txn.set_durability(Durability::Durable);
    let result = change(&mut txn)?;
    Ok((result, txn.commit()?))
}

/// Copies the readable records of a damaged database into a new one. Calls `progress` with the
/// number of pages read and the total.
pub(crate) fn salvage(
    damaged: &Path,
    saved: &Path,
    progress: impl Fn(u64, u64) -> ControlFlow<()>,
) -> Result<SalvageReport, Failure> {
    let options = encryption::for_existing(Options::new(), damaged, KeyUse::Always)?;
    let mut report = |at: teak::SalvageProgress| progress(at.pages_done, at.pages_total);
    Ok(options.salvage(damaged, saved, &mut report)?)
}

/// The numbers of a database's file, all as wide as they come.
pub(crate) struct FileStat {
    pub(crate) file_bytes: u64,
    pub(crate) page_size_bytes: u64,
    pub(crate) page_count: u64,
    pub(crate) used_pages: u64,
    pub(crate) free_pages: u64,
    pub(crate) pending_pages: u64,
    pub(crate) readers: u64,
    pub(crate) transaction: TransactionId,
    pub(crate) durable_transaction: TransactionId,
}

/// The numbers of a database's file.
pub(crate) fn file_stat(database: &Database) -> Result<FileStat, Failure> {
    let stat = database.stat()?;
    Ok(FileStat {
        file_bytes: wide(stat.file_bytes),
        page_size_bytes: wide(database.info().page_size),
        page_count: wide(stat.page_count),
        used_pages: wide(stat.used_pages),
        free_pages: wide(stat.free_pages),
        pending_pages: wide(stat.pending_pages),
        readers: wide(stat.readers),
        transaction: stat.transaction,
        durable_transaction: stat.durable_transaction,
    })
}

/// A count of the engine as a `u64`.
pub(crate) fn wide(count: impl TryInto<u64>) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}
