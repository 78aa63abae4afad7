//! Lets a separate program, with the engine's assertions enabled, open forged files, and evaluates
//! its reports.

use super::{
    arguments::{MutateArguments, VIOLATIONS_PRINTED_MAX},
    processes::{self, FileLine},
};
use crate::{Result, built, campaign::parallel, commands};
use std::{
    collections::BTreeMap,
    ops::Range,
    path::PathBuf,
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
pub(super) fn run(arguments: &MutateArguments, planted: Option<&str>) -> Result {
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
    let tally = tally.into_inner()?;
    let outcomes = tally.outcomes.into_iter().collect();
    run.print_counters(&outcomes);
    run.print_rate(", forged", tally.files, "files");
    run.finish(
        (tally.files, "forged files"),
        tally.violations,
        &outcomes,
        "a forged file was not handled safely",
    )
}

impl Programs {
    fn find(arguments: &MutateArguments, planted: Option<&str>) -> Result<Self> {
        let directory = match &arguments.programs {
            Some(directory) => directory.clone(),
            None => {
                let packages = ["--package", "forged-files", "--package", "teak-cli"];
                commands::run(built::cargo().args(["build", "--quiet"]).args(packages))?;
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
) -> Result {
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
) -> Result {
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

fn save(arguments: &MutateArguments, programs: &Programs, index: u64) -> Result<PathBuf> {
    let path = arguments.kept_file(&format!("forged-{}-{index}.teak", arguments.campaign.seed))?;
    let mut command = programs.command(arguments, index);
    commands::output(command.arg("--write").arg(&path))?;
    Ok(path)
}
