//! Power cuts of a real file system: a loop-mounted ext4 or xfs is shut down under one or several
//! programs that commit to a database, mounted again, and the database is inspected.
//!
//! The shut-down is a function of the file system (`FS_IOC_SHUTDOWN`). Nothing reaches the disk
//! after it, so the next mount finds the state of a machine that lost its power at that time.
//! Before the shut-down, some random pages of the database are written back, as the system might
//! have done. Reordering and tearing by the disk's own cache are not covered here; the simulated
//! disk covers them.
//!
//! All mounts are made in a mount namespace of this program, and disappear with it. In this
//! namespace, the machine's boot id changes after each cut.

mod boot;
mod disk;
mod leveldb;
mod programs;
mod scenario;
mod tally;

use crate::{
    Failure, Result,
    campaign::{CampaignArguments, ScratchArguments},
    commands,
    names::Named,
};
use boot::BootIdFile;
use disk::{Filesystem, PowerDisk};
use fastrand::Rng;
use scenario::PowerScenario;
use std::{env, path::PathBuf, process::Command, time::Instant};
use tally::PowerTally;

/// Shuts a file system down under committing programs, and checks the databases
#[derive(clap::Args)]
pub(crate) struct PowerArguments {
    /// Number of power cuts, over all file systems
    #[arg(long, default_value_t = 100)]
    cycles: u64,
    /// The file system; both in turn if it is not given
    #[arg(long, value_enum)]
    filesystem: Option<Filesystem>,
    /// The usual number of programs that commit to a database; drawn from one to three for each
    /// database if it is not given
    #[arg(long)]
    processes: Option<usize>,
    #[command(flatten)]
    campaign: CampaignArguments,
    #[command(flatten)]
    scratch: ScratchArguments,
    /// A program writes through the library with LevelDB's interface
    #[arg(long, conflicts_with = "processes")]
    leveldb: bool,
    /// That library; built if it is not given
    #[arg(long, requires = "leveldb")]
    library: Option<PathBuf>,
    /// Mounts are already private to this program
    #[arg(long, hide = true)]
    inside: bool,
}

/// Cuts and inspects as often as requested.
pub(crate) fn run(arguments: &PowerArguments) -> Result {
    if !arguments.inside {
        return match why_not(arguments) {
            None => run_inside(),
            Some(reason) => {
                skip(&reason);
                Ok(())
            }
        };
    }
    let run = arguments.campaign.begin(match arguments.leveldb {
        true => "power-leveldb",
        false => "power",
    });
    let scratch = arguments.scratch.directory()?;
    let program = match arguments.leveldb {
        true => Some(leveldb::program(
            arguments.library.as_deref(),
            scratch.path(),
        )?),
        false => None,
    };
    let boot = match BootIdFile::begin(scratch.path()) {
        Ok(boot) => boot,
        Err(Failure(text)) => {
            skip(&format!(
                "the boot id cannot be replaced on this machine: {text}"
            ));
            return Ok(());
        }
    };
    let filesystems = arguments.filesystems();
    let mut tally = PowerTally::default();
    let mut skipped = Vec::new();
    for (index, &filesystem) in (1..).zip(&filesystems) {
        let cuts_max = arguments.cycles * index / filesystems.len() as u64;
        let disk = PowerDisk::make(filesystem, scratch.path()).and_then(|mut disk| {
            disk.prove()?;
            Ok(disk)
        });
        match disk {
            Ok(mut disk) => match &program {
                None => cut_all(arguments, &mut disk, &boot, cuts_max, &mut tally)?,
                Some(program) => {
                    let numbers = (arguments.campaign.seed, cuts_max);
                    leveldb::cut_all(program, &mut disk, &boot, numbers, &mut tally)?;
                }
            },
            Err(Failure(text)) => {
                println!("NOT DONE: power cuts of {}: {text}", filesystem.name());
                skipped.push(format!("{}: {text}", filesystem.name()));
            }
        }
    }
    if skipped.len() == filesystems.len() {
        skip(&skipped.join("; "));
        return Ok(());
    }
    tally.finish(&run)
}

