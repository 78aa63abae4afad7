//! Pitfalls found by the model of the protocol (`cargo xtask protocol`), tested in the engine. The
//! test of one more finding is with those of closes:
//! `an_erasure_after_a_clean_close_is_made_durable`.

use crate::{
    Error,
    io::{
        Mapping, Storage, WritableMapping,
        sim::{DiskEvent, Fault, SimDisk},
    },
    record::{Record, is_erased},
};
use crate::{
    instance::engine::Engine,
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, ascending_key, assert_clean, fill, get, key,
        new_database, open, open_storage, put, records, root_of, settings_with,
    },
};
use std::{
    io::{self, IoSlice},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
};

/// A disk whose system drops a page from its cache when the file is mapped for the second time.
/// From then on, reads return the contents of the disk.
#[derive(Debug)]
struct ForgetfulDisk {
    disk: SimDisk,
    mapped: AtomicU32,
    stale_offset: u64,
    stale: Vec<u8>,
}

impl Storage for ForgetfulDisk {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.set_len(bytes)
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.disk.write(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        if self.mapped.fetch_add(1, Relaxed) == 1 {
            self.disk
                .write(self.stale_offset, &[IoSlice::new(&self.stale)])?;
        }
        self.disk.mapping()
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.disk.secure(offset, len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.disk.punch(offset, len)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        self.disk.writable()
    }

    fn mark_written(&self, offset: u64, len: u64) {
        self.disk.mark_written(offset, len);
    }
}

/// Recovery read the pages that it had found intact once more to rewrite them. In between, the
/// system may drop a page whose flush had failed: then the old content was written, flushed, and
/// counted as durable.
#[test]
fn rewritten_pages_are_checked_again() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(300, &[1; 100]));
    put(&engine, Durability::Lazy, records(300, &[2; 100])).unwrap();
    let page = root_of(&engine.begin_read().unwrap(), &engine).page;
    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    assert!(matches!(
        open(&killed, false, BOOT).unwrap().recovery(),
        Recovery::Killed { .. }
    ));

    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let forgetful = Arc::new(ForgetfulDisk {
        disk: killed.clone(),
        mapped: AtomicU32::new(0),
        stale_offset: page.index() as u64 * PAGE_SIZE as u64,
        stale: vec![0; PAGE_SIZE],
    });
    let engine = open_storage(forgetful, false, BOOT).unwrap();
    let recovery = engine.recovery();
    assert!(
        matches!(recovery, Recovery::RolledBack { to, .. } if *to == durable),
        "{recovery:?}"
    );
    assert_eq!(get(&engine, b"a", &ascending_key(7)).unwrap(), [1; 100]);
    assert_clean(&engine);
    put(&engine, Durability::Durable, records(300, &[3; 100])).unwrap();
    let image = killed.power_cut(&mut |_| 0, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert_eq!(get(&engine, b"a", &ascending_key(7)).unwrap(), [3; 100]);
    assert_clean(&engine);
}

/// Likewise for the record: an older one was rewritten in its slot, with intact pages. So the
/// database continued from a commit that a power cut lost, when the pages of the one before could
/// have been reused.
#[test]
fn the_rewritten_record_is_checked_again() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(300, &[1; 100]));
    put(&engine, Durability::Lazy, records(300, &[2; 100])).unwrap();
    let slot = engine.begin_read().unwrap().record.slot;
    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let forgetful = Arc::new(ForgetfulDisk {
        disk: killed.clone(),
        mapped: AtomicU32::new(0),
        stale_offset: u64::from(slot) * PAGE_SIZE as u64,
        stale: vec![0; PAGE_SIZE],
    });
    let engine = open_storage(forgetful, false, BOOT).unwrap();
    assert_eq!(engine.newest(), durable);
    assert_eq!(get(&engine, b"a", &ascending_key(7)).unwrap(), [1; 100]);
    put(&engine, Durability::Lazy, records(300, &[3; 100])).unwrap();
    let image = killed.power_cut(&mut |_| 0, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert_eq!(engine.newest(), durable);
    assert_clean(&engine);
}

