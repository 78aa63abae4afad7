//! Opening a directory, or a database in memory.
//!
//! A directory has `CURRENT`, `LOCK` and the Teak file that `CURRENT` names. LevelDB refuses such a
//! `CURRENT`, and its own names a manifest: each recognises the other's directories.

use crate::{
    comparator::{BYTEWISE, KeyComparator},
    failure::{Failure, Kind, Result},
    files::{DATA, data_files, leveldb_files, remove_leveldb_files},
    iterator::StoreIterator,
    lock_file::{LockFile, in_use},
    long_keys::Tables,
    store::{MAIN, PROPERTIES, RESTS, Store},
    system::{self, Users},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};
use teak::{
    Compression, Create, Database, EncryptionKey, KeyOrder, Options, Sharing, TableOptions,
};
use teak_foreign::leveldb::LevelDb;

/// The content of `CURRENT`.
const CURRENT: &[u8] = b"TEAK data.teak\n";
const CURRENT_MAX: u64 = 1 << 10;
/// Other programs may use a directory at the same time if this is 1.
const SHARED_VARIABLE: &str = "TEAK_LEVELDB_SHARED";
/// How long to wait until another program has made or converted a database, and the pause between
/// two attempts.
const SHARED_WAIT_MAX: Duration = Duration::from_secs(10);
const SHARED_PAUSE: Duration = Duration::from_millis(5);
/// The name of a file with the key of encrypted databases.
const KEY_FILE_VARIABLE: &str = "TEAK_LEVELDB_KEY_FILE";
/// The compression of new databases.
const COMPRESSION_VARIABLE: &str = "TEAK_LEVELDB_COMPRESSION";
/// A directory of LevelDB is converted when it is opened: `1` removes its files at the end,
/// `keep` does not.
const IMPORT_VARIABLE: &str = "TEAK_LEVELDB_IMPORT";
/// The key of the comparator's name among the properties.
const COMPARATOR_KEY: &[u8] = b"comparator";
/// A property of a database that was converted, while LevelDB's files are to be removed.
pub(crate) const UNREMOVED_KEY: &[u8] = b"leveldb-files-to-remove";

/// How a database is opened.
pub(crate) struct OpenOptions {
    pub(crate) create_if_missing: bool,
    pub(crate) error_if_exists: bool,
    /// New databases are compressed if a variable says so.
    pub(crate) may_compress: bool,
    pub(crate) comparator: KeyComparator,
}

/// The kinds of directories.
enum Content {
    Nothing,
    Teak,
    /// A database with records, but no `CURRENT`.
    Unnamed,
    LevelDb,
}

/// Opens a directory.
pub(crate) fn open(directory: &Path, options: OpenOptions) -> Result<Store> {
    let is_shared = std::env::var_os(SHARED_VARIABLE).is_some_and(|value| value == "1");
    let (lock, found) = match is_shared {
        true => lock_with_others(directory)?,
        false => {
            let lock = LockFile::take(&directory.join("LOCK"))?;
            (lock, content(directory)?)
        }
    };
    let is_there = !matches!(found, Content::Nothing);
    refuse_wrong_existence(directory, is_there, &options)?;
    let data = directory.join(DATA);
    let name = options.comparator.name().to_vec();
    let id = directory.canonicalize().map_err(Failure::file(directory))?;
    let order = options.comparator.order(&id);
    match found {
        Content::LevelDb => convert(directory, &data, &name, options.may_compress)?,
        Content::Nothing | Content::Unnamed => {
            create(directory, &name, order, options.may_compress)?;
        }
        Content::Teak => {}
    }
    let database = engine_options()?.create(Create::Never).open(&data)?;
    let tables = open_tables(&database, &name, order)?;
    // A conversion may have ended before it removed these.
    finish_conversion(&database, directory)?;
    if is_shared {
        lock.share()?;
    }
    Ok(Store::new(database, tables, Some(lock)))
}