/// Prints that nothing was tested.
fn skip(reason: &str) {
    println!("NOT DONE: power cuts of a real file system");
    println!("0 power cuts, skipped: {reason}");
}

fn cut_all(
    arguments: &PowerArguments,
    disk: &mut PowerDisk,
    boot: &BootIdFile,
    cuts_max: u64,
    tally: &mut PowerTally,
) -> Result {
    let begin = Instant::now();
    let cuts_before = tally.cuts;
    let name = disk.filesystem().name();
    let mut rng = Rng::with_seed(arguments.campaign.seed ^ disk.filesystem() as u64);
    for scene_number in 0.. {
        if tally.cuts >= cuts_max {
            break;
        }
        let mut scenario = arguments.scenario(disk, boot, &mut rng, scene_number);
        let cuts = rng.u64(1..8).min(cuts_max - tally.cuts);
        for cut in 1..=cuts {
            tally.cuts += 1;
            let must_inspect = cut == cuts;
            match scenario.cut(&mut rng, must_inspect)? {
                Ok(outcome) => tally.note(outcome),
                Err(text) => {
                    tally.violations += 1;
                    println!("violation at power cut {} of {name}: {text}", tally.cuts);
                    scenario.report(tally.cuts)?;
                    println!(
                        "  about the same cuts, depending on the machine's timing: cargo xtask power \
                         --cycles {} --filesystem {name} --seed {}{}",
                        tally.cuts - cuts_before,
                        arguments.campaign.seed,
                        arguments.processes_in_words()
                    );
                    break;
                }
            }
        }
        scenario.end();
    }
    let cuts = tally.cuts - cuts_before;
    let rate = cuts as f64 / begin.elapsed().as_secs_f64();
    println!("{name}: {cuts} power cuts, {rate:.1} cuts/s");
    Ok(())
}

impl PowerArguments {
    /// A database, and the programs that commit to it.
    fn scenario<'d>(
        &self,
        disk: &'d mut PowerDisk,
        boot: &'d BootIdFile,
        rng: &mut Rng,
        number: u64,
    ) -> PowerScenario<'d> {
        let processes = match self.processes {
            Some(processes) => processes..=processes,
            None if rng.bool() => 1..=1,
            None => 2..=3,
        };
        PowerScenario::new(disk, boot, rng, number, processes)
    }

    fn processes_in_words(&self) -> String {
        let given = self.processes;
        given.map_or(String::new(), |processes| {
            format!(" --processes {processes}")
        })
    }

    fn filesystems(&self) -> Vec<Filesystem> {
        match self.filesystem {
            Some(filesystem) => vec![filesystem],
            None => vec![Filesystem::Ext4, Filesystem::Xfs],
        }
    }
}

/// The program that starts another one with private mounts.
const UNSHARE: [&str; 4] = ["unshare", "--mount", "--propagation", "private"];

/// The reason why power cannot be cut on this machine, if it is known in advance.
fn why_not(arguments: &PowerArguments) -> Option<String> {
    for filesystem in arguments.filesystems() {
        for program in [filesystem.maker(), "xfs_io", "mount", "umount"] {
            if !commands::is_there(program, "-V") {
                return Some(format!(
                    "{program} cannot be started; install xfsprogs, e2fsprogs and mount"
                ));
            }
        }
    }
    let mut unshare = Command::new(UNSHARE[0]);
    let unshared = commands::output(unshare.args(&UNSHARE[1..]).arg("true"));
    let Failure(text) = unshared.err()?;
    Some(format!(
        "private mounts are refused; they require root: {text}"
    ))
}

/// Runs this program once more, with private mounts.
fn run_inside() -> Result {
    let mut again = Command::new(UNSHARE[0]);
    again.args(&UNSHARE[1..]).arg(env::current_exe()?);
    commands::run(again.args(env::args_os().skip(1)).arg("--inside"))
}
