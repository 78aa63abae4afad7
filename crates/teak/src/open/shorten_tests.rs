use super::truncate_closed;
use crate::{
    Database, Options, Transaction,
    io::{
        Access, Create, FileSharing, FileStorage, Mapping, Storage, WritableMapping,
        sim::{Call, Fault, SimDisk},
    },
    open::slots::SlotRecords,
    record::{SLOT_COUNT, durability::Durability, probe::PROBE_LEN},
    testing,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, ascending_key, assert_clean, fill, get, open,
        open_storage, put, records, remove,
    },
    write::transaction::WriteTransaction,
};
use fastrand::Rng;
use std::{
    fs,
    io::{self, IoSlice},
    sync::Arc,
};

/// Records that are left in the databases of these tests, of many.
const KEPT: u32 = 5;

/// A disk that makes no file shorter, as if it were mapped.
#[derive(Debug)]
struct LongDisk(SimDisk);

impl Storage for LongDisk {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes.max(self.0.len()))
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.0.write(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        self.0.mapping()
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.0.secure(offset, len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.0.punch(offset, len)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        self.0.writable()
    }

    fn mark_written(&self, offset: u64, len: u64) {
        self.0.mark_written(offset, len);
    }
}

/// The disk of a database whose many records were removed but a few, and the number of its events
/// before the close.
fn closed_long() -> (SimDisk, usize) {
    let disk = SimDisk::new(CAPACITY);
    let storage = Arc::new(LongDisk(disk.clone()));
    let engine = open_storage(storage, true, BOOT).unwrap();
    fill(&engine, records(3000, &[7; 100]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for number in KEPT..3000 {
        remove(&mut txn, b"a", &ascending_key(number));
    }
    txn.commit().unwrap();
    // Free pages at the front take the rest.
    for _ in 0..10 {
        put(&engine, Durability::Durable, records(KEPT, &[7; 100])).unwrap();
    }
    let event_count = disk.event_count();
    assert!(engine.close().unwrap());
    (disk, event_count)
}

fn head_of(image: &[u8]) -> &[u8] {
    &image[..image.len().min(PROBE_LEN)]
}

/// Truncates the file on a disk as an opening does.
fn truncate(disk: &SimDisk) -> io::Result<bool> {
    truncate_closed(disk, head_of(&disk.process_crash()))
}

/// Fails unless the database on the disk has all of its records, and no damage.
fn assert_whole(disk: &SimDisk, boot: [u8; 16]) {
    let engine = open(disk, false, boot).unwrap();
    for number in 0..KEPT {
        let value = get(&engine, b"a", &ascending_key(number));
        assert_eq!(value, Some(vec![7; 100]));
    }
    assert_eq!(get(&engine, b"a", &ascending_key(KEPT)), None);
    assert_clean(&engine);
}

#[test]
fn a_closed_file_becomes_as_short_as_its_commit() {
    let (disk, _) = closed_long();
    let long = disk.len();
    let slots = SlotRecords::decode(head_of(&disk.process_crash())).unwrap();
    let needed = slots.records[0].page_count * PAGE_SIZE as u64;
    assert!(needed < long);
    assert!(truncate(&disk).unwrap());
    assert_eq!(disk.len(), needed);
    assert!(!truncate(&disk).unwrap(), "it is short");
    assert_whole(&disk, BOOT);
}

/// The records of the close may be only in the system's cache: after every event of the close the
/// process ends, the next one truncates the file, and the power fails at every event of that.
#[test]
fn a_power_cut_while_a_file_is_truncated_loses_nothing() {
    let (closed, before) = closed_long();
    let mut points = closed.crash_points(PAGE_SIZE);
    let mut rng = Rng::with_seed(5);
    let mut truncated = 0;
    while points.advance().is_some() {
        if points.event_index() < before {
            continue;
        }
        let disk = closed.after_kill_at(&points, CAPACITY);
        truncated += u32::from(truncate(&disk).unwrap());
        let mut cuts = disk.crash_points(512);
        loop {
            if cuts.event_index() >= points.event_index() {
                let mut images = vec![cuts.power_cut(&mut |_| 0), cuts.process_crash()];
                images.extend((0..4).map(|_| cuts.power_cut(&mut |count| rng.usize(..count))));
                for image in images {
                    assert_whole(&SimDisk::from_image(image, CAPACITY), OTHER_BOOT);
                }
            }
            if cuts.advance().is_none() {
                break;
            }
        }
    }
    assert!(truncated >= 2, "before and after the flush of the close");
}

/// A flush that fails may leave the records of the close in the cache only.
#[test]
fn a_file_stays_long_if_its_records_cannot_be_written_and_flushed() {
    let (closed, _) = closed_long();
    for call in 0..4 {
        let disk = SimDisk::from_image(closed.process_crash(), CAPACITY);
        let long = disk.len();
        disk.fail_on(call, Fault::DISK_ERROR);
        assert!(truncate(&disk).is_err());
        let kinds = [Call::Write, Call::Write, Call::Flush, Call::SetLen];
        assert_eq!(disk.failed_calls(0), [kinds[call as usize]]);
        assert_eq!(disk.len(), long);
        assert_whole(&disk, BOOT);
    }
}

#[test]
fn a_file_that_was_not_closed_or_is_damaged_stays_long() {
    let (disk, before) = closed_long();
    let image = disk.process_crash();
    for slot in 0..usize::from(SLOT_COUNT) {
        let mut image = image.clone();
        image[slot * PAGE_SIZE + 100] ^= 1;
        let disk = SimDisk::from_image(image, CAPACITY);
        assert!(!truncate(&disk).unwrap(), "slot {slot} is damaged");
        assert_whole(&disk, BOOT);
    }
    let mut points = disk.crash_points(PAGE_SIZE);
    while points.event_index() < before && points.advance().is_some() {}
    let killed = disk.after_kill_at(&points, CAPACITY);
    assert!(!truncate(&killed).unwrap(), "it was not closed");
    assert_whole(&killed, BOOT);
    for len in [0, 1, 100, PAGE_SIZE, PROBE_LEN] {
        let disk = SimDisk::from_image(vec![0; len], CAPACITY);
        assert!(!truncate(&disk).unwrap(), "there is no record");
    }
}

/// On any system, by the way that an opening takes where no mapped file becomes shorter.
#[test]
fn an_open_file_is_truncated_before_it_is_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.teak");
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, u64>("numbers").unwrap();
    table.insert(&mut txn, 1, 2).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    drop(Database::open(&path).unwrap());
    let short = fs::metadata(&path).unwrap().len();
    let long = short + (1 << 20);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(long).unwrap();
    let (access, sharing) = (Access::ReadWrite, FileSharing::Exclusive);
    let (storage, _) = FileStorage::open(&path, access, Create::Never, sharing, 0).unwrap();
    let head = storage.read_head(PROBE_LEN).unwrap();
    assert!(truncate_closed(&storage, &head).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), short);
    assert_eq!(storage.len(), short);
    drop(storage);
    let database = Options::new().open(&path).unwrap();
    let txn = database.begin_read().unwrap();
    let table = txn.open_table::<u64, u64>("numbers").unwrap();
    assert_eq!(table.get(&txn, 1).unwrap(), Some(2));
    drop((txn, database));

    // The whole way, where the close could not do it.
    if testing::Abilities::of(directory.path())
        .unwrap()
        .truncates_mapped
    {
        return;
    }
    file.set_len(long).unwrap();
    let reader = Options::new().read_only(true).open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), long, "it only reads");
    drop(reader);
    let database = Database::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), short);
    let other = Database::open(&path).unwrap();
    drop((database, other));
}