/// Takes the lock of a directory that several programs use. One program makes the database, and
/// shares it afterwards: the others wait for it.
fn lock_with_others(directory: &Path) -> Result<(LockFile, Content)> {
    let path = directory.join("LOCK");
    let began = Instant::now();
    loop {
        for users in [Users::Many, Users::One] {
            if let Some(lock) = LockFile::try_take(&path, users)? {
                let found = content(directory)?;
                if users == Users::One || matches!(found, Content::Teak) {
                    return Ok((lock, found));
                }
            }
        }
        if began.elapsed() >= SHARED_WAIT_MAX {
            return Err(in_use(&path));
        }
        thread::sleep(SHARED_PAUSE);
    }
}

/// Makes an empty database, or completes one.
fn create(directory: &Path, comparator: &[u8], order: KeyOrder, may_compress: bool) -> Result<()> {
    let database = options_of_new(may_compress)?.open(directory.join(DATA))?;
    create_tables(&database, comparator, order)?;
    database.sync()?;
    write_current(directory)
}

/// Makes an empty database in a directory that has neither one nor files of LevelDB.
pub(crate) fn create_for_repair(directory: &Path, comparator: KeyComparator) -> Result<()> {
    let has_files = leveldb_files(directory)
        .iter()
        .any(|path| path.file_stem().is_none_or(|name| name != "LOG"));
    if has_files || !matches!(content(directory)?, Content::Nothing) {
        return Err(Failure::invalid_argument(format!(
            "{}: has no {DATA}; a directory of LevelDB is repaired by LevelDB itself",
            directory.display()
        )));
    }
    let id = directory.canonicalize().map_err(Failure::file(directory))?;
    let name = comparator.name().to_vec();
    create(directory, &name, comparator.order(&id), true)
}

/// Opens a database in memory, which `database` keeps between openings.
///
/// `id` tells it from all others of the process.
pub(crate) fn open_in_memory(
    (name, id): (&Path, &Path),
    database: &mut Option<Database>,
    options: OpenOptions,
) -> Result<Store> {
    refuse_wrong_existence(name, database.is_some(), &options)?;
    let comparator = options.comparator.name().to_vec();
    let order = options.comparator.order(id);
    let opened = match database {
        Some(database) => database.clone(),
        None => {
            let created = Database::in_memory()?;
            create_tables(&created, &comparator, order)?;
            database.insert(created).clone()
        }
    };
    let tables = open_tables(&opened, &comparator, order)?;
    Ok(Store::new(opened, tables, None))
}

fn refuse_wrong_existence(name: &Path, is_there: bool, options: &OpenOptions) -> Result<()> {
    let name = name.display();
    match (is_there, options.create_if_missing, options.error_if_exists) {
        (false, false, _) => Err(Failure::invalid_argument(format!(
            "{name}: does not exist (create_if_missing is false)"
        ))),
        (true, _, true) => Err(Failure::invalid_argument(format!(
            "{name}: exists (error_if_exists is true)"
        ))),
        _ => Ok(()),
    }
}

fn engine_options() -> Result<Options> {
    let options = Options::new().sharing(Sharing::Processes).file_mode(0o644);
    with_key(options)
}

/// The options of a database that is made. A variable says whether it is compressed: LevelDB's
/// interface cannot tell whether an application wants the compression that is its default.
fn options_of_new(may_compress: bool) -> Result<Options> {
    let options = engine_options()?;
    match std::env::var_os(COMPRESSION_VARIABLE).filter(|value| !value.is_empty() && may_compress) {
        Some(value) => {
            let compression: std::result::Result<Compression, _> = value.to_string_lossy().parse();
            let compression = compression.map_err(|reason: String| {
                Failure::invalid_argument(format!("{COMPRESSION_VARIABLE}: {reason}"))
            })?;
            Ok(options.compression(compression))
        }
        None => Ok(options),
    }
}

/// Adds the key that a variable names. LevelDB's interface has no place for one.
pub(crate) fn with_key(options: Options) -> Result<Options> {
    match std::env::var_os(KEY_FILE_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Ok(options.encryption_key(EncryptionKey::from_file(path)?)),
        None => Ok(options),
    }
}

/// Tells the database its comparison, if it has one.
fn add_comparison(database: &Database, order: KeyOrder) -> Result<()> {
    if let KeyOrder::Custom(comparison) = order {
        database.add_comparison(comparison)?;
    }
    Ok(())
}

