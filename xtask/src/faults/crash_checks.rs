//! Checks after a script, on a disk that works again.

use super::{
    episode::{BOOT, FaultEpisode},
    script::{CAPACITY, FaultScript},
    soundness::{PossibleStates, commit_another, expect_sound},
};
use crate::{Context, Result};
use fastrand::Rng;
use teak::{
    Recovery,
    testing::{self, SimDisk},
};

const OTHER_BOOT: [u8; 16] = [2; 16];
/// Power cuts to inspect after a script, and after one more commit.
const CUTS: usize = 3;
const CUTS_AFTER_COMMIT: usize = 2;

/// Checks the states after a power cut and after a kill, then continues from the latter.
pub(super) fn inspect(
    episode: &mut FaultEpisode<'_>,
    script: &FaultScript,
    rng: &mut Rng,
) -> Result {
    episode.disk.heal();
    episode.position = "a power cut".to_owned();
    for (index, disk) in cut_power(&episode.disk, CUTS, rng).enumerate() {
        inspect_after_power_cut(&disk, script, episode.possible_states.clone(), index == 0)?;
    }
    episode.position = "opening after a kill".to_owned();
    episode.disk = episode.disk.kill();
    let database = episode.open()?;
    commit_another(&database, &mut episode.possible_states)?;
    episode.position = "a power cut after one more commit".to_owned();
    for disk in cut_power(&episode.disk, CUTS_AFTER_COMMIT, rng) {
        inspect_after_power_cut(&disk, script, episode.possible_states.clone(), false)?;
    }
    Ok(())
}

/// Some possible contents of the disk: the oldest, then random ones between that and the newest.
fn cut_power(disk: &SimDisk, count: usize, rng: &mut Rng) -> impl Iterator<Item = SimDisk> {
    let granularity = [4096, 4096, 512, 64][rng.usize(0..4)];
    let mut points = disk.crash_points(granularity);
    while points.advance().is_some() {}
    (0..count).map(move |index| {
        let choice = &mut |count| match index {
            0 => 0,
            _ => rng.usize(0..count),
        };
        let disk = SimDisk::from_image(points.power_cut(choice), CAPACITY);
        match points.log() {
            Some(log) => disk.with_log(log.power_cut(choice)),
            None => disk,
        }
    })
}

fn inspect_after_power_cut(
    disk: &SimDisk,
    script: &FaultScript,
    mut possible_states: PossibleStates,
    goes_on: bool,
) -> Result {
    let opened = testing::open(disk, &script.options(), false, OTHER_BOOT);
    let database = opened.context("opening")?;
    let possible = possible_states.after_power_cut();
    let found = expect_sound(&database, &possible)?.clone();
    possible_states.settle(found);
    if !goes_on {
        return Ok(());
    }
    commit_another(&database, &mut possible_states)?;
    let disk = disk.kill();
    drop(database);
    let opened = testing::open(&disk, &script.options(), false, OTHER_BOOT);
    let database = opened.context("opening again")?;
    // A commit that was rolled back must not reappear.
    if let recovery @ Recovery::RolledBack { .. } = database.info().recovery {
        bail!("opening again: {recovery:?}");
    }
    expect_sound(&database, &[&possible_states.acknowledged]).map(drop)
}

/// Checks a disk on which creating a database failed: there is no database, or an empty one.
pub(super) fn inspect_uncreated(episode: &mut FaultEpisode<'_>, script: &FaultScript) -> Result {
    episode.disk.heal();
    episode.position = "after creation failed".to_owned();
    let disk = episode.disk.kill();
    match testing::open(&disk, &script.options(), false, BOOT) {
        Ok(database) => expect_sound(&database, &[&Default::default()]).map(drop),
        Err(teak::Error::NotADatabase { .. }) => Ok(()),
        Err(error) => Err(failure!("opening after creation failed: {error}")),
    }
}
