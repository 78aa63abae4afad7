//! Stored files: files written by format version 1 must be readable forever.
//!
//! `data/closed-v1.db` was closed. `data/killed-v1.db` is the file of a killed process, and the
//! machine has been restarted since, so opening it verifies the lazy commits. `data/typed-v1.db`
//! has tables whose types are recorded, and `data/expiring-v1.db` one whose records expire.
//! `data/prepared-v1.db` was closed with a prepared transaction. `data/encrypted-aes-v1.db` and
//! `data/encrypted-xchacha-v1.db` are encrypted with a fixed key, and their data keys are random.
//! All are opened as copies. The golden texts are the output of the page printer for every page of
//! the closed files.
//!
//! `TEAK_STORED_FILES=DIRECTORY cargo test -p teak --test main stored_file` writes new files for a
//! new version of the format; `TEAK_WRITE_GOLDEN=1` rewrites the golden text.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt::Write,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};
use teak::{
    Cipher, Create, Database, Durability, EncryptionKey, Error::TableTypeMismatch, Expiry,
    ExpiryOptions, KeyOrder, Options, PageNumber, PageUse, Recovery, TableDef, TableOptions,
    TableTypes, Transaction, TransactionId, WriteTxn, codec::Raw,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Records = BTreeMap<Vec<u8>, Vec<u8>>;

const CLOSED_COMMITS: u32 = 600;
const KILLED_COMMITS: u32 = 9;

/// A table of the stored files: its name, its options and its records.
struct Stored {
    name: &'static [u8],
    options: TableOptions,
    records: Records,
}

fn stored(
    name: &'static [u8],
    options: TableOptions,
    records: impl Iterator<Item = (Vec<u8>, Vec<u8>)>,
) -> Stored {
    Stored {
        name,
        options,
        records: records.collect(),
    }
}

/// The tables of the closed file, in the order of their names.
fn closed_tables() -> Vec<Stored> {
    let plain = TableOptions::new();
    let whole = plain.share_prefixes(false);
    let integers = plain.order(KeyOrder::Integer).value_align(8);
    let large = |i: u32| {
        (
            format!("large {i}"),
            vec![i as u8; 3_000 + 1_500 * i as usize],
        )
    };
    vec![
        stored(
            b"counted",
            whole.counted(true),
            (0..120u32).map(|i| (i.to_be_bytes().repeat(2), vec![i as u8; 40])),
        ),
        stored(b"empty", plain, [].into_iter()),
        stored(
            b"integers",
            integers,
            (0..60u64).map(|i| {
                (
                    (i << 30).to_le_bytes().to_vec(),
                    (i * i).to_le_bytes().to_vec(),
                )
            }),
        ),
        stored(
            b"large",
            plain.value_align(16),
            (0..3)
                .map(large)
                .map(|(key, value)| (key.into_bytes(), value)),
        ),
        stored(
            b"plain",
            plain,
            (0..120u32).map(|i| {
                let value = if i < 100 {
                    last_change(i)
                } else {
                    b"first".to_vec()
                };
                (plain_key(i), value)
            }),
        ),
        stored(
            b"reversed",
            plain.order(KeyOrder::ReverseBytes),
            (0..40u32).map(|i| (format!("{i:03} end").into_bytes(), b"reversed".to_vec())),
        ),
        stored(&[0xff, 0], plain, [(vec![], vec![])].into_iter()),
    ]
}

fn plain_key(i: u32) -> Vec<u8> {
    let tail = "-and-more-than-a-head".repeat(i as usize % 3);
    format!("a prefix that all share/{i:04}{tail}").into_bytes()
}

/// The value of the `round`-th change of the table `plain`.
fn change(round: u32) -> Vec<u8> {
    format!("changed by {round}").into_bytes()
}

/// The value of record `i`, of 100, after the last round that changed it.
fn last_change(i: u32) -> Vec<u8> {
    change(CLOSED_COMMITS - 100 + i)
}

fn killed_records() -> Records {
    (0..KILLED_COMMITS)
        .map(|i| (i.to_be_bytes().to_vec(), change(i)))
        .collect()
}

fn create(txn: &mut WriteTxn, table: &Stored) -> teak::Result<()> {
    let handle = TableDef::<Vec<u8>, Vec<u8>>::from_bytes(table.name)
        .options(table.options)
        .create(txn)?;
    for (key, value) in &table.records {
        handle.insert(txn, key, value)?;
    }
    Ok(())
}

/// Writes the closed file: all tables, followed by so many small commits that the free map is
/// checkpointed.
fn write_closed(path: &Path) -> teak::Result<()> {
    let database = Options::new().create(Create::New).open(path)?;
    let mut txn = database.begin_write()?;
    for mut table in closed_tables() {
        if table.name == b"plain" {
            table
                .records
                .values_mut()
                .for_each(|value| *value = b"first".to_vec());
        }
        create(&mut txn, &table)?;
    }
    txn.commit()?;
    for round in 0..CLOSED_COMMITS {
        let mut txn = database.begin_write()?;
        let plain = txn.open_table::<Vec<u8>, Vec<u8>>("plain")?;
        plain.insert(&mut txn, plain_key(round % 100), change(round))?;
        txn.commit()?;
    }
    database.close()
}

/// Writes the killed file, with larger pages, to `path`, using a file at `scratch`.
fn write_killed(scratch: &Path, path: &Path) -> Outcome {
    let options = Options::new()
        .page_size(8192)
        .size_limit_bytes(Some(24 * 8192));
    let database = options.create(Create::New).open(scratch)?;
    for (round, (key, value)) in killed_records().into_iter().enumerate() {
        let mut txn = database.begin_write()?;
        let table = txn.create_table::<Vec<u8>, Vec<u8>>("table")?;
        table.insert(&mut txn, &key, &value)?;
        if round > 4 {
            txn.set_durability(Durability::Lazy);
        }
        txn.commit()?;
    }
    fs::copy(scratch, path)?;
    Ok(())
}

/// Writes the file with types: of one value, of several, with names of the application, with one
/// name, and without any.
fn write_typed(path: &Path) -> teak::Result<()> {
    let database = Options::new().create(Create::New).open(path)?;
    let mut txn = database.begin_write()?;
    let ages = txn.create_table::<&str, u64>("ages")?;
    ages.insert_many(&mut txn, &[("Ada", 36), ("Grace", 85)])?;
    let lines = txn.create_multi_table::<u32, &str>("lines")?;
    for number in 0..30 {
        lines.insert(&mut txn, number % 4, format!("line {number}"))?;
    }
    for name in ["own", "values", "none"] {
        let table = txn.create_table::<Raw, Raw>(name)?;
        table.insert(&mut txn, "key", "value")?;
    }
    txn.set_table_types("own", &TableTypes::new("t".repeat(255), "a name, \u{e9}"))?;
    txn.set_table_types("values", &TableTypes::new("", "str"))?;
    txn.commit()?;
    database.close()
}

/// Writes the file with a prepared transaction, which changes a table, marks, and the list of
/// tables. There is a named snapshot, too.
fn write_prepared(path: &Path) -> teak::Result<()> {
    let database = Options::new().create(Create::New).open(path)?;
    let mut txn = database.begin_write()?;
    let ages = txn.create_table::<&str, u64>("ages")?;
    ages.insert_many(&mut txn, &[("Ada", 36), ("Grace", 85)])?;
    txn.commit()?;
    database.create_snapshot("before")?;
    let mut txn = database.begin_write()?;
    ages.insert(&mut txn, "Ada", 37)?;
    ages.remove(&mut txn, "Grace")?;
    txn.create_multi_table::<&str, u64>("new")?;
    txn.set_marks([1, 2, 3])?;
    txn.prepare("transfer 7")?;
    database.close()
}

fn assert_prepared_holds(database: &Database) -> Outcome {
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    let prepared = database.prepared()?;
    assert_eq!(prepared.len(), 1);
    assert_eq!(prepared[0].name, b"transfer 7");
    assert_eq!(prepared[0].transaction, TransactionId(3));
    assert_eq!(database.snapshots()?.len(), 1);
    let txn = database.begin_read()?;
    assert_eq!((txn.id(), txn.tables()?.len()), (TransactionId(4), 1));
    let ages = txn.open_table::<&str, u64>("ages")?;
    assert_eq!(ages.get(&txn, "Ada")?, Some(36));
    let txn = database.open_prepared("transfer 7")?;
    assert_eq!(txn.marks().values, [1, 2, 3]);
    assert_eq!((txn.tables()?.len(), ages.get(&txn, "Grace")?), (2, None));
    Ok(())
}

fn assert_typed_holds(database: &Database) -> Outcome {
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    let txn = database.begin_read()?;
    let types: Vec<_> = (txn.tables()?.into_iter())
        .map(|info| (String::from_utf8(info.name).unwrap(), info.types))
        .collect();
    let long = "t".repeat(255);
    let expected = [
        ("ages", "str", "u64"),
        ("lines", "u32", "str"),
        ("none", "", ""),
        ("own", long.as_str(), "a name, \u{e9}"),
        ("values", "", "str"),
    ];
    let expected =
        expected.map(|(name, keys, values)| (name.into(), TableTypes::new(keys, values)));
    assert_eq!(types, expected);
    let ages = txn.open_table::<&str, u64>("ages")?;
    assert_eq!(ages.get(&txn, "Ada")?, Some(36));
    let lines = txn.open_multi_table::<u32, &str>("lines")?;
    assert_eq!(lines.len(&txn)?, 30);
    assert_eq!(lines.first(&txn)?, Some((0, "line 0".into())));
    let refused = txn.open_table::<&str, &str>("ages");
    assert!(
        matches!(refused, Err(TableTypeMismatch { .. })),
        "{refused:?}"
    );
    txn.open_table::<u64, &str>("values")?;
    Ok(())
}

/// The encrypted files, and their ciphers.
const ENCRYPTED: [(&str, Cipher); 2] = [
    ("encrypted-aes-v1", Cipher::Aes256Gcm),
    ("encrypted-xchacha-v1", Cipher::XChaCha20Poly1305),
];
/// Text in the values of the encrypted files.
const SECRET: &str = "a secret that nobody may read";

fn encrypted_options(key: u8) -> Options {
    Options::new().encryption_key(EncryptionKey::from_bytes([key; 32]))
}

/// Writes an encrypted file: short and large values, nested trees, and a named snapshot.
fn write_encrypted(path: &Path, cipher: Cipher) -> teak::Result<()> {
    let options = encrypted_options(7).cipher(cipher);
    let database = options.create(Create::New).open(path)?;
    let mut txn = database.begin_write()?;
    let secrets = txn.create_table::<u32, &str>("secrets")?;
    for number in 0..60 {
        secrets.insert(&mut txn, number, SECRET)?;
    }
    secrets.insert(&mut txn, 60, SECRET.repeat(300))?;
    let lines = txn.create_multi_table::<u32, &str>("lines")?;
    for number in 0..120 {
        lines.insert(&mut txn, number % 2, format!("{SECRET}, line {number}"))?;
    }
    txn.commit()?;
    database.create_snapshot("before")?;
    let mut txn = database.begin_write()?;
    secrets.remove(&mut txn, 0)?;
    txn.commit()?;
    database.close()
}

fn assert_encrypted_holds(database: &Database, cipher: Cipher) -> Outcome {
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    assert_eq!(database.info().cipher, Some(cipher));
    let txn = database.begin_read()?;
    let secrets = txn.open_table::<u32, &str>("secrets")?;
    assert_eq!(secrets.len(&txn)?, 60);
    for number in 1..60 {
        assert_eq!(secrets.get(&txn, number)?, Some(SECRET));
    }
    assert_eq!(secrets.get(&txn, 60)?, Some(&SECRET.repeat(300)[..]));
    let lines = txn.open_multi_table::<u32, &str>("lines")?;
    assert_eq!((lines.len(&txn)?, lines.count(&txn, 1)?), (120, 60));
    let before = database.open_snapshot("before")?;
    assert_eq!(secrets.get(&before, 0)?, Some(SECRET));
    Ok(())
}

#[test]
fn encrypted_files_can_be_read_and_written_with_their_key_only() -> Outcome {
    for (name, cipher) in ENCRYPTED {
        let (_directory, path) = copy_of(&format!("{name}.db"))?;
        let bytes = fs::read(&path)?;
        let mut texts = bytes.windows(SECRET.len());
        assert!(!texts.any(|text| text == SECRET.as_bytes()), "{name}");
        let opened = Options::new().create(Create::Never).open(&path);
        assert!(matches!(opened, Err(teak::Error::KeyNeeded(_))), "{name}");
        let opened = encrypted_options(8).create(Create::Never).open(&path);
        assert!(
            matches!(opened, Err(teak::Error::WrongKey { .. })),
            "{name}"
        );
        assert!(fs::read(&path)? == bytes, "{name} was changed");
        assert_encrypted_holds(&encrypted_options(7).read_only(true).open(&path)?, cipher)?;
        let database = encrypted_options(7).create(Create::Never).open(&path)?;
        assert_eq!(database.info().recovery, Recovery::Clean);
        assert_encrypted_holds(&database, cipher)?;
        let mut txn = database.begin_write()?;
        let secrets = txn.open_table::<u32, &str>("secrets")?;
        secrets.insert(&mut txn, 70, SECRET)?;
        txn.commit()?;
        secrets
            .get(&database.begin_read()?, 70)?
            .expect("it was inserted");
        let mut txn = database.begin_write()?;
        secrets.remove(&mut txn, 70)?;
        txn.commit()?;
        database.close()?;
        assert_encrypted_holds(&encrypted_options(7).open(&path)?, cipher)?;
    }
    Ok(())
}

/// At this moment some of the records have expired.
const EXPIRING_NOW_MS: u64 = 1_000_000;

fn expiring_options() -> Options {
    Options::new().clock(|| UNIX_EPOCH + Duration::from_millis(EXPIRING_NOW_MS))
}

/// Writes the file with expiring tables: one with a time to live and limits, one with neither.
fn write_expiring(path: &Path) -> teak::Result<()> {
    let database = expiring_options().create(Create::New).open(path)?;
    let mut txn = database.begin_write()?;
    let options = ExpiryOptions::new()
        .ttl(Duration::from_millis(500))
        .max_records(50)
        .max_bytes(10_000);
    let limited = txn.create_expiring_table::<u32, &str>("limited", &options)?;
    for key in 0..60 {
        match key % 3 {
            0 => limited.insert(&mut txn, key, "default")?,
            1 => limited.insert_with_expiry(&mut txn, key, "never", Expiry::Never)?,
            _ => {
                let at = UNIX_EPOCH + Duration::from_millis(EXPIRING_NOW_MS + u64::from(key));
                limited.insert_with_expiry(&mut txn, key, "own", at)?;
            }
        }
    }
    let plain = txn.create_expiring_table::<&str, u64>("plain", &ExpiryOptions::new())?;
    plain.insert(&mut txn, "kept", 1)?;
    txn.commit()?;
    // Not removed, because nothing is committed after it has expired.
    let mut txn = database.begin_write()?;
    plain.insert_with_expiry(&mut txn, "stale", 2, Duration::ZERO)?;
    plain.insert_with_expiry(&mut txn, "later", 3, Duration::from_millis(1))?;
    txn.commit()?;
    database.close()
}

fn assert_expiring_holds(database: &Database) -> Outcome {
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    let txn = database.begin_read()?;
    let limited = txn.open_expiring_table::<u32, &str>("limited")?;
    let keys: Vec<u32> = (limited.iter(&txn)?)
        .map(|record| record.map(|(key, _)| key))
        .collect::<teak::Result<_>>()?;
    assert!(keys.into_iter().eq(10..60));
    let options = limited.options(&txn)?;
    assert_eq!(options.ttl, Some(Duration::from_millis(500)));
    assert_eq!(
        (options.max_records, options.max_bytes),
        (Some(50), Some(10_000))
    );
    let stat = limited.stat(&txn)?;
    assert_eq!(
        (stat.records, stat.expired, stat.removed_oldest),
        (50, 0, 10)
    );
    let at = |ms| Some(UNIX_EPOCH + Duration::from_millis(EXPIRING_NOW_MS + ms));
    assert_eq!(limited.get_with_expiry(&txn, 11)?, Some(("own", at(11))));
    assert_eq!(
        limited.get_with_expiry(&txn, 12)?,
        Some(("default", at(500)))
    );
    assert_eq!(limited.get_with_expiry(&txn, 13)?, Some(("never", None)));
    let plain = txn.open_expiring_table::<&str, u64>("plain")?;
    assert_eq!(plain.get(&txn, "kept")?, Some(1));
    assert_eq!(plain.get(&txn, "stale")?, None);
    assert_eq!(plain.get_with_expiry(&txn, "later")?, Some((3, at(1))));
    Ok(())
}

#[test]
fn a_file_with_expiring_tables_can_be_read_and_written() -> Outcome {
    let (_directory, path) = copy_of("expiring-v1.db")?;
    let database = expiring_options().create(Create::Never).open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    assert_expiring_holds(&database)?;
    let mut txn = database.begin_write()?;
    let limited = txn.open_expiring_table::<u32, &str>("limited")?;
    limited.insert(&mut txn, 60, "new")?;
    limited.remove(&mut txn, 60)?;
    limited.insert(&mut txn, 10, "never")?;
    assert_eq!(limited.len(&txn)?, 50);
    txn.commit()?;
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    Ok(())
}

fn assert_holds(database: &Database, tables: &[Stored]) -> Outcome {
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{:#?}", report.damages);
    let txn = database.begin_read()?;
    let names: Vec<_> = txn.tables()?.into_iter().map(|table| table.name).collect();
    assert_eq!(
        names,
        tables.iter().map(|table| table.name).collect::<Vec<_>>()
    );
    for table in tables {
        let handle = txn.open_table::<Vec<u8>, Vec<u8>>(table.name)?;
        assert_eq!(handle.options(&txn)?, table.options);
        let mut found = Records::new();
        for record in handle.iter(&txn)? {
            let (key, value) = record?;
            found.insert(key, value.to_vec());
        }
        assert!(
            found == table.records,
            "{:?}",
            String::from_utf8_lossy(table.name)
        );
        assert_eq!(handle.len(&txn)?, table.records.len() as u64);
        for (key, value) in &table.records {
            assert_eq!(handle.get(&txn, key)?, Some(&value[..]));
        }
    }
    Ok(())
}

fn assert_killed_holds(database: &Database) -> Outcome {
    let table = stored(b"table", TableOptions::new(), killed_records().into_iter());
    assert_holds(database, &[table])
}

fn in_tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// A copy of a stored file in a temporary directory.
fn copy_of(name: &str) -> Outcome<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join(name);
    fs::copy(in_tests("data").join(name), &path)?;
    Ok((directory, path))
}

#[test]
fn a_closed_file_can_be_read_and_written() -> Outcome {
    let (_directory, path) = copy_of("closed-v1.db")?;
    let reading = Options::new().read_only(true).open(&path)?;
    assert_eq!(reading.info().recovery, Recovery::Clean);
    assert_holds(&reading, &closed_tables())?;
    drop(reading);
    let database = Options::new().create(Create::Never).open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    let mut tables = closed_tables();
    for round in 0..50u32 {
        let mut txn = database.begin_write()?;
        let plain = txn.open_table::<Vec<u8>, Vec<u8>>("plain")?;
        let (key, value) = (plain_key(round * 7), change(1000 + round));
        plain.insert(&mut txn, &key, &value)?;
        txn.commit()?;
        tables[4].records.insert(key, value);
    }
    assert_holds(&database, &tables)?;
    database.close()?;
    assert_holds(&Database::open(&path)?, &tables)
}

#[test]
fn a_killed_file_is_verified_and_read() -> Outcome {
    let (_directory, path) = copy_of("killed-v1.db")?;
    let database = Options::new().create(Create::Never).open(&path)?;
    let last = TransactionId(u64::from(KILLED_COMMITS));
    match database.info().recovery {
        Recovery::Verified { last: found } => assert_eq!(found, last),
        // The boot before the restart of the machine that wrote the file.
        Recovery::Killed { last: found } => assert_eq!(found, last),
        other => panic!("{other:?}"),
    }
    assert_eq!(database.info().page_size, 8192);
    assert_killed_holds(&database)
}

#[test]
fn a_file_with_types_can_be_read_and_written() -> Outcome {
    let (_directory, path) = copy_of("typed-v1.db")?;
    let database = Options::new().create(Create::Never).open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    assert_typed_holds(&database)?;
    let mut txn = database.begin_write()?;
    let ages = txn.open_table::<&str, u64>("ages")?;
    ages.insert(&mut txn, "Alan", 41)?;
    txn.commit()?;
    database.close()?;
    assert_typed_holds(&Database::open(&path)?)
}

#[test]
fn a_file_with_a_prepared_transaction_can_be_decided() -> Outcome {
    for is_commit in [true, false] {
        let (_directory, path) = copy_of("prepared-v1.db")?;
        assert_prepared_holds(&Options::new().read_only(true).open(&path)?)?;
        let database = Options::new().create(Create::Never).open(&path)?;
        assert_eq!(database.info().recovery, Recovery::Clean);
        assert_prepared_holds(&database)?;
        match is_commit {
            true => database.commit_prepared("transfer 7")?,
            false => database.rollback_prepared("transfer 7")?,
        };
        database.close()?;
        let database = Database::open(&path)?;
        let report = database.check(&mut |_| ControlFlow::Continue(()))?;
        assert!(report.is_clean(), "{:#?}", report.damages);
        let mut txn = database.begin_write()?;
        let ages = txn.open_table::<&str, u64>("ages")?;
        let (expected, count) = if is_commit { (37, 2) } else { (36, 1) };
        assert_eq!(ages.get(&txn, "Ada")?, Some(expected));
        assert_eq!(txn.tables()?.len(), count);
        ages.insert(&mut txn, "Alan", 41)?;
        txn.commit()?;
    }
    Ok(())
}

#[test]
fn rewritten_files_have_equal_contents() -> Outcome {
    let directory = tempfile::tempdir()?;
    let kept = std::env::var_os("TEAK_STORED_FILES").map(PathBuf::from);
    let target = kept.as_deref().unwrap_or(directory.path());
    let (closed, killed) = (target.join("closed-v1.db"), target.join("killed-v1.db"));
    let typed = target.join("typed-v1.db");
    let prepared = target.join("prepared-v1.db");
    let expiring = target.join("expiring-v1.db");
    write_expiring(&expiring)?;
    assert_expiring_holds(&expiring_options().read_only(true).open(&expiring)?)?;
    for (name, cipher) in ENCRYPTED {
        let path = target.join(format!("{name}.db"));
        write_encrypted(&path, cipher)?;
        assert_encrypted_holds(&encrypted_options(7).read_only(true).open(&path)?, cipher)?;
    }
    write_closed(&closed)?;
    write_typed(&typed)?;
    write_prepared(&prepared)?;
    write_killed(&directory.path().join("scratch.teak"), &killed)?;
    assert_holds(
        &Options::new().read_only(true).open(&closed)?,
        &closed_tables(),
    )?;
    assert_typed_holds(&Options::new().read_only(true).open(&typed)?)?;
    assert_prepared_holds(&Options::new().read_only(true).open(&prepared)?)?;
    assert_killed_holds(&Options::new().read_only(true).open(&killed)?)
}

/// Every page of the closed file except the commit records, as text.
fn loss_text(database: &Database) -> teak::Result<String> {
    let mut text = String::new();
    for (number, page_use) in (0..).zip(database.page_kinds()?) {
        let is_printed = matches!(page_use, PageUse::Inner | PageUse::Leaf | PageUse::SpaceMap);
        let words = if is_printed {
            database.describe_page(PageNumber(number))?
        } else {
            String::new()
        };
        // Writing to a string does not fail.
        let _ = write!(text, "# {number} {page_use:?}\n{words}");
    }
    Ok(text)
}

#[test]
fn the_pages_of_closed_files_are_unchanged() -> Outcome {
    for name in ["closed-v1", "expiring-v1", "typed-v1", "prepared-v1"] {
        assert_golden(name, &Options::new())?;
    }
    for (name, _) in ENCRYPTED {
        assert_golden(name, &encrypted_options(7))?;
    }
    Ok(())
}

fn assert_golden(name: &str, options: &Options) -> Outcome {
    let (_directory, path) = copy_of(&format!("{name}.db"))?;
    let database = options.clone().read_only(true).open(&path)?;
    let found = loss_text(&database)?;
    let golden = in_tests("golden").join(format!("{name}.txt"));
    if std::env::var_os("TEAK_WRITE_GOLDEN").is_some() {
        fs::write(&golden, &found)?;
    }
    let expected = fs::read_to_string(&golden)?;
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "line {number} of {}", golden.display());
    }
    assert_eq!(found.len(), expected.len());
    Ok(())
}
