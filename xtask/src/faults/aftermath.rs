//! What a script leaves behind, on a disk that works again.

use super::{
    play::{BOOT, CAPACITY, Course, Outcome, Play, commit_another, expect_sound},
    script::Script,
};
use fastrand::Rng;
use teak::{
    Recovery,
    testing::{self, SimDisk},
};

const OTHER_BOOT: [u8; 16] = [2; 16];
/// Power cuts that are looked at behind a script, and behind one more commit.
const CUTS: usize = 3;
const LATE_CUTS: usize = 2;

/// Looks at what is there when the machine goes down, and when the process is killed; then at what
/// is built upon the latter.
pub(super) fn look(play: &mut Play<'_>, script: &Script, rng: &mut Rng) -> Outcome {
    play.disk.heal();
    play.position = "a power cut".to_owned();
    for (index, disk) in cut_power(&play.disk, CUTS, rng).enumerate() {
        look_at_cut(&disk, script, play.course.clone(), index == 0)?;
    }
    play.position = "opening after a kill".to_owned();
    play.disk = play.disk.kill();
    let database = play.open()?;
    commit_another(&database, &mut play.course)?;
    play.position = "a power cut behind one more commit".to_owned();
    for disk in cut_power(&play.disk, LATE_CUTS, rng) {
        look_at_cut(&disk, script, play.course.clone(), false)?;
    }
    Ok(())
}

/// Some of what can be on the disk: the oldest, then anything between that and the newest.
fn cut_power(disk: &SimDisk, count: usize, rng: &mut Rng) -> impl Iterator<Item = SimDisk> {
    let granularity = [4096, 4096, 512, 64][rng.usize(0..4)];
    let mut points = disk.crash_points(granularity);
    while points.advance().is_some() {}
    (0..count).map(move |index| {
        let image = points.power_cut(&mut |count| match index {
            0 => 0,
            _ => rng.usize(0..count),
        });
        SimDisk::from_image(image, CAPACITY)
    })
}

fn look_at_cut(disk: &SimDisk, script: &Script, mut course: Course, goes_on: bool) -> Outcome {
    let opened = testing::open(disk, &script.options(), false, OTHER_BOOT);
    let database = opened.map_err(|error| format!("opening: {error}"))?;
    let possible = course.after_power_cut();
    let found = expect_sound(&database, &possible)
        .map_err(|text| format!("{text} ({:?})", database.recovery()))?
        .clone();
    course.settle(found);
    if !goes_on {
        return Ok(());
    }
    commit_another(&database, &mut course)?;
    let disk = disk.kill();
    drop(database);
    let opened = testing::open(&disk, &script.options(), false, OTHER_BOOT);
    let database = opened.map_err(|error| format!("opening again: {error}"))?;
    // What was rolled back before must not come up again.
    if let recovery @ Recovery::RolledBack { .. } = database.recovery() {
        return Err(format!("opening again: {recovery:?}"));
    }
    expect_sound(&database, &[&course.acknowledged]).map(drop)
}

/// Looks at a disk on which no database could be created: there is none, or an empty one.
pub(super) fn look_at_nothing(play: &mut Play<'_>, script: &Script) -> Outcome {
    play.disk.heal();
    play.position = "after creating failed".to_owned();
    let disk = play.disk.kill();
    match testing::open(&disk, &script.options(), false, BOOT) {
        Ok(database) => expect_sound(&database, &[&Default::default()]).map(drop),
        Err(teak::Error::NotADatabase { .. }) => Ok(()),
        Err(error) => Err(format!("opening what was not created: {error}")),
    }
}
