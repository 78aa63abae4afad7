//! Import of a directory of LevelDB: one table, whose records are merged from all of its files.

use super::arguments::ImportArguments;
use super::copy::CopiedTable;
use super::progress::ImportProgress;
use super::source::failure;
use super::summary::{self, ImportedState};
use super::verify;
use crate::commands::staging::StagingDirectory;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::{Header, TableKind, shown_path};
use std::path::Path;
use std::time::Instant;
use teak::{Database, Durability};
use teak_foreign::leveldb::{LevelDb, LevelDbRecords};
use teak_foreign::{Error, PageSlice};

/// The page size if none is given. LevelDB's blocks say nothing about it.
const PAGE_SIZE_BYTES: usize = 4096;
/// Records between two updates of the progress bar.
const INTERVAL: u64 = 10_000;

/// An import of a directory.
struct LevelDbImport<'a> {
    path: &'a Path,
    source: LevelDb,
    staging: StagingDirectory,
    table_name: &'a [u8],
    is_unordered: bool,
    progress: ImportProgress,
}

/// Runs the subcommand for a directory of LevelDB.
pub(super) fn run(
    path: &Path,
    arguments: &ImportArguments,
    style: ReportStyle,
) -> Result<(), Failure> {
    if !arguments.table.is_empty() || !arguments.rename.is_empty() {
        let text = "LevelDB has no tables; --main names the table that is made";
        return Err(Failure::Usage(text.to_owned()));
    }
    let table_name = arguments.main.as_encoded_bytes();
    let is_unordered = !arguments.unordered.is_empty();
    if (arguments.unordered)
        .iter()
        .any(|name| name.as_encoded_bytes() != table_name)
    {
        return Err(Failure::NotFound(format!(
            "there is no such table as --unordered says; the only one is {:?}",
            arguments.main
        )));
    }
    let source = LevelDb::open(path).map_err(|error| match error {
        Error::File { path, source } => Failure::opening(&path)(source),
        error => failure(path, error),
    })?;
    refuse_inside(&arguments.database, path)?;
    let import = LevelDbImport {
        path,
        staging: StagingDirectory::for_database(&arguments.database)?,
        table_name,
        is_unordered,
        progress: ImportProgress::new(source.len_bytes()),
        source,
    };
    outputs::refuse_lock_names(&arguments.database)?;
    if !import.source.is_locked() {
        output::warn(
            "the directory has no LOCK, so nothing keeps LevelDB from opening it during the import",
        );
    }
    let started = Instant::now();
    let (copied, copy_seconds) = import.make(arguments)?;
    import.staging.finish(&arguments.database)?;
    let seconds = [copy_seconds, started.elapsed().as_secs_f64()];
    let state = ImportedState {
        format: "LevelDB",
        unit: "sequence",
        number: import.source.last_sequence(),
    };
    drop(import.progress);
    summary::print(&state, &[copied], seconds, &arguments.database, style)
}

/// Refuses a target in the directory of the source.
fn refuse_inside(target: &Path, directory: &Path) -> Result<(), Failure> {
    let parent = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    match (parent, directory.canonicalize()) {
        (Ok(parent), Ok(directory)) if parent == directory => Err(Failure::Usage(format!(
            "{} is in the directory of LevelDB, which removes files there; choose another place",
            shown_path(target)
        ))),
        _ => Ok(()),
    }
}

