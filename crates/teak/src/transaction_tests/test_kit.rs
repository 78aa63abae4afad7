//! Shared helpers of the transaction tests: databases on the simulated disk, and short functions to
//! change and inspect them.

use crate::{
    Result, TransactionId,
    btree::{TreeRoot, insert::Existing, lookup},
    io::{Compression, Storage, sim::SimDisk},
    page::{key::KeyOrder, value::StoredValue},
    types::TypeNames,
};
use crate::{
    admin::check,
    cipher::EncryptionKey,
    instance::{
        engine::Engine,
        policies::{CodecSettings, EncryptionSettings, Settings, Sharing},
    },
    read::snapshot::PinnedSnapshot,
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{cell::Cell, collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

/// The boot in which a test begins, and one after a power cut.
pub(crate) const BOOT: [u8; 16] = [1; 16];
pub(crate) const OTHER_BOOT: [u8; 16] = [2; 16];
/// The maximum file length on a simulated disk, in bytes.
pub(crate) const CAPACITY: usize = 64 << 20;
pub(crate) const PAGE_SIZE: usize = 4096;
/// Bytes of pages that a write transaction keeps in memory.
pub(crate) const WRITE_MEMORY_BYTES: usize = 1 << 20;

/// The expected contents of a table.
pub(crate) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// How the databases of a test are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestCodec {
    Plain,
    Encrypted,
    Compressed,
    Both,
}

thread_local! {
    static CODEC: Cell<TestCodec> = const { Cell::new(TestCodec::Plain) };
}

/// Runs a test whose databases are encoded, with little memory for decoded pages.
pub(crate) fn coded(codec: TestCodec, test: impl FnOnce()) {
    CODEC.set(codec);
    test();
    CODEC.set(TestCodec::Plain);
}

/// Whether the test that runs has databases that are encoded.
pub(crate) fn is_coded() -> bool {
    CODEC.get() != TestCodec::Plain
}

/// How the databases of the test that runs are encoded.
pub(crate) fn codecs() -> CodecSettings {
    let codec = CODEC.get();
    let is_encrypted = matches!(codec, TestCodec::Encrypted | TestCodec::Both);
    CodecSettings {
        encryption: is_encrypted
            .then(|| EncryptionSettings::new(EncryptionKey::from_bytes([7; 32]))),
        compression: match codec {
            TestCodec::Compressed => Some(Compression::Lz4),
            TestCodec::Both if cfg!(feature = "zstd") => Some(Compression::Zstd(1)),
            TestCodec::Both => Some(Compression::Lz4),
            _ => None,
        },
        cache_bytes: 100_000,
    }
}

fn settings() -> Settings {
    let codecs = codecs();
    Settings {
        page_size: codecs.compression.is_none().then_some(PAGE_SIZE),
        codecs,
        // Nothing happens except what a test does.
        flush_after: Some(Duration::MAX),
        write_memory_bytes: WRITE_MEMORY_BYTES,
        sharing: Sharing::Alone,
        ..Settings::default()
    }
}

/// The settings of tests, changed.
pub(crate) fn settings_with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = settings();
    change(&mut settings);
    settings
}

fn open_with(
    disk: &SimDisk,
    is_new: bool,
    is_read_only: bool,
    boot: [u8; 16],
) -> Result<Arc<Engine>> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let path = PathBuf::from("simulated");
    Engine::open_storage(storage, path, is_new, is_read_only, settings(), boot).map(Arc::new)
}

pub(crate) fn open_storage(
    storage: Arc<dyn Storage>,
    is_new: bool,
    boot: [u8; 16],
) -> Result<Arc<Engine>> {
    let path = PathBuf::from("simulated");
    Engine::open_storage(storage, path, is_new, false, settings(), boot).map(Arc::new)
}

pub(crate) fn open(disk: &SimDisk, is_new: bool, boot: [u8; 16]) -> Result<Arc<Engine>> {
    open_with(disk, is_new, false, boot)
}

pub(crate) fn open_read_only(disk: &SimDisk) -> Result<Arc<Engine>> {
    open_with(disk, false, true, BOOT)
}

/// A new database without tables, and its disk.
pub(crate) fn new_database() -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    (disk, engine)
}

/// Creates table `a` with these records, in one durable commit.
pub(crate) fn fill(
    engine: &Arc<Engine>,
    records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
) -> TransactionId {
    let mut txn = WriteTransaction::begin(engine).unwrap();
    create_table(&mut txn, b"a");
    for (key, value) in records {
        insert(&mut txn, b"a", &key, &value).unwrap();
    }
    txn.commit().unwrap()
}

/// Writes these records to table `a` in a commit of this durability.
pub(crate) fn put(
    engine: &Arc<Engine>,
    durability: Durability,
    records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
) -> Result<TransactionId> {
    let mut txn = WriteTransaction::begin(engine)?;
    txn.set_durability(durability);
    for (key, value) in records {
        insert(&mut txn, b"a", &key, &value)?;
    }
    txn.commit()
}

/// The first `count` ascending keys, all with this value.
pub(crate) fn records(count: u32, value: &[u8]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let value = value.to_vec();
    (0..count).map(move |i| (ascending_key(i), value.clone()))
}

pub(crate) fn create_table(txn: &mut WriteTransaction, name: &[u8]) {
    let handle = txn.engine().handle(name);
    let root = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    txn.create_table(handle, name, root, TypeNames::default())
        .unwrap();
}

pub(crate) fn insert(
    txn: &mut WriteTransaction,
    name: &[u8],
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    let handle = txn.engine().handle(name);
    txn.change(handle, name, |tree| {
        tree.insert(key, StoredValue::inline(value), Existing::Replace)
            .map(drop)
    })
}

pub(crate) fn remove(txn: &mut WriteTransaction, name: &[u8], key: &[u8]) -> bool {
    let handle = txn.engine().handle(name);
    txn.change(handle, name, |tree| tree.remove(key)).unwrap()
}

pub(crate) fn get(engine: &Arc<Engine>, name: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    get_in(
        &engine.begin_read().unwrap(),
        engine.handle(name),
        name,
        key,
    )
}

pub(crate) fn get_in(
    snapshot: &PinnedSnapshot,
    handle: usize,
    name: &[u8],
    key: &[u8],
) -> Option<Vec<u8>> {
    let root = snapshot.root_of(handle, name).unwrap()?;
    let value = lookup::get(snapshot, &root, key).unwrap()?;
    Some(lookup::load(snapshot, root.page, value).unwrap().to_vec())
}

/// The root of table `a`.
pub(crate) fn root_of(snapshot: &PinnedSnapshot, engine: &Engine) -> TreeRoot {
    let root = snapshot.root_of(engine.handle(b"a"), b"a").unwrap();
    *root.expect("the table exists")
}

pub(crate) fn assert_clean(engine: &Arc<Engine>) {
    assert_snapshot_clean(&engine.begin_read().unwrap());
}

pub(crate) fn assert_snapshot_clean(snapshot: &PinnedSnapshot) {
    let report = check::report(snapshot);
    assert!(report.is_clean(), "{:#?}", report.damages);
}

/// Keys at random positions.
pub(crate) fn key(i: u32) -> Vec<u8> {
    i.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(3)
}

/// Keys in order.
pub(crate) fn ascending_key(i: u32) -> Vec<u8> {
    i.to_be_bytes().to_vec()
}
