//! Compressed databases.

use crate::encryption::{
    Model, Records, assert_content, assert_sound, change, create, read_all, value,
};
use std::{fs, ops::ControlFlow, path::Path};
use teak::{Compression, Database, Durability, EncryptionKey, Error, Options};
use tempfile::tempdir;

#[cfg(feature = "zstd")]
const ALL: &[Compression] = &[Compression::Lz4, Compression::Zstd(3)];
#[cfg(not(feature = "zstd"))]
const ALL: &[Compression] = &[Compression::Lz4];

fn options(compression: Compression) -> Options {
    Options::new().compression(compression)
}

fn encrypted(options: Options) -> Options {
    options.encryption_key(EncryptionKey::from_bytes([7; 32]))
}

/// The bytes that a file takes on disk.
#[cfg(unix)]
fn disk_len(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().blocks() * 512
}

fn fill(database: &Database, count: u64, value_of: impl Fn(u64) -> Vec<u8>) -> Model {
    let table = create(database);
    let mut txn = database.begin_write().unwrap();
    let mut model = Model::new();
    for number in 0..count {
        let value = value_of(number);
        table.insert(&mut txn, number, &value).unwrap();
        model.insert(number, value);
    }
    txn.commit().unwrap();
    model
}

#[test]
fn a_compressed_database_matches_a_map_through_reopening() {
    for (seed, compression) in (1..).zip(ALL.iter().copied()) {
        for durability in [Durability::Durable, Durability::Async, Durability::Lazy] {
            for is_encrypted in [false, true] {
                let directory = tempdir().unwrap();
                let path = directory.path().join("x.teak");
                let mut random = fastrand::Rng::with_seed(seed);
                let mut model = Model::new();
                for _ in 0..3 {
                    let mut options = options(compression).durability(durability);
                    if is_encrypted {
                        options = encrypted(options);
                    }
                    let database = options.decoded_cache_bytes(400_000).open(&path).unwrap();
                    let table: Records = create(&database);
                    for _ in 0..20 {
                        let mut txn = database.begin_write().unwrap();
                        change(&mut random, &table, &mut txn, &mut model);
                        txn.commit().unwrap();
                    }
                    assert_content(&table, &database.begin_read().unwrap(), &model);
                    assert_sound(&database);
                    database.close().unwrap();
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_compressed_database_takes_less_space() {
    let directory = tempdir().unwrap();
    let text = |number: u64| value(number, 300);
    let len_of = |name: &str, options: Options| {
        let path = directory.path().join(name);
        let database = options.open(&path).unwrap();
        let model = fill(&database, 10_000, text);
        // Many rounds of changes: what is overwritten gives its blocks back.
        let table: Records = create(&database);
        for round in 0..20_u64 {
            let mut txn = database.begin_write().unwrap();
            for number in 0..200 {
                let number = (number * 47 + round) % 10_000;
                table.insert(&mut txn, number, text(number)).unwrap();
            }
            txn.commit().unwrap();
        }
        assert_content(&table, &database.begin_read().unwrap(), &model);
        database.close().unwrap();
        disk_len(&path)
    };
    let plain = len_of("plain", Options::new());
    for compression in ALL.iter().copied() {
        let compressed = len_of(&compression.to_string(), options(compression));
        assert!(
            compressed * 3 < plain,
            "{compression}: {compressed} of {plain} bytes"
        );
        let both = len_of("both", encrypted(options(compression)));
        assert!(both * 3 < plain, "{compression}: {both} of {plain} bytes");
        fs::remove_file(directory.path().join("both")).unwrap();
    }
}

/// Also values that begin like the compressed form.
#[test]
fn values_that_cannot_be_compressed_are_stored_as_they_are() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut noise = |len: usize, begin: &[u8]| {
        let mut value = begin.to_vec();
        value.resize_with(len, || random.u8(..));
        value
    };
    let magic = b"TeakCmp\x01\x10\0\0\0\0\0\0\0";
    let mut model = Model::new();
    for (number, len) in [100, 5_000, 32_712, 32_728, 32_768, 40_000, 300_000]
        .into_iter()
        .enumerate()
    {
        model.insert(number as u64 * 3, noise(len, b""));
        model.insert(number as u64 * 3 + 1, noise(len, magic));
        model.insert(number as u64 * 3 + 2, vec![7; len]);
    }
    for is_encrypted in [false, true] {
        for compression in ALL.iter().copied() {
            let directory = tempdir().unwrap();
            let path = directory.path().join("x.teak");
            let opened = || {
                let options = options(compression);
                match is_encrypted {
                    true => encrypted(options).open(&path).unwrap(),
                    false => options.open(&path).unwrap(),
                }
            };
            let database = opened();
            fill(&database, model.keys().max().unwrap() + 1, |number| {
                model[&number].clone()
            });
            database.close().unwrap();
            let database = opened();
            let table: Records = create(&database);
            assert_content(&table, &database.begin_read().unwrap(), &model);
            assert_sound(&database);
        }
    }
}

#[test]
fn the_page_size_of_a_compressed_database_saves_blocks() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let refused = options(Compression::Lz4).page_size(4096).open(&path);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let database = options(Compression::Lz4).open(&path).unwrap();
    assert_eq!(database.info().page_size, 32_768);
    database.close().unwrap();
    // An existing database is what it is.
    let database = options(*ALL.last().unwrap()).open(&path).unwrap();
    assert_eq!(database.info().compression, Some(Compression::Lz4));
    database.close().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(database.info().compression, Some(Compression::Lz4));
    assert_eq!(teak::inspect(&path).unwrap().page_size, 32_768);
}

#[test]
fn every_changed_byte_of_a_compressed_database_is_an_error_and_never_a_wrong_record() {
    for compression in ALL.iter().copied() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("x.teak");
        let database = options(compression).open(&path).unwrap();
        let model = fill(&database, 3_000, |number| value(number, 200));
        database.close().unwrap();
        let original = fs::read(&path).unwrap();
        let data: Vec<usize> = (4 * 32_768..original.len())
            .filter(|at| original[*at] != 0)
            .collect();
        let mut random = fastrand::Rng::with_seed(5);
        let mut detected = 0;
        for _ in 0..200 {
            let mut bytes = original.clone();
            let at = data[random.usize(..data.len())];
            bytes[at] ^= 1 << random.u8(0..8);
            fs::write(&path, &bytes).unwrap();
            match read_all(Options::new(), &path) {
                Ok(read) => assert!(read == model, "byte {at}"),
                Err(_) => detected += 1,
            }
        }
        assert!(detected > 100, "most bytes are of records: {detected}");
    }
}

#[test]
fn copies_and_increments_of_compressed_databases_are_restored() {
    let directory = tempdir().unwrap();
    let [path, copy, restored] =
        ["x.teak", "copy.teak", "restored.teak"].map(|name| directory.path().join(name));
    let go_on = &mut |_| ControlFlow::Continue(());
    let database = options(Compression::Lz4).open(&path).unwrap();
    let table: Records = create(&database);
    let (mut random, mut model) = (fastrand::Rng::with_seed(6), Model::new());
    let mut commit = |model: &mut Model| {
        let mut txn = database.begin_write().unwrap();
        (0..20).for_each(|_| change(&mut random, &table, &mut txn, model));
        txn.commit().unwrap();
    };
    commit(&mut model);
    let first = database.begin_read().unwrap();
    database.backup(&copy, None, go_on).unwrap();
    #[cfg(unix)]
    assert!(disk_len(&copy) <= disk_len(&path), "holes stay holes");
    commit(&mut model);
    let mut increment = Vec::new();
    let second = database.begin_read().unwrap();
    second
        .write_backup(&mut increment, Some(&first), go_on)
        .unwrap();
    let full = &mut fs::File::open(&copy).unwrap();
    let report = Options::new().restore(
        full,
        &mut [&mut &increment[..]],
        &[],
        &restored,
        &mut |_| ControlFlow::Continue(()),
    );
    assert!(report.unwrap().is_clean());
    #[cfg(unix)]
    assert!(
        disk_len(&restored) <= disk_len(&path) * 3 / 2,
        "holes stay holes"
    );
    let restored = Database::open(&restored).unwrap();
    assert_content(&table, &restored.begin_read().unwrap(), &model);
    let saved = directory.path().join("saved.teak");
    let salvaged = Options::new().salvage(&copy, &saved, &mut |_| ControlFlow::Continue(()));
    assert!(salvaged.unwrap().is_complete());
    let saved = Database::open(&saved).unwrap();
    assert_eq!(saved.info().compression, Some(Compression::Lz4));
    assert_sound(&saved);
}

#[test]
fn a_dense_copy_is_compressed_or_expanded() {
    let directory = tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let go_on = &mut |_| ControlFlow::Continue(());
    let database = Database::open(path("plain")).unwrap();
    let model = fill(&database, 2_000, |number| value(number, 100));
    let table: Records = create(&database);
    let reading = database.begin_read().unwrap();
    let best = *ALL.last().unwrap();
    reading
        .copy_dense_with(&options(best), path("best"), go_on)
        .unwrap();
    let compressed = Database::open(path("best")).unwrap();
    let info = compressed.info();
    assert_eq!((info.compression, info.page_size), (Some(best), 32_768));
    let reading = compressed.begin_read().unwrap();
    assert_content(&table, &reading, &model);
    reading.copy_dense(path("same"), go_on).unwrap();
    let same = Database::open(path("same")).unwrap();
    assert_eq!(same.info().compression, Some(best));
    assert_content(&table, &same.begin_read().unwrap(), &model);
    reading
        .copy_dense_with(&Options::new(), path("expanded"), go_on)
        .unwrap();
    let expanded = Database::open(path("expanded")).unwrap();
    let info = expanded.info();
    assert_eq!((info.compression, info.page_size), (None, 4096));
    assert_content(&table, &expanded.begin_read().unwrap(), &model);
}
