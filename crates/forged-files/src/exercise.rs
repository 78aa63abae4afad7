//! All that can be done with a database, done with one that a forger made.
//!
//! Errors are what is expected. Findings are panics, and answers that contradict each other: a check that finds nothing beside a page
//! that cannot be read, a change that makes a sound database an unsound one, more records than the file has bytes.

mod changes;
mod copies;
mod cursors;
mod judge;
mod pairs;
mod reads;
mod states;
mod tables;

use self::judge::Judge;
use crate::{
    cases::Case,
    locks,
    scratch::directory,
    seeds::{BOOT, options},
};
use fastrand::Rng;
use std::{
    fmt, fs,
    panic::{AssertUnwindSafe, catch_unwind},
};
use teak::{
    Database, Durability, Error, PageNumber, Recovery, Result, Verification, WarmUp,
    testing::{self, SimDisk},
};
use tempfile::TempDir;

/// A boot of the machine in which nothing was written.
const OTHER_BOOT: [u8; 16] = [0xfe; 16];
/// Bytes of a database that takes what was saved of a small one.
const SAVED_MAX: usize = 16 << 20;
/// Pages whose content is told in words.
const PAGES_TOLD: u32 = 6;

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It cannot be opened.
    Refused,
    /// The check finds damage.
    Damaged,
    /// The check finds nothing.
    Clean,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Damaged => "damaged",
            Self::Clean => "clean",
        })
    }
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Where nothing is compared with tags.
    Unverified,
    /// As after a crash of the machine.
    Verified,
    ReadOnly,
    /// By its name, where other functions can have it.
    Named,
}

/// Does all with a file, and says what was found.
pub(crate) fn all(case: &Case<'_>, rng: &mut Rng) -> (Outcome, Vec<String>) {
    let way = [Way::Unverified, Way::Verified, Way::ReadOnly, Way::Named][rng.usize(0..4)];
    let mut judge = Judge {
        records_max: case.image.len() + (2 << 20),
        rng,
        is_clean: false,
        findings: Vec::new(),
    };
    if judge.rng.u8(0..3) == 0 {
        catch(|| save(&mut judge, &case.image));
    }
    if judge.rng.u8(0..8) == 0 {
        catch(|| locks::work(judge.rng, &case.image));
    }
    let outcome = catch(|| match way {
        Way::Named => by_name(&mut judge, case),
        _ => simulated(&mut judge, case, way),
    });
    (outcome.unwrap_or(Outcome::Refused), judge.findings)
}

/// Saves what can be saved, which is a database then.
fn save(judge: &mut Judge<'_>, image: &[u8]) {
    let disk = SimDisk::from_image(image.to_vec(), image.len());
    let saved = SimDisk::new(SAVED_MAX);
    if testing::salvage(&disk, &saved).is_ok() {
        let saved = testing::open(&saved, &options(), false, OTHER_BOOT);
        let report = saved.and_then(|saved| saved.check(&mut |_| {}));
        if !report.is_ok_and(|report| report.is_clean()) {
            judge.find("what was saved is no sound database".to_owned());
        }
    }
}

fn simulated(judge: &mut Judge<'_>, case: &Case<'_>, way: Way) -> Outcome {
    let room = case.image.len() / 2 + (1 << 20);
    let disk = SimDisk::from_image(case.image.clone(), case.image.len() + room);
    let (options, boot) = match way {
        Way::Unverified => {
            let options = options().durability(Durability::Lazy);
            (options.verification(Verification::Off), BOOT)
        }
        Way::ReadOnly => (options().read_only(true), BOOT),
        _ => (options(), OTHER_BOOT),
    };
    let Ok(database) = testing::open(&disk, &options, false, boot) else {
        return Outcome::Refused;
    };
    let outcome = work(judge, &database, way, None);
    let _ = database.close();
    if way != Way::ReadOnly {
        look_again(judge, testing::open(&disk, &self::options(), false, boot));
    }
    outcome
}

