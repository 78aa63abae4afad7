//! Every call to the disk fails while an expiring table is changed. Afterwards the index and the
//! records agree: on the same disk, after a kill, and after a power cut.

use crate::{
    Database, Durability, Error, ExpiringTable, Expiry, ExpiryOptions, Options, Result,
    Transaction as _, WriteTxn,
    testing::{self, Fault, SimDisk},
};
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

const BOOT: [u8; 16] = [1; 16];
const OTHER_BOOT: [u8; 16] = [2; 16];
const CAPACITY: usize = 8 << 20;
const ROUNDS: u32 = 16;

type Cache = ExpiringTable<u32, Vec<u8>>;
/// The records that have not expired at the moment 0, which are all.
type Records = BTreeMap<u32, (Vec<u8>, Option<SystemTime>)>;

/// A clock that each round moves on.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn options(&self) -> Options {
        let ms = Arc::clone(&self.0);
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_millis(ms.load(Relaxed));
        Options::new().clock(now).write_memory_bytes(64 << 10)
    }
}

fn change(txn: &mut WriteTxn, round: u32) -> Result<()> {
    let options = ExpiryOptions::new()
        .ttl(Duration::from_millis(30))
        .max_records(120);
    let cache: Cache = txn.create_expiring_table("cache", &options)?;
    for i in 0..20 {
        let key = (round * 31 + i * 7) % 200;
        let value = vec![round as u8; if i == 0 { 9_000 } else { 60 }];
        match i % 4 {
            0 => cache.insert(txn, key, &value)?,
            1 => cache.insert_with_expiry(txn, key, &value, Expiry::Never)?,
            2 => cache.insert_with_expiry(txn, key, &value, Duration::from_millis(5))?,
            _ => drop(cache.set_expiry(txn, key, Duration::from_millis(90))?),
        }
    }
    cache.remove(txn, round)?;
    match round % 5 {
        1 => drop(cache.remove_expired(txn, 10)?),
        2 => cache.set_max_bytes(txn, Some(30_000))?,
        3 => cache.set_max_bytes(txn, None)?,
        4 if round == 9 => drop(cache.clear(txn)?),
        _ => {}
    }
    Ok(())
}

/// All records that are there, expired or not.
fn read(database: &Database) -> Result<Records> {
    let txn = database.begin_read()?;
    let cache: Cache = match txn.open_expiring_table("cache") {
        Err(Error::TableNotFound(_)) => return Ok(Records::new()),
        opened => opened?,
    };
    let keys: Result<Vec<_>> = cache.iter(&txn)?.map(|record| Ok(record?.0)).collect();
    let mut records = Records::new();
    for key in keys? {
        let (value, expires) = cache.get_with_expiry(&txn, key)?.expect("it was listed");
        records.insert(key, (value.to_vec(), expires));
    }
    Ok(records)
}

fn assert_sound(database: &Database, context: &str) -> Records {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{context}: {:#?}", report.damages);
    read(database).unwrap()
}

/// Opens an image at moment 0, at which nothing has expired.
fn open_image(image: Vec<u8>, boot: [u8; 16], context: &str) -> Records {
    let disk = SimDisk::from_image(image, CAPACITY);
    let options = Clock::default().options();
    let opened = testing::open(&disk, &options, false, boot);
    assert_sound(
        &opened.unwrap_or_else(|error| panic!("{context}: {error}")),
        context,
    )
}

/// The states that may be found after a failure.
#[derive(Default)]
struct Course {
    durable: Records,
    since: Vec<Records>,
    has_failed: bool,
}

/// One transaction; says whether it was durable.
fn play_round(database: &Database, round: u32) -> Result<bool> {
    let mut txn = database.begin_write()?;
    let is_durable = round.is_multiple_of(3);
    if !is_durable {
        txn.set_durability(Durability::Lazy);
    }
    change(&mut txn, round)?;
    txn.commit()?;
    Ok(is_durable)
}

fn play(clock: &Clock, disk: &SimDisk, database: &Database, course: &mut Course, context: &str) {
    for round in 0..ROUNDS {
        clock.0.store(u64::from(round) * 10, Relaxed);
        match play_round(database, round) {
            Ok(is_durable) => {
                // A kill leaves the state that was committed.
                let state = open_image(disk.process_crash(), BOOT, context);
                course.since.push(state.clone());
                if is_durable {
                    course.durable = state;
                    course.since.clear();
                }
            }
            Err(Error::Io { .. } | Error::Poisoned { .. }) => {
                course.has_failed = true;
                open_image(disk.process_crash(), BOOT, context);
            }
            Err(other) => panic!("{context}: {other:?}"),
        }
        if course.has_failed {
            assert_sound(database, context);
        }
    }
}

fn play_with_fault(call: Option<(u64, Fault)>) -> u64 {
    let context = format!("{call:?}");
    let disk = SimDisk::new(CAPACITY);
    if let Some((call, fault)) = call {
        disk.fail_on(call, fault);
    }
    let clock = Clock::default();
    let mut course = Course::default();
    let Ok(database) = testing::open(&disk, &clock.options(), true, BOOT) else {
        return disk.calls();
    };
    play(&clock, &disk, &database, &mut course, &context);
    let calls = disk.calls();
    let mut state = calls;
    let mut below = |count: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        (state >> 33) as usize % count
    };
    let image = disk.power_cut(&mut below, 512);
    let found = open_image(image, OTHER_BOOT, &context);
    assert!(
        course.has_failed || found == course.durable || course.since.contains(&found),
        "{context}: a state that was never committed"
    );
    calls
}

fn fail_everywhere(fault: Fault) {
    let count = play_with_fault(None);
    assert!(count > 50, "{count} calls");
    for call in 0..count {
        play_with_fault(Some((call, fault)));
    }
}

#[test]
fn an_expiring_table_survives_a_full_disk() {
    fail_everywhere(Fault::DISK_FULL);
}

#[test]
fn an_expiring_table_survives_a_disk_that_keeps_failing() {
    fail_everywhere(Fault::DISK_ERROR.for_ever());
}

/// After each commit the power is cut in many ways, while later pages are on their way to the disk.
#[test]
fn an_expiring_table_survives_power_cuts() {
    let disk = SimDisk::new(CAPACITY);
    let clock = Clock::default();
    let database = testing::open(&disk, &clock.options(), true, BOOT).unwrap();
    let mut state = 7_u64;
    for round in 0..ROUNDS {
        clock.0.store(u64::from(round) * 10, Relaxed);
        play_round(&database, round).unwrap();
        for cut in 0..12 {
            let mut below = |count: usize| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(99);
                (state >> 33) as usize % count
            };
            let image = disk.power_cut(&mut below, if cut % 2 == 0 { 512 } else { 4096 });
            open_image(image, OTHER_BOOT, &format!("round {round}, cut {cut}"));
        }
    }
}