impl LevelDbImport<'_> {
    /// Creates the database and compares it with the source. Returns the table, and the seconds
    /// until it was on disk.
    fn make(&self, arguments: &ImportArguments) -> Result<(CopiedTable, f64), Failure> {
        let started = Instant::now();
        let page_size_bytes = arguments.page_size.unwrap_or(PAGE_SIZE_BYTES);
        let current = self.path.join("CURRENT").metadata();
        let file_mode = outputs::mode_of(current.ok().as_ref(), &arguments.database);
        let database = engine::create_exclusive(
            &self.staging.path(),
            page_size_bytes,
            file_mode,
            arguments.encoding,
        )?;
        let copied = self.copy(&database)?;
        let copy_seconds = started.elapsed().as_secs_f64();
        verify::check(&database, &self.progress)?;
        self.compare(&database, &copied)?;
        let changed = self.source.refuse_changed();
        changed.map_err(|error| failure(self.path, error))?;
        database.close()?;
        Ok((copied, copy_seconds))
    }

    fn copy(&self, database: &Database) -> Result<CopiedTable, Failure> {
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        let header = Header::of_kind(TableKind::default());
        let table = engine::open_or_create_table(&mut txn, self.table_name, &header)?;
        let mut records = self.records("copying")?;
        let torn_bytes = records.torn_bytes();
        let mut copied = CopiedTable {
            name: self.table_name.to_vec(),
            records: 0,
            data_bytes: 0,
        };
        let mut end = Ok(());
        let feed = std::iter::from_fn(|| match self.next(&mut records, copied.records) {
            Ok(record) => {
                let (key, value) = record?;
                copied.records += 1;
                copied.data_bytes += (key.len() + value.len()) as u64;
                Some((key, value))
            }
            Err(error) => {
                end = Err(error);
                None
            }
        });
        let loaded = table.load_sorted(&mut txn, feed);
        // A failure of the source takes precedence: the engine only saw its records end.
        end?;
        loaded.map_err(|error| self.refused(copied.records, error))?;
        txn.commit()?;
        database.sync()?;
        if torn_bytes > 0 {
            output::warn(&format!(
                "{torn_bytes} bytes at the ends of logs are not a complete record, and are left out as LevelDB does: a write that did not finish"
            ));
        }
        Ok(copied)
    }

    /// Compares the table with the source, which is read again.
    fn compare(&self, database: &Database, copied: &CopiedTable) -> Result<(), Failure> {
        let unlike = |detail: String| Err(Failure::Unverified(detail + "; nothing was imported"));
        let txn = database.begin_read()?;
        let table = engine::open_table(&txn, self.table_name)?;
        let mut records = self.records("comparing")?;
        let mut index = 0;
        table.for_each(&txn, |key, value| {
            let expected = self.next(&mut records, index)?;
            index += 1;
            match expected.is_some_and(|(k, v)| *k == *key && *v == *value) {
                true => Ok(()),
                false => unlike(format!(
                    "record {} is another one than in the source",
                    index - 1
                )),
            }
        })?;
        match self.next(&mut records, index)? {
            None if index == copied.records => Ok(()),
            _ => unlike(format!(
                "the source has other than the {index} records that were copied"
            )),
        }
    }

    fn records(&self, description: &'static str) -> Result<LevelDbRecords<'_>, Failure> {
        self.progress.begin_bytes(description);
        let records = self
            .source
            .records(self.staging.directory(), self.is_unordered);
        records.map_err(|error| failure(self.path, error))
    }

    /// The next record, which is the one with this number.
    fn next(
        &self,
        records: &mut LevelDbRecords<'_>,
        index: u64,
    ) -> Result<Option<(Vec<u8>, PageSlice)>, Failure> {
        if index.is_multiple_of(INTERVAL) {
            self.progress.read(records.read_bytes());
        }
        records
            .next_record()
            .map_err(|error| failure(self.path, error))
    }

    /// The failure for a record that the engine refuses.
    fn refused(&self, records: u64, error: teak::Error) -> Failure {
        let advice = match &error {
            teak::Error::KeyTooLong { .. } => {
                ". LevelDB's keys have any length; larger pages have room for longer keys: --page-size 65536"
            }
            _ => "",
        };
        Failure::During {
            context: format!(
                "record {} of {} was being copied; nothing was imported{advice}",
                records.saturating_sub(1),
                shown_path(self.path)
            ),
            cause: Box::new(error.into()),
        }
    }
}