/// Reads `CURRENT`.
fn content(directory: &Path) -> Result<Content> {
    let path = directory.join("CURRENT");
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(match has_records(&directory.join(DATA))? {
                true => Content::Unnamed,
                false => Content::Nothing,
            });
        }
        opened => opened.map_err(Failure::file(&path))?,
    };
    let mut current = Vec::new();
    let read = file.take(CURRENT_MAX).read_to_end(&mut current);
    read.map_err(Failure::file(&path))?;
    if current == CURRENT {
        let is_missing = fs::metadata(directory.join(DATA))
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let text = format!(
            "{}: {DATA} is missing, which CURRENT names",
            directory.display()
        );
        return match is_missing {
            true => Err(Failure::corruption(text)),
            false => Ok(Content::Teak),
        };
    }
    if current.starts_with(b"MANIFEST-") {
        return Ok(Content::LevelDb);
    }
    let shown = String::from_utf8_lossy(&current);
    let text = format!(
        "{}: CURRENT names no database: {shown:?}",
        directory.display()
    );
    Err(Failure::corruption(text))
}

/// Whether a file has a database with records. A creation that did not end has left none.
fn has_records(data: &Path) -> Result<bool> {
    if !fs::metadata(data).is_ok_and(|found| found.len() > 0) {
        return Ok(false);
    }
    let database = engine_options()?.open(data)?;
    let txn = database.begin_read()?;
    match MAIN.open(&txn) {
        Ok(records) => Ok(!records.is_empty(&txn)?),
        Err(teak::Error::TableNotFound(_)) => Ok(false),
        // It has records in an order.
        Err(teak::Error::ComparisonMissing { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Writes `CURRENT` of a complete database.
pub(crate) fn write_current(directory: &Path) -> Result<()> {
    let temporary = directory.join("CURRENT.dbtmp");
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(CURRENT)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, directory.join("CURRENT")))
        .and_then(|()| system::flush_directory(directory));
    written.map_err(Failure::file(&temporary))
}

pub(crate) fn create_tables(database: &Database, comparator: &[u8], order: KeyOrder) -> Result<()> {
    add_comparison(database, order)?;
    let mut txn = database.begin_write()?;
    match MAIN.open(&txn) {
        Err(teak::Error::TableNotFound(_)) => {
            MAIN.options(TableOptions::new().order(order))
                .create(&mut txn)?;
            let properties = PROPERTIES.create(&mut txn)?;
            properties.insert(&mut txn, COMPARATOR_KEY, comparator)?;
        }
        opened => drop(opened?),
    }
    // `teak import` makes only the main table.
    RESTS.create(&mut txn)?;
    PROPERTIES.create(&mut txn)?;
    txn.commit()?;
    Ok(())
}

pub(crate) fn open_tables(
    database: &Database,
    comparator: &[u8],
    order: KeyOrder,
) -> Result<Tables> {
    let txn = database.begin_read()?;
    let properties = PROPERTIES.open(&txn)?;
    let stored = properties.get(&txn, COMPARATOR_KEY)?.unwrap_or(BYTEWISE);
    if stored != comparator {
        let stored = String::from_utf8_lossy(stored);
        let comparator = String::from_utf8_lossy(comparator);
        return Err(Failure::invalid_argument(format!(
            "{stored} does not match existing comparator : {comparator}"
        )));
    }
    let is_bytewise = stored == BYTEWISE;
    add_comparison(database, order)?;
    Ok(Tables {
        main: MAIN.open(&txn)?,
        rests: is_bytewise.then(|| RESTS.open(&txn)).transpose()?,
        max_len: database.info().max_key_len,
    })
}

/// Makes a Teak file of a directory of LevelDB.
fn convert(directory: &Path, data: &Path, comparator: &[u8], may_compress: bool) -> Result<()> {
    let wish = std::env::var_os(IMPORT_VARIABLE);
    let keeps = wish.as_deref() == Some(OsStr::new("keep"));
    let not_supported = |text| Err(Failure::new(Kind::NotSupported, text));
    if !keeps && wish.as_deref() != Some(OsStr::new("1")) {
        return not_supported(format!(
            "{0}: is a directory of LevelDB; set {IMPORT_VARIABLE}=1 to convert it when it is \
             opened, or run: teak import leveldb:{0} FILE",
            directory.display()
        ));
    }
    let source = LevelDb::open_unlocked(directory)?;
    if source.comparator() != comparator {
        let stored = String::from_utf8_lossy(source.comparator());
        let comparator = String::from_utf8_lossy(comparator);
        return Err(Failure::invalid_argument(format!(
            "{stored} does not match existing comparator : {comparator}"
        )));
    }
    if !source.is_bytewise() {
        // Which of several entries is the newest of a key is known by its bytes only.
        return not_supported(format!(
            "{}: only directories with LevelDB's own comparator are converted",
            directory.display()
        ));
    }
    // An earlier conversion may have ended early.
    remove_data(directory)?;
    let database = options_of_new(may_compress)?.open(data)?;
    create_tables(&database, comparator, KeyOrder::Bytes)?;
    let tables = open_tables(&database, comparator, KeyOrder::Bytes)?;
    copy(&source, directory, &database, &tables)?;
    if !keeps {
        let mut txn = database.begin_write()?;
        PROPERTIES
            .open(&txn)?
            .insert(&mut txn, UNREMOVED_KEY, b"")?;
        txn.commit()?;
    }
    database.sync()?;
    compare(&source, directory, &database, &tables)?;
    source.refuse_changed()?;
    database.close()?;
    write_current(directory)
}

/// Removes LevelDB's files after a conversion that does not keep them. Files that were kept, or
/// that somebody puts there later, stay.
fn finish_conversion(database: &Database, directory: &Path) -> Result<()> {
    let is_converted = {
        let txn = database.begin_read()?;
        let properties = PROPERTIES.open(&txn)?;
        properties.get(&txn, UNREMOVED_KEY)?.is_some()
    };
    if is_converted && remove_leveldb_files(directory) {
        let mut txn = database.begin_write()?;
        PROPERTIES.open(&txn)?.remove(&mut txn, UNREMOVED_KEY)?;
        txn.commit()?;
    }
    Ok(())
}

/// Copies all records. Long keys come in a second pass, after the others, which are built
/// bottom-up.
pub(crate) fn copy(
    source: &LevelDb,
    temporary: &Path,
    database: &Database,
    tables: &Tables,
) -> Result<()> {
    let mut txn = database.begin_write()?;
    let mut long_keys = 0_u64;
    let mut failure = None;
    let mut records = source.records(temporary, false)?;
    let short = std::iter::from_fn(|| {
        loop {
            match records.next_record() {
                Ok(Some((key, _))) if key.len() >= tables.max_len => long_keys += 1,
                Ok(record) => return record.map(|(key, value)| (key, value.to_vec())),
                Err(error) => {
                    failure = Some(error);
                    return None;
                }
            }
        }
    });
    let loaded = tables.main.bulk_load(&mut txn, short);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    loaded?;
    if long_keys > 0 {
        let mut records = source.records(temporary, false)?;
        while let Some((key, value)) = records.next_record()? {
            if key.len() >= tables.max_len {
                tables.insert(&mut txn, &key, &value)?;
            }
        }
    }
    txn.commit()?;
    Ok(())
}

/// Compares all records with the source, which is read again.
pub(crate) fn compare(
    source: &LevelDb,
    temporary: &Path,
    database: &Database,
    tables: &Tables,
) -> Result<()> {
    let mut copies = StoreIterator::new(&database.begin_read()?, tables)?;
    copies.first();
    let mut records = source.records(temporary, false)?;
    for index in 0_u64.. {
        let expected = records.next_record()?;
        let is_end = expected.is_none();
        let is_same = match (expected, copies.record()) {
            (Some((key, value)), Some(copy)) => *copy.key == *key && *copy.value == *value,
            (expected, copy) => expected.is_none() && copy.is_none(),
        };
        if let Some(failure) = copies.failure() {
            return Err(failure.clone());
        }
        if !is_same {
            let text = format!("record {index} is not the one of LevelDB; nothing was converted");
            return Err(Failure::corruption(text));
        }
        if is_end {
            break;
        }
        copies.next();
    }
    Ok(())
}

fn remove_data(directory: &Path) -> Result<()> {
    for path in data_files(directory) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::file(&path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