fn by_name(judge: &mut Judge<'_>, case: &Case<'_>) -> Outcome {
    let Ok(directory) = directory() else {
        return Outcome::Refused;
    };
    let path = directory.path().join("forged");
    if fs::write(&path, &case.image).is_err() {
        return Outcome::Refused;
    }
    let _ = teak::look(&path);
    if judge.rng.bool() {
        let saved = directory.path().join("saved");
        let report = teak::salvage_with(&path, &saved, &[&crate::seeds::LENGTHS], &mut |_| {});
        if let Ok(report) = report {
            let _ = report.to_string();
            copies::expect_sound(judge, "what was saved", &saved);
        }
    }
    let release = judge.rng.u64(0..40);
    let options = options()
        .release_at_once(release)
        .write_memory_bytes(1 << 20);
    let Ok(database) = options.open(&path) else {
        return Outcome::Refused;
    };
    let outcome = work(judge, &database, Way::Named, Some(&directory));
    let _ = database.close();
    look_again(judge, self::options().open(&path));
    let _ = teak::delete(&path, teak::Deletion::Now);
    outcome
}

/// A database that was sound, and was changed, is sound.
fn look_again(judge: &mut Judge<'_>, again: Result<Database>) {
    let opened = judge.note("it is opened once more", again);
    if let Some(database) = opened {
        check(judge, &database);
        let _ = database.close();
    }
}

/// Checks the database; one that was sound must be so still.
fn check(judge: &mut Judge<'_>, database: &Database) {
    let Some(report) = judge.note("checking", database.check(&mut |_| {})) else {
        return;
    };
    if report.is_clean() {
        judge.is_clean = true;
    } else if judge.is_clean {
        let damage = report.damages.first();
        let damage = damage.map(|damage| format!("page {:?}: {}", damage.page, damage.detail));
        judge.find(format!(
            "a check found nothing, and now it finds {damage:?}"
        ));
        judge.is_clean = false;
    }
}

type Section = fn(&mut Judge<'_>, &Database, Option<&TempDir>);

/// Does all that can be done, in whatever order, so that each is the first to meet what was forged.
fn work(
    judge: &mut Judge<'_>,
    database: &Database,
    way: Way,
    directory: Option<&TempDir>,
) -> Outcome {
    let mut sections: Vec<Section> = vec![
        |judge, database, _| check(judge, database),
        |judge, database, _| reads::newest(judge, database),
        |judge, database, _| states::read(judge, database),
        |judge, database, _| inspect(judge, database),
        copies::all,
    ];
    let changes: [Section; 5] = [
        |judge, database, _| changes::change(judge, database),
        |judge, database, _| changes::clear(judge, database),
        |judge, database, _| states::change(judge, database),
        |judge, database, _| states::roll_back(judge, database),
        |judge, database, _| changes::compact(judge, database),
    ];
    match way {
        Way::ReadOnly => sections.push(|judge, database, _| refuse(judge, database)),
        _ => sections.extend(changes),
    }
    judge.rng.shuffle(&mut sections);
    // Half of them; so a finding is near the last line that was told of it, and the next file is not far.
    let fewer = sections.len().div_ceil(2) + judge.rng.usize(0..3);
    sections.truncate(fewer);
    for section in sections {
        section(judge, database, directory);
    }
    check(judge, database);
    match judge.is_clean {
        true => Outcome::Clean,
        false => Outcome::Damaged,
    }
}

/// What a database that is open for reading only does not do.
fn refuse(judge: &mut Judge<'_>, database: &Database) {
    if !matches!(database.begin_write(), Err(Error::ReadOnly)) {
        judge.find("a database that is open for reading only is written to".to_owned());
    }
    let _ = (database.sync(), database.create_snapshot("name"));
}

/// All that a database tells of itself.
fn inspect(judge: &mut Judge<'_>, database: &Database) {
    let stat = judge.note("statistics", database.stat());
    judge.note("the uses of pages", database.page_kinds());
    judge.note("the snapshots", database.snapshots());
    let _ = (database.readers(), database.metrics(), database.geometry());
    let _ = (
        database.max_key_len(),
        database.page_size(),
        database.path(),
    );
    let _ = matches!(database.recovery(), Recovery::RolledBack { .. });
    let pages = stat.map_or(100, |stat| stat.page_count.min(1 << 20)) as u32;
    for _ in 0..PAGES_TOLD {
        let page = judge.rng.u32(0..pages.max(1) + 2);
        let _ = database.describe_page(PageNumber(page));
    }
    let how = [WarmUp::Ask, WarmUp::Read, WarmUp::Lock][judge.rng.usize(0..3)];
    judge.note(
        "warming up",
        database.warm_up(how, crate::watchdog::PATIENCE),
    );
    let _ = database.release_memory();
    if let Some(txn) = judge.note("a reader", database.begin_read()) {
        reads::walk(judge, &txn);
    }
}

/// What `work` returns; nothing if it has panicked, which is told.
fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
