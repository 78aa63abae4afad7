//! Databases that are in no file: bytes, and functions that read them.

use std::{
    fs, io,
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};
use teak::{Database, Error, Options, ReadAt, Transaction, Verification};

fn database(path: &Path, count: u64) {
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let squares = txn.create_table::<u64, u64>("squares").unwrap();
    for number in 0..count {
        squares.insert(&mut txn, number, number * number).unwrap();
    }
    let texts = txn.create_table::<&str, &[u8]>("texts").unwrap();
    texts.insert(&mut txn, "long", [5; 100_000]).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
}

#[derive(Clone)]
struct Source {
    bytes: Arc<Vec<u8>>,
    read_bytes: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

impl Source {
    fn of(path: &Path) -> Self {
        Self {
            bytes: Arc::new(fs::read(path).unwrap()),
            read_bytes: Arc::default(),
            fails: Arc::default(),
        }
    }
}

impl ReadAt for Source {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        if self.fails.load(Relaxed) {
            return Err(io::Error::other("the line is down"));
        }
        self.read_bytes.fetch_add(out.len(), Relaxed);
        out.copy_from_slice(&self.bytes[offset as usize..][..out.len()]);
        Ok(())
    }
}

fn read_all(database: &Database, expected: u64) {
    let txn = database.begin_read().unwrap();
    let squares = txn.open_table::<u64, u64>("squares").unwrap();
    let mut count = 0;
    for record in squares.range(..).iter(&txn).unwrap() {
        let (number, square) = record.unwrap();
        assert_eq!((number, square), (count, count * count));
        count += 1;
    }
    assert_eq!(count, expected);
    let texts = txn.open_table::<&str, &[u8]>("texts").unwrap();
    assert_eq!(texts.get(&txn, "long").unwrap(), Some(&[5; 100_000][..]));
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .damages
            .is_empty()
    );
}

#[test]
fn bytes_are_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.teak");
    database(&path, 20_000);
    let opened = Options::new()
        .open_bytes(&fs::read(&path).unwrap())
        .unwrap();
    read_all(&opened, 20_000);
    assert!(matches!(opened.begin_write(), Err(Error::ReadOnly)));
    assert!(!opened.info().has_lock_file);
    opened.close().unwrap();
}

#[test]
fn a_function_reads_only_the_needed_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.teak");
    database(&path, 200_000);
    let source = Source::of(&path);
    let opened = Options::new().open_read_at(source.clone()).unwrap();
    {
        let txn = opened.begin_read().unwrap();
        let squares = txn.open_table::<u64, u64>("squares").unwrap();
        assert_eq!(squares.get(&txn, 777).unwrap(), Some(777 * 777));
        let once = source.read_bytes.load(Relaxed);
        assert!(
            once < source.bytes.len() / 8,
            "{once} of {}",
            source.bytes.len()
        );
        assert_eq!(squares.get(&txn, 777).unwrap(), Some(777 * 777));
        assert_eq!(source.read_bytes.load(Relaxed), once);
    }
    read_all(&opened, 200_000);
}

#[test]
fn a_failed_read_is_an_error_and_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.teak");
    // More than opening reads to find the size of pages.
    database(&path, 200_000);
    let source = Source::of(&path);
    let opened = Options::new().open_read_at(source.clone()).unwrap();
    source.fails.store(true, Relaxed);
    let txn = opened.begin_read().unwrap();
    let failed = txn.open_table::<u64, u64>("squares").map(drop);
    let squares = match failed {
        // The root of the list of tables was read when the database was opened.
        Ok(()) => txn.open_table::<u64, u64>("squares").unwrap(),
        Err(error) => {
            assert!(error.to_string().contains("the line is down"), "{error}");
            source.fails.store(false, Relaxed);
            let squares = txn.open_table::<u64, u64>("squares").unwrap();
            source.fails.store(true, Relaxed);
            squares
        }
    };
    let error = squares.get(&txn, 177_777).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(error.to_string().contains("the line is down"), "{error}");
    source.fails.store(false, Relaxed);
    assert_eq!(squares.get(&txn, 177_777).unwrap(), Some(177_777 * 177_777));

    // A part that was not read yet: that is no damage.
    source.fails.store(true, Relaxed);
    let checked = opened.check(&mut |_| ControlFlow::Continue(()));
    assert!(matches!(checked, Err(Error::Io { .. })), "{checked:?}");
    source.fails.store(false, Relaxed);
    let report = opened.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean());

    source.fails.store(true, Relaxed);
    let refused = Options::new().open_read_at(source.clone());
    assert!(matches!(refused, Err(Error::Io { .. })));
}

#[test]
fn damage_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.teak");
    database(&path, 3000);
    let whole = fs::read(&path).unwrap();
    // Any byte of any page but those of the free-space map, which nobody reads here.
    let mut noticed = 0;
    for page in 4..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096 + 1000] ^= 1;
        let opened = match Options::new().open_bytes(&bytes) {
            Ok(opened) => opened,
            Err(Error::Corrupted { .. }) => continue,
            Err(other) => panic!("{other}"),
        };
        let txn = opened.begin_read().unwrap();
        let squares = txn.open_table::<u64, u64>("squares");
        let Ok(records) = squares.and_then(|squares| squares.range(..).iter(&txn)) else {
            noticed += 1;
            continue;
        };
        for (expected, record) in (0..).zip(records) {
            match record {
                Ok(record) => assert_eq!(record, (expected, expected * expected)),
                Err(Error::Corrupted { .. }) => {
                    noticed += 1;
                    break;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(noticed > 10, "{noticed}");
}

#[test]
fn other_bytes_and_options_about_files_are_refused() {
    let none = Options::new().open_bytes(&[]);
    assert!(matches!(none, Err(Error::NotADatabase { .. })), "{none:?}");
    let other = Options::new().open_bytes(&[7; 100_000]);
    assert!(
        matches!(other, Err(Error::NotADatabase { .. })),
        "{other:?}"
    );
    let options = [
        Options::new().create(teak::Create::New),
        Options::new().lock_file("a"),
        Options::new().require_name(true),
    ];
    for options in options {
        let refused = options.open_bytes(&[]);
        assert!(
            matches!(refused, Err(Error::InvalidArgument(_))),
            "{refused:?}"
        );
    }
    // Those about reading are not.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("numbers.teak");
    database(&path, 20_000);
    let options = Options::new()
        .read_only(true)
        .verification(Verification::Always);
    read_all(
        &options.open_bytes(&fs::read(&path).unwrap()).unwrap(),
        20_000,
    );
}
