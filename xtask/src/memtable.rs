//! Kills a program that makes small commits, opens its database beside it, and cuts the power.
//!
//! Such commits are in a memtable and its write-ahead log before they are in the tables
//! (`crates/teak/src/instance/memtable.rs`). After a kill, each commit that returned must be there,
//! and the table must be exactly as after the last one that is there; after a power cut, each
//! durable one. A process that opens the database while the program runs must see each commit that
//! returned before.

mod cuts;
mod damage;
mod member;

use crate::{
    Result,
    campaign::{
        CampaignArguments, ScratchArguments,
        child::{ChildProgram, own_task, wait_until},
        database::log_of,
        named,
        violations::save_database,
    },
};
use fastrand::Rng;
use member::{Expected, open, state_of};
pub(crate) use member::{SmallCommitsArguments, run as run_member};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The longest time that a program runs.
const RUN_MAX: Duration = Duration::from_millis(80);
/// How often a database is used before the next one is made.
const RUNS_MAX: u64 = 20;
/// For how many kills there is a database whose power is cut.
const KILLS_FOR_CUTS: u64 = 4;

/// Kills a program that makes small commits, opens its database beside it, and cuts the power
#[derive(clap::Args)]
pub(crate) struct MemtableArguments {
    /// Number of kills
    #[arg(long, default_value_t = 100)]
    count: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    #[command(flatten)]
    scratch: ScratchArguments,
}

#[derive(Default)]
struct MemtableTally {
    kills: u64,
    /// Kills after which commits were only in the log.
    logged: u64,
    /// Databases that were opened beside the program.
    joined: u64,
    commits: u64,
    /// Copies that were opened with damaged logs.
    damaged: u64,
    /// Databases whose power was cut again and again, and how often.
    cut_databases: u64,
    cuts: u64,
    violations: u64,
}

/// Kills and inspects as often as requested.
pub(crate) fn run(arguments: &MemtableArguments) -> Result {
    let run = arguments.campaign.begin("memtable");
    let directory = arguments.scratch.directory()?;
    let mut rng = Rng::with_seed(arguments.campaign.seed);
    let mut tally = MemtableTally::default();
    while tally.kills < arguments.count {
        let path = directory.path().join(format!("{}.teak", tally.kills));
        let mut expected = Expected::new(rng.u64(..));
        let mut log = Vec::new();
        for _ in 0..rng.u64(1..=RUNS_MAX).min(arguments.count - tally.kills) {
            tally.kills += 1;
            if let Err(failure) = kill(&path, &mut expected, &mut log, &mut rng, &mut tally) {
                tally.violations += 1;
                println!("violation at kill {}: {failure}", tally.kills);
                save_database(&path, &format!("memtable-{}.teak", tally.kills))?;
                break;
            }
        }
    }
    while tally.cut_databases * KILLS_FOR_CUTS < arguments.count {
        tally.cut_databases += 1;
        let path = directory
            .path()
            .join(format!("cut-{}.teak", tally.cut_databases));
        match cuts::commit_and_cut(&path, &mut rng) {
            Ok(cuts) => tally.cuts += cuts,
            Err(failure) => {
                tally.violations += 1;
                println!(
                    "violation in cut database {}: {failure}",
                    tally.cut_databases
                );
            }
        }
    }
    run.finish(
        (tally.kills, "kills"),
        tally.violations,
        &named([
            ("logged", tally.logged),
            ("joined", tally.joined),
            ("commits", tally.commits),
            ("damaged", tally.damaged),
            ("cuts", tally.cuts),
        ]),
        "a small commit was lost",
    )
}

/// Runs the program, kills it, and compares what it left. `older` is a log that it left before.
fn kill(
    path: &Path,
    expected: &mut Expected,
    older: &mut Vec<u8>,
    rng: &mut Rng,
    tally: &mut MemtableTally,
) -> Result {
    let mut words = own_task("small-commits")?;
    words.extend(["--path".into(), path.into(), "--seed".into()]);
    words.push(expected.seed().to_string().into());
    let begin = Instant::now();
    let program = ChildProgram::start(&words)?;
    if rng.u8(0..3) == 0 {
        join(path, &program, rng)?;
        tally.joined += 1;
    }
    wait_until(begin + RUN_MAX.mul_f64(rng.f64()));
    let ended = program.kill()?;
    ensure!(ended.was_killed(), "the program failed: {}", ended.errors);
    let returned = last_number(&ended.output).unwrap_or(expected.number());
    tally.commits += returned - expected.number();
    let log = log_of(path);
    let has_log = log.exists();
    if has_log {
        tally.damaged += damage::open_damaged(path, expected, returned, older, rng)?;
        *older = fs::read(&log)?;
    }
    let database = open(path)?;
    ensure!(!log.exists(), "opening leaves the log there");
    tally.logged += u64::from(has_log);
    expected.compare(&state_of(&database)?, returned)
}

/// Opens the database beside the running program, which continues without its memtable.
fn join(path: &Path, program: &ChildProgram, rng: &mut Rng) -> Result {
    thread::sleep(RUN_MAX.mul_f64(rng.f64() / 2.0));
    let Some(returned) = last_number(&program.output()) else {
        return Ok(());
    };
    let database = open(path)?;
    for _ in 0..rng.u8(1..4) {
        let seen = state_of(&database)?.number;
        ensure!(
            seen >= returned,
            "commit {returned} had returned, and a process that joined sees {seen}"
        );
        thread::sleep(Duration::from_millis(rng.u64(0..3)));
    }
    Ok(database.close()?)
}

/// The greatest number in whole lines.
fn last_number(output: &str) -> Option<u64> {
    let whole = &output[..output.rfind('\n')?];
    whole.lines().filter_map(|line| line.parse().ok()).max()
}
