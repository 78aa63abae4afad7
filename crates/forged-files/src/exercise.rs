//! Performs all operations on a forged database.
//!
//! Errors are expected. Findings are panics and contradictory results: a check that finds nothing
//! although a page is unreadable, a change that damages a valid database, more records than the
//! file has bytes.

mod changes;
mod collector;
mod copies;
mod cursors;
mod expiring;
mod pairs;
mod reads;
mod states;
mod tables;

use self::collector::FindingCollector;
use crate::{
    cases::Case,
    locks,
    scratch::directory,
    seeds::{BOOT, options},
};
use fastrand::Rng;
use std::{
    fmt, fs,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
};
use teak::{
    Database, Durability, Error, PageNumber, Result, Verification, WarmUp,
    testing::{self, SimDisk},
};
use tempfile::TempDir;

/// A boot of the machine in which nothing was written.
const OTHER_BOOT: [u8; 16] = [0xfe; 16];
/// The maximum size of a database salvaged from a small one.
const SAVED_MAX: usize = 16 << 20;
/// The number of pages whose contents are described.
const DESCRIBED_PAGES: u32 = 6;

/// The outcome for a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileOutcome {
    /// It cannot be opened.
    Refused,
    /// The check finds damage.
    Damaged,
    /// The check finds nothing.
    Clean,
}

impl fmt::Display for FileOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Damaged => "damaged",
            Self::Clean => "clean",
        })
    }
}

/// The modes of opening a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// Without verifying checksums.
    Unverified,
    /// As after a crash of the machine.
    Verified,
    ReadOnly,
    /// By its path, so that other functions can use it.
    Named,
}

/// Performs all operations on a file, and returns the findings.
pub(crate) fn all(case: &Case<'_>, rng: &mut Rng) -> (FileOutcome, Vec<String>) {
    let mode = [
        OpenMode::Unverified,
        OpenMode::Verified,
        OpenMode::ReadOnly,
        OpenMode::Named,
    ][rng.usize(0..4)];
    let mut collector = FindingCollector {
        records_max: case.image.len() + (2 << 20),
        rng,
        is_clean: false,
        findings: Vec::new(),
    };
    if collector.rng.u8(0..3) == 0 {
        catch(|| save(&mut collector, &case.image));
    }
    if collector.rng.u8(0..8) == 0 {
        catch(|| locks::work(collector.rng, &case.image));
    }
    let outcome = catch(|| match mode {
        OpenMode::Named => by_name(&mut collector, case),
        _ => simulated(&mut collector, case, mode),
    });
    (outcome.unwrap_or(FileOutcome::Refused), collector.findings)
}

/// Salvages the file. The result must be a valid database.
fn save(collector: &mut FindingCollector<'_>, image: &[u8]) {
    let disk = SimDisk::from_image(image.to_vec(), image.len());
    let saved = SimDisk::new(SAVED_MAX);
    if testing::salvage(&disk, &saved).is_ok() {
        let saved = testing::open(&saved, &options(), false, OTHER_BOOT);
        let report = saved.and_then(|saved| saved.check(&mut |_| ControlFlow::Continue(())));
        if !report.is_ok_and(|report| report.is_clean()) {
            collector.find("the salvaged database is damaged".to_owned());
        }
    }
}

fn simulated(collector: &mut FindingCollector<'_>, case: &Case<'_>, mode: OpenMode) -> FileOutcome {
    let room = case.image.len() / 2 + (1 << 20);
    let disk = SimDisk::from_image(case.image.clone(), case.image.len() + room);
    let (options, boot) = match mode {
        OpenMode::Unverified => {
            let options = options().durability(Durability::Lazy);
            (options.verification(Verification::Off), BOOT)
        }
        OpenMode::ReadOnly => (options().read_only(true), BOOT),
        _ => (options(), OTHER_BOOT),
    };
    let Ok(database) = testing::open(&disk, &options, false, boot) else {
        return FileOutcome::Refused;
    };
    let outcome = work(collector, &database, mode, None);
    let _ = database.close();
    if mode != OpenMode::ReadOnly {
        inspect_again(
            collector,
            testing::open(&disk, &self::options(), false, boot),
        );
    }
    outcome
}

