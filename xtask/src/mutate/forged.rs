//! Lets a separate program, with the engine's assertions enabled, open forged files, and evaluates
//! its reports.

use super::{
    arguments::{MutateArguments, VIOLATIONS_PRINTED_MAX},
    processes::{self, FileLine},
};
use crate::{
    Failure, built,
    campaign::{CampaignCounts, parallel},
};
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

/// Files for each process.
const CHUNK: u64 = 500;
/// Findings of one file that are printed.
const FINDINGS_PRINTED_MAX: usize = 3;

/// The programs to run.
struct Programs {
    forged_files: PathBuf,
    teak: PathBuf,
    planted: Option<String>,
}

/// The counts of the files so far.
#[derive(Default)]
struct ForgedTally {
    files: u64,
    violations: u64,
    outcomes: BTreeMap<String, u64>,
}

/// A file that a process is opening.
struct StartedFile {
    index: u64,
    description: String,
    findings: Vec<String>,
}

/// Opens all files, in several processes in parallel.
pub(super) fn run(arguments: &MutateArguments, planted: Option<&str>) -> Result<(), Failure> {
    let programs = Programs::find(arguments, planted)?;
    let (first, end) = match arguments.forged_index {
        Some(index) => (index, index + 1),
        None => (0, arguments.forged),
    };
    let run = arguments.campaign.begin("mutate, forged");
    let tally = Mutex::new(ForgedTally::default());
    parallel::parts(first..end, CHUNK, |files| {
        open(arguments, &programs, files, &tally)
    })?;
    let (tally, seconds) = (tally.into_inner()?, run.seconds());
    for (outcome, count) in &tally.outcomes {
        println!("{outcome:<14} {count:>9}");
    }
    println!(
        "forged, seed {}: {seconds:.1} s, {:.0} files/s",
        arguments.campaign.seed,
        tally.files as f64 / seconds
    );
    let counts = CampaignCounts {
        count: tally.files,
        unit: "forged files",
        violations: tally.violations,
        counters: tally.outcomes.into_iter().collect(),
    };
    run.finish(&counts, "a forged file was not handled safely")
}

impl Programs {
    fn find(arguments: &MutateArguments, planted: Option<&str>) -> Result<Self, Failure> {
        let directory = match &arguments.programs {
            Some(directory) => directory.clone(),
            None => {
                let packages = ["--package", "forged-files", "--package", "teak-cli"];
                let mut command = built::cargo();
                let status = command.args(["build", "--quiet"]).args(packages).status()?;
                ensure!(status.success(), "forged-files cannot be built ({status})");
                built::directory("dev")?
            }
        };
        Ok(Self {
            forged_files: directory.join("forged-files"),
            teak: directory.join("teak"),
            planted: planted.map(str::to_owned),
        })
    }

    fn command(&self, arguments: &MutateArguments, from: u64) -> Command {
        let mut command = Command::new(&self.forged_files);
        command
            .args(["--seed", &arguments.campaign.seed.to_string()])
            .args(["--from", &from.to_string()])
            .stdin(Stdio::null());
        if let Some(planted) = &self.planted {
            command.args(["--planted", planted]);
        }
        command
    }
}

/// Lets a program open the files of a range, and counts them.
fn open(
    arguments: &MutateArguments,
    programs: &Programs,
    files: Range<u64>,
    tally: &Mutex<ForgedTally>,
) -> Result<(), Failure> {
    let to = files.end;
    let command = |from: u64| {
        let mut command = programs.command(arguments, from);
        command
            .args(["--to", &to.to_string()])
            .arg("--teak")
            .arg(&programs.teak);
        Ok(command)
    };
    let mut begun = None::<StartedFile>;
    processes::open(files, command, |FileLine { word, index, text }| {
        match (word, &mut begun) {
            ("begin", _) => {
                begun = Some(StartedFile {
                    index,
                    description: text.to_owned(),
                    findings: Vec::new(),
                });
            }
            ("finding", Some(begun)) => begun.findings.push(text.to_owned()),
            ("end", Some(file)) => {
                note(arguments, programs, tally, file, text)?;
                begun = None;
            }
            ("died", Some(file)) => {
                file.findings.push(text.to_owned());
                note(arguments, programs, tally, file, "not survived")?;
                begun = None;
            }
            _ => {}
        }
        Ok(())
    })
}

/// Counts a file. Prints and saves it if there are findings.
fn note(
    arguments: &MutateArguments,
    programs: &Programs,
    tally: &Mutex<ForgedTally>,
    begun: &StartedFile,
    outcome: &str,
) -> Result<(), Failure> {
    let mut tally = tally.lock()?;
    tally.files += 1;
    *tally.outcomes.entry(outcome.to_owned()).or_default() += 1;
    if begun.findings.is_empty() {
        return Ok(());
    }
    tally.violations += 1;
    if tally.violations > VIOLATIONS_PRINTED_MAX {
        return Ok(());
    }
    let StartedFile {
        index, description, ..
    } = begun;
    let path = save(arguments, programs, *index)?;
    println!("violation: {description}");
    for finding in begun.findings.iter().take(FINDINGS_PRINTED_MAX) {
        println!("  {finding}");
    }
    println!(
        "  repeat it with: cargo xtask mutate --seed {} --forged-index {index}\n  the file: {}",
        arguments.campaign.seed,
        path.display()
    );
    Ok(())
}

fn save(arguments: &MutateArguments, programs: &Programs, index: u64) -> Result<PathBuf, Failure> {
    let path = arguments.kept_file(&format!("forged-{}-{index}.teak", arguments.campaign.seed))?;
    let status = write(arguments, programs, index, &path)?;
    match status {
        true => Ok(path),
        false => Err(failure!("a forged file cannot be written")),
    }
}

fn write(
    arguments: &MutateArguments,
    programs: &Programs,
    index: u64,
    path: &Path,
) -> Result<bool, Failure> {
    let mut command = programs.command(arguments, index);
    command.arg("--write").arg(path).stdout(Stdio::null());
    Ok(command.status()?.success())
}
