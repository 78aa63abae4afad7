//! Shows that the campaigns find violations: each plantable error is planted in the engine, and a
//! campaign must find it.
//!
//! Every campaign runs in a process with the error planted, until it prints its first violation.
//! The amounts are below those of continuous integration, which therefore finds the same errors.

use crate::{
    Result,
    campaign::{Campaign, named, parallel},
};
use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use teak::testing::Planted;

/// The campaigns for errors in writing, the quick ones first.
const CAMPAIGNS: &[&str] = &[
    "crash --images 3000 --seed 1",
    "faults --count 1500 --seed 1",
    "crash --images 12000 --seed 2",
    "crash --images 6000 --seed 3 --workload flush",
    "crash --images 12000 --seed 3 --workload faults",
    "crash --images 12000 --seed 5 --workload named",
    "crash --images 30000 --seed 6 --workload shared",
    "faults --count 6000 --seed 2",
    "crash --images 60000 --seed 4",
];

/// The only campaign with several processes that outlive each other, and so the only one for errors
/// in how processes track each other.
const STORM: &[&str] = &["storm --seconds 20 --seed 1 --meddle"];

/// The campaigns with programs that are killed with commits in their memtable, and with readers of
/// it.
const MEMTABLE: &[&str] = &[
    "memtable --count 100 --seed 1",
    "memtable --count 200 --seed 2",
];

/// The campaign with crash images of the log of the memtable.
const LOG: &[&str] = &["crash --images 30000 --seed 1 --workload small"];

/// The campaigns for errors in reading hostile files.
const HOSTILE_CAMPAIGNS: &[&str] = &["mutate --files 0 --forged 1500 --seed 1"];

/// The campaigns that should find an error, in order: first the one that finds it soonest, if most
/// others do not.
fn campaigns(error: Planted) -> impl Iterator<Item = &'static str> {
    let all = match error {
        Planted::CheckNewest => HOSTILE_CAMPAIGNS,
        Planted::LocksOfProcess => STORM,
        Planted::LogIgnored
        | Planted::MemtableUnlogged
        | Planted::LogFollowsAny
        | Planted::LogUnflushed
        | Planted::LogReused => LOG,
        Planted::SharedMemtable | Planted::SeeLater | Planted::PartUnnamed => MEMTABLE,
        _ => CAMPAIGNS,
    };
    let soonest = match error {
        Planted::EntryOfOld => Some("crash --images 4000 --seed 4 --workload shared"),
        Planted::EntryOfOwn => Some("crash --images 12000 --seed 2"),
        Planted::FreePrepared | Planted::AdmitWriters => {
            Some("crash --images 12000 --seed 5 --workload named")
        }
        Planted::FreeAcknowledged | Planted::PunchPending => {
            Some("crash --images 6000 --seed 3 --workload flush")
        }
        Planted::FreeDropped => Some("crash --images 12000 --seed 2 --workload named"),
        Planted::LogReused => Some("crash --images 30000 --seed 3 --workload small"),
        Planted::RedoDead => Some("crash --images 30000 --seed 1 --workload journal"),
        _ => None,
    };
    soonest.into_iter().chain(all.iter().copied())
}

/// A campaign that takes longer counts as hung.
const TIME_MAX: Duration = Duration::from_secs(180);

/// Plants errors in the engine, one after the other, and lets the campaigns find them
#[derive(clap::Args)]
pub(crate) struct TeethArguments {
    /// Only plant this error
    #[arg(long)]
    only: Option<String>,
    /// The directory of the programs `forged-files` and `teak`; they are built if it is not given
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Append a line of results to this file
    #[arg(long)]
    results: Option<PathBuf>,
}

/// The result of a campaign.
enum CampaignOutcome {
    Nothing,
    /// The violation that it printed.
    Violation(String),
    Hung,
}

/// Plants all errors.
pub(crate) fn run(arguments: &TeethArguments) -> Result {
    let wanted = |error: &&Planted| match &arguments.only {
        Some(name) => error.name() == name,
        None => true,
    };
    let errors: Vec<&Planted> = Planted::ALL.iter().filter(wanted).collect();
    ensure!(!errors.is_empty(), "there is no such plantable error");
    let run = Campaign::begin("teeth", 0, arguments.results.as_deref());
    let missed = Mutex::new(Vec::new());
    parallel::each(&errors, |error| {
        if !find(arguments, **error)? {
            missed.lock()?.push(error.name());
        }
        Ok(())
    })?;
    let missed = missed.into_inner()?;
    let failure = format!("no campaign found {}", missed.join(", "));
    run.finish(
        (errors.len() as u64, "planted errors"),
        missed.len() as u64,
        &named([("found", (errors.len() - missed.len()) as u64)]),
        &failure,
    )
}

/// Whether a campaign finds the error.
fn find(arguments: &TeethArguments, error: Planted) -> Result<bool> {
    let begin = Instant::now();
    let report = |by: &str, text: &str| {
        let (name, seconds) = (error.name(), begin.elapsed().as_secs_f64());
        println!("{name:<22} {seconds:>5.1} s  {by}: {text}");
    };
    for campaign in campaigns(error) {
        match run_campaign(arguments, error, campaign)? {
            CampaignOutcome::Nothing => {}
            CampaignOutcome::Hung => {
                report(campaign, "it hangs");
                return Ok(true);
            }
            CampaignOutcome::Violation(text) => {
                report(campaign, &text.chars().take(110).collect::<String>());
                return Ok(true);
            }
        }
    }
    report("all", "NOT FOUND");
    println!("  {}", error.does());
    Ok(false)
}

/// Runs a campaign until it prints a violation.
fn run_campaign(
    arguments: &TeethArguments,
    error: Planted,
    campaign: &str,
) -> Result<CampaignOutcome> {
    let programs = arguments.programs.iter();
    let programs = programs.filter(|_| campaign.contains("--forged"));
    let mut child = Command::new(env::current_exe()?)
        .args(["--planted", error.name()])
        .args(campaign.split(' '))
        .args(programs.flat_map(|directory| [OsStr::new("--programs"), directory.as_os_str()]))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let outcome = listen(&mut child);
    child.kill()?;
    let status = child.wait()?;
    match outcome {
        // It may have died before it printed the violation.
        CampaignOutcome::Nothing if status.code().is_none() => Ok(CampaignOutcome::Violation(
            format!("the process died: {status}"),
        )),
        outcome => Ok(outcome),
    }
}

fn listen(child: &mut Child) -> CampaignOutcome {
    let (sender, receiver) = mpsc::channel();
    let output = child.stdout.take();
    thread::spawn(move || {
        let lines = output
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + TIME_MAX;
    loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.starts_with("violation") => return CampaignOutcome::Violation(line),
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => return CampaignOutcome::Hung,
            Err(RecvTimeoutError::Disconnected) => return CampaignOutcome::Nothing,
        }
    }
}
