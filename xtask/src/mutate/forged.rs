//! Has forged files opened by a program of its own, in which the engine's assertions are on, and learns what became of them.

use super::{MutateArguments, VIOLATIONS_TOLD_MAX};
use crate::{Failure, built, results, scratch, threads};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Files that a process is given at once.
const CHUNK: u64 = 500;
/// Findings of one file that are told.
const FINDINGS_TOLD_MAX: usize = 3;

/// The programs that are run.
struct Programs {
    forged_files: PathBuf,
    teak: PathBuf,
    planted: Option<String>,
}

/// What came of the files so far.
#[derive(Default)]
struct ForgedTally {
    files: u64,
    violations: u64,
    outcomes: BTreeMap<String, u64>,
}

/// A file at which a process is.
struct StartedFile {
    index: u64,
    what: String,
    findings: Vec<String>,
}

/// Opens all files, in several processes at once.
pub(super) fn run(arguments: &MutateArguments, planted: Option<&str>) -> Result<(), Failure> {
    let programs = Programs::find(arguments, planted)?;
    let (first, end) = match arguments.forged_index {
        Some(index) => (index, index + 1),
        None => (0, arguments.forged),
    };
    let next = AtomicU64::new(first);
    let tally = Mutex::new(ForgedTally::default());
    let begin = Instant::now();
    let open_all = || -> Result<(), Failure> {
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= end {
                return Ok(());
            }
            open(arguments, &programs, from, end.min(from + CHUNK), &tally)?;
        }
    };
    threads::share(open_all)?;
    finish(arguments, &tally.into_inner()?, begin)
}

impl Programs {
    fn find(arguments: &MutateArguments, planted: Option<&str>) -> Result<Self, Failure> {
        let directory = match &arguments.programs {
            Some(directory) => directory.clone(),
            None => {
                let mut command = built::cargo();
                command.args([
                    "build",
                    "--quiet",
                    "--package",
                    "forged-files",
                    "--package",
                    "teak-cli",
                ]);
                let status = command.status()?;
                if !status.success() {
                    return Err(Failure(format!("forged-files cannot be built ({status})")));
                }
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
            .args(["--seed", &arguments.seed.to_string()])
            .args(["--from", &from.to_string()])
            .stdin(Stdio::null());
        if let Some(planted) = &self.planted {
            command.args(["--planted", planted]);
        }
        command
    }
}

/// Has the files from one index up to another opened. Another process goes on where one has died.
fn open(
    arguments: &MutateArguments,
    programs: &Programs,
    from: u64,
    to: u64,
    tally: &Mutex<ForgedTally>,
) -> Result<(), Failure> {
    let mut next = from;
    while next < to {
        let mut child = programs
            .command(arguments, next)
            .args(["--to", &to.to_string()])
            .arg("--teak")
            .arg(&programs.teak)
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut begun, mut is_slow) = (None::<StartedFile>, false);
        let output = child.stdout.take();
        for line in output
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines())
        {
            let line = line?;
            let mut words = line.splitn(3, ' ');
            let word = words.next().unwrap_or_default();
            let index = words.next().and_then(|index| index.parse().ok());
            let rest = words.next().unwrap_or_default().to_owned();
            match (word, index, &mut begun) {
                ("begin", Some(index), _) => {
                    begun = Some(StartedFile {
                        index,
                        what: rest,
                        findings: Vec::new(),
                    });
                }
                ("finding", Some(_), Some(begun)) => begun.findings.push(rest),
                ("slow", ..) => is_slow = true,
                ("end", ..) => {
                    if let Some(begun) = begun.take() {
                        note(arguments, programs, tally, &begun, &rest)?;
                    }
                }
                _ => {}
            }
        }
        let status = child.wait()?;
        if status.success() {
            break;
        }
        let Some(mut begun) = begun else {
            return Err(Failure(format!("a process opens no files ({status})")));
        };
        begun.findings.push(match is_slow {
            true => "it takes too long".to_owned(),
            false => format!("the process died: {status}"),
        });
        note(arguments, programs, tally, &begun, "not survived")?;
        next = begun.index + 1;
    }
    Ok(())
}

/// Counts a file; tells of it and keeps it if there is anything to tell.
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
    if tally.violations > VIOLATIONS_TOLD_MAX {
        return Ok(());
    }
    let StartedFile { index, what, .. } = begun;
    let path = keep(arguments, programs, *index)?;
    println!("violation: {what}");
    for finding in begun.findings.iter().take(FINDINGS_TOLD_MAX) {
        println!("  {finding}");
    }
    println!(
        "  repeat it with: cargo xtask mutate --seed {} --forged-index {index}\n  the file: {}",
        arguments.seed,
        path.display()
    );
    Ok(())
}

fn keep(arguments: &MutateArguments, programs: &Programs, index: u64) -> Result<PathBuf, Failure> {
    let directory = match &arguments.keep {
        Some(directory) => directory.clone(),
        None => scratch::workspace().join("target/mutated"),
    };
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("forged-{}-{index}.teak", arguments.seed));
    let status = write(arguments, programs, index, &path)?;
    match status {
        true => Ok(path),
        false => Err(Failure("a forged file cannot be written".to_owned())),
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

fn finish(arguments: &MutateArguments, tally: &ForgedTally, begin: Instant) -> Result<(), Failure> {
    let seconds = begin.elapsed().as_secs_f64();
    let (files, violations) = (tally.files, tally.violations);
    for (outcome, count) in &tally.outcomes {
        println!("{outcome:<14} {count:>9}");
    }
    println!(
        "forged, seed {}: {seconds:.1} s, {:.0} files/s",
        arguments.seed,
        files as f64 / seconds
    );
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "mutate, forged",
            seed: arguments.seed,
            count: files,
            violations,
            counters: tally.outcomes.clone().into_iter().collect(),
            commit: results::commit(),
        },
    )?;
    println!("{files} forged files, {violations} violations");
    match violations {
        0 => Ok(()),
        _ => Err(Failure("a forged file was not survived".to_owned())),
    }
}