fn by_name(collector: &mut FindingCollector<'_>, case: &Case<'_>) -> FileOutcome {
    let Ok(directory) = directory() else {
        return FileOutcome::Refused;
    };
    let path = directory.path().join("forged");
    if fs::write(&path, &case.image).is_err() {
        return FileOutcome::Refused;
    }
    let _ = teak::inspect(&path);
    if collector.rng.bool() {
        let saved = directory.path().join("saved");
        let report = teak::salvage(&path, &saved, &[&crate::seeds::LENGTHS], &mut |_| {
            ControlFlow::Continue(())
        });
        if let Ok(report) = report {
            let _ = report.to_string();
            copies::expect_sound(collector, "the salvaged database", &saved);
        }
    }
    let release = collector.rng.u64(0..40);
    let options = options()
        .release_at_once(release)
        .write_memory_bytes(1 << 20);
    let Ok(database) = options.open(&path) else {
        return FileOutcome::Refused;
    };
    let outcome = work(collector, &database, OpenMode::Named, Some(&directory));
    let _ = database.close();
    inspect_again(collector, self::options().open(&path));
    let _ = teak::delete(&path, teak::Deletion::Now);
    outcome
}

/// A valid database must still be valid after changes.
fn inspect_again(collector: &mut FindingCollector<'_>, again: Result<Database>) {
    let opened = collector.note("opening once more", again);
    if let Some(database) = opened {
        check(collector, &database);
        let _ = database.close();
    }
}

/// Checks the database. A valid database must still be valid.
fn check(collector: &mut FindingCollector<'_>, database: &Database) {
    let Some(report) = collector.note(
        "checking",
        database.check(&mut |_| ControlFlow::Continue(())),
    ) else {
        return;
    };
    if report.is_clean() {
        collector.is_clean = true;
    } else if collector.is_clean {
        let damage = report.damages.first();
        let damage = damage.map(|damage| format!("page {:?}: {}", damage.page, damage.detail));
        collector.find(format!(
            "the first check found nothing, but this one finds {damage:?}"
        ));
        collector.is_clean = false;
    }
}

type Section = fn(&mut FindingCollector<'_>, &Database, Option<&TempDir>);

/// Performs all operations in random order, so that each may be the first to find the forgery.
fn work(
    collector: &mut FindingCollector<'_>,
    database: &Database,
    mode: OpenMode,
    directory: Option<&TempDir>,
) -> FileOutcome {
    let mut sections: Vec<Section> = vec![
        |collector, database, _| check(collector, database),
        |collector, database, _| reads::newest(collector, database),
        |collector, database, _| states::read(collector, database),
        |collector, database, _| inspect(collector, database),
        copies::all,
    ];
    let changes: [Section; 5] = [
        |collector, database, _| changes::change(collector, database),
        |collector, database, _| changes::clear(collector, database),
        |collector, database, _| states::change(collector, database),
        |collector, database, _| states::roll_back(collector, database),
        |collector, database, _| changes::compact(collector, database),
    ];
    match mode {
        OpenMode::ReadOnly => sections.push(|collector, database, _| refuse(collector, database)),
        _ => sections.extend(changes),
    }
    collector.rng.shuffle(&mut sections);
    // Performs only half of them, so that a finding is near the last reported line, and the next
    // file follows soon.
    let fewer = sections.len().div_ceil(2) + collector.rng.usize(0..3);
    sections.truncate(fewer);
    for section in sections {
        section(collector, database, directory);
    }
    check(collector, database);
    match collector.is_clean {
        true => FileOutcome::Clean,
        false => FileOutcome::Damaged,
    }
}

/// Operations that a read-only database must refuse.
fn refuse(collector: &mut FindingCollector<'_>, database: &Database) {
    if !matches!(database.begin_write(), Err(Error::ReadOnly)) {
        collector.find("a read-only database accepts writes".to_owned());
    }
    let _ = (database.sync(), database.create_snapshot("name"));
}

/// All properties of a database.
fn inspect(collector: &mut FindingCollector<'_>, database: &Database) {
    let stat = collector.note("statistics", database.stat());
    collector.note("the uses of pages", database.page_kinds());
    collector.note("the snapshots", database.snapshots());
    let _ = (database.readers(), database.metrics(), database.geometry());
    let _ = (database.info(), database.path());
    let pages = stat.map_or(100, |stat| stat.page_count.min(1 << 20)) as u32;
    for _ in 0..DESCRIBED_PAGES {
        let page = collector.rng.u32(0..pages.max(1) + 2);
        let _ = database.describe_page(PageNumber(page));
    }
    let mode = [WarmUp::Ask, WarmUp::Read, WarmUp::Lock][collector.rng.usize(0..3)];
    collector.note(
        "warming up",
        database.warm_up(mode, crate::watchdog::PATIENCE),
    );
    let _ = database.release_memory();
    if let Some(txn) = collector.note("a reader", database.begin_read()) {
        reads::walk(collector, &txn);
    }
}

/// The result of `work`; `None` if it panicked, which is reported.
fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