/// Recovery had redone the pages of the journal's last commit when the system dropped its entry,
/// which had not reached the disk. The pages of the commit before counted as redone, too, and the
/// database could not be opened.
#[test]
fn pages_are_redone_again_when_the_last_entry_is_dropped() {
    let disk = SimDisk::new(CAPACITY);
    let settings = settings_with(|settings| settings.journal_bytes = Some(8 * PAGE_SIZE as u64));
    let (storage, path) = (Arc::new(disk.clone()), PathBuf::from("simulated"));
    let engine = Engine::open_storage(storage, path, true, false, settings, BOOT).unwrap();
    let engine = Arc::new(engine);
    fill(&engine, records(300, &[1; 100]));
    let change = |byte| {
        let changed = [(ascending_key(7), vec![byte; 100])];
        put(&engine, Durability::Durable, changed).unwrap()
    };
    // The first of these uses the journal.
    change(2);
    change(3);
    let [before, last] = [4, 5].map(change);
    let extent = engine.begin_read().unwrap().record.journal.unwrap().extent;
    let image = disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let redone = SimDisk::from_image(image.clone(), CAPACITY);
    let redone = open(&redone, false, OTHER_BOOT).unwrap();
    assert_eq!(redone.newest(), last);

    let first = extent.start.0 as usize * PAGE_SIZE;
    let first_len = u32::from_le_bytes(image[first + 16..first + 20].try_into().unwrap());
    let stale_offset = (first + first_len as usize).next_multiple_of(PAGE_SIZE) as u64;
    let forgetful = Arc::new(ForgetfulDisk {
        disk: SimDisk::from_image(image, CAPACITY),
        mapped: AtomicU32::new(0),
        stale_offset,
        stale: vec![0; PAGE_SIZE],
    });
    let engine = open_storage(forgetful, false, OTHER_BOOT).unwrap();
    assert_eq!(engine.newest(), before);
    assert_eq!(get(&engine, b"a", &ascending_key(7)).unwrap(), [4; 100]);
    assert_clean(&engine);
}

/// After a failed flush, the records of invisible commits were erased. One of them may be the last
/// record that the next open could use, before the visible state had a record again.
#[test]
fn the_visible_record_is_rewritten_before_others_are_erased() {
    let (disk, engine) = new_database();
    let seen = fill(&engine, records(3, b"seen"));
    // Two commits are in progress when the flush of the first one fails.
    let second = Arc::new(Mutex::new(None));
    let (committing, other) = (Arc::clone(&second), Arc::downgrade(&engine));
    disk.on_flush(move || {
        let Some(engine) = other.upgrade() else {
            return;
        };
        let same = Arc::clone(&engine);
        // Too many pages to be kept in memory until the flush ends.
        let many = records(4000, &[0; 100]);
        let commit = move || put(&same, Durability::Durable, many);
        *committing.lock().unwrap() = Some(thread::spawn(commit));
        while engine.newest().0 < seen.0 + 2 {
            thread::yield_now();
        }
    });
    // The calls of a commit like the one that must fail.
    let like = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let calls_of_a_commit = {
        let engine = open(&like, false, BOOT).unwrap();
        let before = like.calls();
        put(&engine, Durability::Durable, [(key(1), b"unseen".to_vec())]).unwrap();
        like.calls() - before
    };
    disk.fail_on(disk.calls() + calls_of_a_commit - 1, Fault::DISK_ERROR);
    let failed = put(&engine, Durability::Durable, [(key(1), b"unseen".to_vec())]);
    assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
    disk.forget_on_flush();
    let second = second.lock().unwrap().take().unwrap();
    assert!(second.join().unwrap().is_err());

    let events = disk.events();
    let is_failed = |event: &Arc<DiskEvent>| matches!(**event, DiskEvent::FlushFailed { .. });
    let after_failure = events.iter().position(is_failed).unwrap() + 1;
    let writes: Vec<(u64, &[u8])> = events[after_failure..]
        .iter()
        .filter_map(|event| match &**event {
            DiskEvent::Write { offset, bytes } => Some((*offset, &bytes[..])),
            _ => None,
        })
        .collect();
    let (offset, bytes) = writes[0];
    let record = Record::decode(bytes, (offset / PAGE_SIZE as u64) as u8).unwrap();
    assert_eq!(record.transaction, seen);
    assert_eq!(writes.len(), 2, "a record, then an erasure");
    assert!(is_erased(writes[1].1));
}
