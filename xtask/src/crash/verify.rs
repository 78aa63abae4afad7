//! Opens the image of a crash, and checks it against the history.

use super::{
    history::{CrashHistory, CrashKind, compare_all},
    images::DiskImage,
    prepared::decide_after_crash,
    records::HistoryChange,
    settings::{BOOT, CrashSettings},
};
use crate::{Context, Result, campaign::database::expect_clean};
use fastrand::Rng;
use teak::{
    Database, Recovery, Transaction, TransactionId,
    testing::{self, CrashPoints, RecordSummary, SimDisk},
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Pages that the file may grow by during the inspection.
const ROOM_PAGES: usize = 24;

/// The states that are allowed.
#[derive(Clone, Copy)]
pub(super) struct ExpectedStates<'h> {
    pub(super) history: &'h CrashHistory,
    /// The number of events before the crash.
    pub(super) time: usize,
    pub(super) cut: CrashKind,
    /// The boot of the machine after the crash. After a kill it is that of the workload.
    pub(super) boot: [u8; 16],
}

/// A database after recovery and the changes that verification made.
pub(super) struct RecoveredDatabase {
    /// The disk with all events: recovery, a commit, a close.
    pub(super) disk: SimDisk,
    /// The states that the disk should hold at each time during these events.
    pub(super) history: CrashHistory,
    pub(super) recovery: Recovery,
    /// The time from which the history describes this disk.
    pub(super) since: usize,
    /// The boot of the machine after the crash. After a kill it is that of the workload.
    pub(super) boot: [u8; 16],
}

impl DiskImage {
    /// The files after a kill.
    pub(super) fn of_kill(points: &CrashPoints) -> Self {
        Self {
            file: points.process_crash(),
            log: points.log().map(CrashPoints::process_crash),
        }
    }

    /// A hash that does not depend on the time, the machine and chance, except for the log.
    pub(super) fn hash(&mut self, page_size: usize) -> u64 {
        let hash = testing::without_accidents(&mut self.file, page_size, xxh3_64);
        (self.log.iter()).fold(hash, |hash, log| xxh3_64_with_seed(log, hash))
    }

    fn has_log(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.is_empty())
    }
}

/// A disk after a crash.
pub(super) struct CrashedDisk {
    disk: SimDisk,
    newest: Option<RecordSummary>,
    /// The newest record after the journal is redone, if the journal has entries.
    redone: Option<RecordSummary>,
    /// Whether there is a write-ahead log.
    has_log: bool,
}

impl CrashedDisk {
    /// After a power cut, with these contents of the disk.
    pub(super) fn of_power_cut(image: DiskImage, settings: &CrashSettings) -> Self {
        let has_log = image.has_log();
        let DiskImage { file, log } = image;
        let (newest, redone) = settings.newest_of(&file);
        let capacity = file.len() + ROOM_PAGES * settings.page_size;
        let disk = SimDisk::from_image(file, capacity);
        Self {
            disk: match log {
                Some(log) => disk.with_log(log),
                None => disk,
            },
            newest,
            redone,
            has_log,
        }
    }

    /// After a kill: `image` holds everything that was written.
    pub(super) fn of_kill(
        disk: &SimDisk,
        point: &CrashPoints,
        image: &DiskImage,
        settings: &CrashSettings,
    ) -> Self {
        let capacity = image.file.len() + ROOM_PAGES * settings.page_size;
        let (newest, redone) = settings.newest_of(&image.file);
        Self {
            disk: disk.after_kill_at(point, capacity),
            newest,
            redone,
            has_log: image.has_log(),
        }
    }
}

/// Opens the database, compares, checks, commits once more, closes, and opens again.
pub(super) fn verify(
    crashed: CrashedDisk,
    settings: &CrashSettings,
    expected: ExpectedStates<'_>,
    rng: &mut Rng,
) -> Result<RecoveredDatabase> {
    let CrashedDisk {
        disk,
        newest,
        redone,
        has_log,
    } = crashed;
    let database = settings
        .open_image(&disk, expected.boot)
        .context("opening")?;
    let recovery = database.info().recovery;
    let (id, index) = identify(&database, expected)?;
    let plausible = |newest| expect_plausible(&recovery, (id, index), (newest, has_log), expected);
    match redone {
        Some(_) => plausible(redone).or_else(|_| plausible(newest))?,
        None => plausible(newest)?,
    }
    expect_clean(&database).context("after recovery")?;
    let ExpectedStates {
        history,
        time,
        cut,
        boot,
    } = expected;
    let mut history = history.after_crash((time, cut), index, disk.event_count(), &recovery);
    commit_and_close(database, &disk, &mut history, rng)?;
    reopen(&disk, settings, &history)?;
    Ok(RecoveredDatabase {
        disk,
        history,
        recovery,
        since: match cut {
            CrashKind::Power => 0,
            CrashKind::Kill => time,
        },
        boot,
    })
}

/// The state, among the allowed ones, that the database is in.
fn identify(database: &Database, expected: ExpectedStates<'_>) -> Result<(TransactionId, usize)> {
    let txn = database
        .begin_read()
        .context("beginning a read transaction")?;
    let mut difference = None;
    let states = &expected.history.states;
    for index in expected.history.possible(expected.time, expected.cut) {
        let state = &states[index];
        if state.id != txn.id() {
            continue;
        }
        match compare_all(database, &txn, &state.tables) {
            Ok(()) => return Ok((state.id, index)),
            Err(found) => difference = Some(found),
        }
    }
    let possible: Vec<_> = expected
        .history
        .possible(expected.time, expected.cut)
        .map(|index| states[index].id)
        .collect();
    let (id, recovery) = (txn.id(), database.info().recovery);
    Err(match difference {
        Some(difference) => failure!("commit {id} is incomplete: {difference} ({recovery:?})"),
        None => failure!("commit {id} was found, but allowed are {possible:?} ({recovery:?})"),
    })
}

/// The reported recovery must fit the found state and the newest record. With a write-ahead log,
/// the state may be newer than the record.
fn expect_plausible(
    recovery: &Recovery,
    (id, index): (TransactionId, usize),
    (newest, has_log): (Option<RecordSummary>, bool),
    expected: ExpectedStates<'_>,
) -> Result {
    let newest = newest.context("it was opened without a readable record")?;
    let time = expected.time;
    let history = expected.history;
    let is_kill = expected.cut == CrashKind::Kill;
    let is_unreadable = newest.has_unreadable_record;
    let fits = match recovery {
        // An unreadable record is reported, and counts as the newest.
        Recovery::RolledBack { from, to, .. } if is_unreadable => {
            *to == id && *from == newest.transaction.next()
        }
        // The log has the commit that the record may have been of.
        Recovery::Verified { last } if is_unreadable && has_log => {
            *last == id && id > newest.transaction
        }
        _ if is_unreadable => false,
        Recovery::Clean => newest.is_clean_close && history.was_closed(time, index),
        Recovery::Killed { last } => is_kill && *last == id,
        // The process was killed before a commit in this boot of the machine.
        Recovery::Verified { last } => {
            *last == id && (!is_kill || history.is_after_power_cut && index == 0)
        }
        Recovery::RolledBack { from, to, .. } if is_kill => {
            *to == id && from > to && history.may_come_back(time, *from)
        }
        Recovery::RolledBack { from, to, .. } => {
            *to == id && from > to && history.was_begun(time, *from)
        }
        _ => false,
    };
    let said = match recovery {
        Recovery::RolledBack { .. } if is_unreadable => newest.transaction,
        Recovery::RolledBack { from, .. } => *from,
        _ => id,
    };
    let is_in_log = has_log
        && said > newest.transaction
        && matches!(
            recovery,
            Recovery::Killed { .. } | Recovery::Verified { .. }
        );
    ensure!(
        fits && (said == newest.transaction || is_in_log),
        "recovery is {recovery:?}, but commit {id} was found and the newest record is {newest:?}"
    );
    Ok(())
}

fn commit_and_close(
    database: Database,
    disk: &SimDisk,
    history: &mut CrashHistory,
    rng: &mut Rng,
) -> Result {
    decide_after_crash(&database, disk, history, rng)?;
    let failed = "writing after recovery";
    let mut txn = database.begin_write().context(failed)?;
    let mut tables = history.newest_tables();
    let mut change = HistoryChange::new(&mut txn, &mut tables, rng);
    change.put(2).context(failed)?;
    let begun = disk.event_count();
    let index = history.begin(txn.id(), tables, begun);
    txn.commit().context(failed)?;
    let now = disk.event_count();
    history.note_durable(index, now);
    if let Some((_, over)) = &mut history.rolled_back {
        *over = now.min(*over);
    }
    history.closes.push((now, index));
    database.close().context("closing after recovery")
}

fn reopen(disk: &SimDisk, settings: &CrashSettings, history: &CrashHistory) -> Result {
    let again = settings.open_image(disk, BOOT).context("opening again")?;
    if again.info().recovery != Recovery::Clean {
        let recovery = again.info().recovery;
        bail!("opening again reports {recovery:?}");
    }
    let txn = again
        .begin_read()
        .context("beginning another read transaction")?;
    let tables = &history.states[history.newest()].tables;
    compare_all(&again, &txn, tables).context("opened again")?;
    drop(txn);
    expect_clean(&again).context("after the next commit")
}
