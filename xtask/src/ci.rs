//! All steps of continuous integration in one command. Each step is named, printed and timed. Those
//! that build come first, one after the other; then two at a time run, since most of these use
//! little more than one processor.

use crate::{Result, built, campaign::scratch};
use std::{
    env,
    fs::File,
    io::{self, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

struct CiStep {
    name: &'static str,
    /// The command line, with spaces between its words.
    command: &'static str,
    environment: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, command: &'static str) -> CiStep {
    CiStep {
        name,
        command,
        environment: &[],
    }
}

/// A temporary directory for the files of a step.
const SCRATCH: &str = "SCRATCH";
/// The output directory of the tests. It also has programs that would need another build of the
/// engine as packages of their own.
const BUILT: &str = "BUILT";

/// The steps that build, and cheap ones. The cheapest come first.
const STEPS: &[CiStep] = &[
    step("format", "cargo fmt --all --check"),
    step("layers", "cargo xtask layers"),
    step("size", "cargo xtask size"),
    step("public surface", "cargo xtask api"),
    step("style", "cargo xtask style"),
    step("header of the C interface", "cargo xtask header --check"),
    step(
        "lints",
        "cargo clippy --workspace --all-targets --features teak-bench/space-map -- -D warnings",
    ),
    step(
        "tests",
        "cargo test --workspace --exclude interleavings --exclude xtask --features teak-bench/space-map --no-fail-fast",
    ),
    step(
        "lints of optional features",
        "cargo clippy --package teak --lib --test features --all-features -- -D warnings",
    ),
    step(
        "optional features",
        "cargo test --package teak --all-features --test features --test derive",
    ),
    step(
        "examples of optional features",
        "cargo test --package teak --all-features --doc -- codec stream",
    ),
    // The packages and features of the step "tests", whose programs it runs again.
    CiStep {
        environment: &[("TEAK_TEST_PAGE_LEN", "16384")],
        ..step(
            "larger pages of the system",
            "cargo test --workspace --exclude interleavings --exclude xtask --features teak-bench/space-map --lib --test main -- io:: holes:: limits:: locks::",
        )
    },
    // Uses the profile that this program was built with.
    step(
        "tests of campaigns",
        "cargo test --profile campaign --package xtask --no-fail-fast",
    ),
    step(
        "interleavings",
        "cargo test --profile campaign --package interleavings --lib",
    ),
    CiStep {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..step("documentation", "cargo doc --workspace --no-deps")
    },
    // Not of the workspace: features of the benchmarks need libraries of other engines.
    CiStep {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..step(
            "all features",
            "cargo doc --package teak --package teak-foreign --all-features --no-deps",
        )
    },
    step("packages", "cargo xtask package"),
    step(
        "installed for C, C++",
        "cargo xtask install-c --profile dev --no-build --prefix SCRATCH/installed --try",
    ),
    step(
        "installed as LevelDB",
        "cargo xtask install-leveldb --profile dev --no-build --prefix SCRATCH/leveldb --try",
    ),
    step(
        "ports",
        "cargo xtask ports --short --today plain check musl arm64 wasm",
    ),
    step("Java", "cargo xtask java"),
];

/// Steps that run at the same time as others. Those that take longest come first.
const PARALLEL_STEPS: &[CiStep] = &[
    step("instructions", "cargo xtask instructions"),
    step(
        "mutate",
        "cargo xtask mutate --files 12000 --forged 3000 --seed 1 --programs BUILT",
    ),
    step("teeth", "cargo xtask teeth --programs BUILT"),
    step(
        "documentation for C",
        "cargo xtask docs-c --directory SCRATCH/docs-c",
    ),
    step("model", "cargo xtask model --ops 250000 --seed 1"),
    step(
        "model, encrypted",
        "cargo xtask model --ops 60000 --seed 1 --encrypted",
    ),
    step(
        "model, compressed",
        "cargo xtask model --ops 40000 --seed 1 --compressed",
    ),
    step(
        "model, expiring",
        "cargo xtask model --ops 100000 --seed 1 --expiring",
    ),
    step("protocol", "cargo xtask protocol --commits 3 --mishaps 2"),
    step(
        "protocol of the memtable",
        "cargo xtask protocol memtable --commits 3 --mishaps 2",
    ),
    step(
        "kill",
        "cargo xtask kill --count 200 --seed 1 --program BUILT/teak",
    ),
    step(
        "storm",
        "cargo xtask storm --seconds 30 --seed 1 --fork --meddle",
    ),
    step("memtable", "cargo xtask memtable --count 150 --seed 1"),
    step("crash", "cargo xtask crash --images 120000 --seed 1"),
    step(
        "crash, encrypted",
        "cargo xtask crash --images 8000 --seed 1 --encrypted",
    ),
    step(
        "crash, compressed",
        "cargo xtask crash --images 6000 --seed 1 --compressed",
    ),
    step(
        "crash, expiring",
        "cargo xtask crash --images 4000 --seed 1 --workload expiring",
    ),
    step("faults", "cargo xtask faults --count 10000 --seed 1"),
    step(
        "faults, encrypted",
        "cargo xtask faults --count 1500 --seed 1 --encrypted",
    ),
    step(
        "faults, compressed",
        "cargo xtask faults --count 1000 --seed 1 --compressed",
    ),
    step(
        "mutate, encrypted",
        "cargo xtask mutate --files 0 --forged 0 --flips 8000 --encrypted 8000 --seed 1",
    ),
    step(
        "limits",
        "cargo xtask limits --count 40 --seed 1 --program BUILT/teak",
    ),
    step("power cuts", "cargo xtask power --cycles 50 --seed 1"),
    step(
        "other engines",
        "cargo xtask peers --images 1000 --seed 1 --program BUILT/crash-peers",
    ),
    step(
        "differential",
        "cargo xtask differential --ops 200000 --seed 1 --program BUILT/differential",
    ),
    step(
        "LevelDB, compared",
        "cargo xtask leveldb-differential --ops 250000 --seed 1 --library BUILT/../tmp/leveldb/libleveldb.so.1d --program BUILT/leveldb-differential",
    ),
    step(
        "LevelDB, killed",
        "cargo xtask leveldb-kill --count 150 --seed 1 --library BUILT/../tmp/leveldb/libleveldb.so.1d",
    ),
    step(
        "LevelDB, power cuts",
        "cargo xtask power --leveldb --cycles 20 --seed 1 --library BUILT/../tmp/leveldb/libleveldb.so.1d",
    ),
    step(
        "LevelDB, damaged",
        "cargo xtask mutate --files 0 --forged 0 --leveldb 8000 --seed 1 --library BUILT/../tmp/leveldb/libleveldb.so.1d",
    ),
    step(
        "clients of LMDB",
        "cargo xtask lmdb-clients --client own --client lmdb-rkv --client lmdbjava --client lmdb-js --client postfix --client ldb --client powerdns --library BUILT/deps/liblmdb.so",
    ),
    step(
        "clients of LevelDB",
        "cargo xtask leveldb-clients --client own --client plyvel --client crate --client litecoin --library SCRATCH/leveldb/lib/libleveldb.so.1d --teak BUILT/teak",
    ),
    step(
        "quick start",
        "BUILT/examples/quick_start SCRATCH/quick-start.teak",
    ),
    step(
        "secondary index",
        "BUILT/examples/secondary_index SCRATCH/secondary-index.teak",
    ),
    step(
        "job queue",
        "BUILT/examples/job_queue SCRATCH/job-queue.teak",
    ),
    step(
        "full-text search",
        "BUILT/examples/full_text_search SCRATCH/full-text-search.teak",
    ),
    step(
        "time series",
        "BUILT/examples/time_series SCRATCH/time-series.teak",
    ),
    step("coins", "BUILT/examples/coins SCRATCH/coins.teak"),
    step("benchmark", "BUILT/teak-bench quick --records 2000"),
];

/// How many steps run at the same time.
const PARALLEL_MAX: usize = 2;

/// Runs every step, even after a failure, so that one run shows all failures.
pub(crate) fn run() -> Result {
    let scratch = scratch::directory(None)?;
    let ci = CiProgress {
        // Looked up before a step can rebuild this program.
        this: env::current_exe()?,
        built: built::directory("dev")?,
        scratch: scratch.path(),
        outcomes: Mutex::default(),
    };
    let begin = Instant::now();
    for step in STEPS {
        println!("\n==> {}: {}", step.name, step.command);
        ci.note(step, OutputShown::AtOnce);
    }
    let waiting = Mutex::new(PARALLEL_STEPS.iter());
    thread::scope(|scope| {
        for _ in 0..PARALLEL_MAX {
            scope.spawn(|| {
                loop {
                    let next = { waiting.lock().unwrap_or_else(PoisonError::into_inner) }.next();
                    let Some(step) = next else {
                        return;
                    };
                    println!("\n==> {} begins: {}", step.name, step.command);
                    ci.note(step, OutputShown::AtItsEnd);
                }
            });
        }
    });
    ci.summary(begin)
}

/// A run of all steps.
struct CiProgress<'s> {
    /// This program.
    this: PathBuf,
    built: PathBuf,
    scratch: &'s Path,
    outcomes: Mutex<Vec<CiOutcome>>,
}

/// The outcome of a step.
struct CiOutcome {
    name: &'static str,
    time: Duration,
    is_success: bool,
    output: PathBuf,
}

/// When the output of a step is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputShown {
    AtOnce,
    /// Steps at the same time would mix theirs.
    AtItsEnd,
}

/// How much of the output of a step that failed is shown once more after all steps, in bytes.
const SHOWN_AGAIN: u64 = 6000;

impl CiProgress<'_> {
    /// Runs a step, and notes and prints its outcome.
    fn note(&self, step: &CiStep, shown: OutputShown) {
        let begin = Instant::now();
        let output = self.scratch.join(format!("{}.output", step.name));
        let ended = step.run(self, &output, shown);
        let time = begin.elapsed();
        // One step at a time prints.
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        if shown == OutputShown::AtItsEnd {
            println!("\n==> {}", step.name);
            show(&output, u64::MAX);
        }
        let is_success = ended.unwrap_or_else(|failure| {
            println!("    {}: {failure}", step.name);
            false
        });
        println!(
            "    {}: {} after {}",
            step.name,
            if is_success { "passed" } else { "FAILED" },
            seconds(time)
        );
        outcomes.push(CiOutcome {
            name: step.name,
            time,
            is_success,
            output,
        });
    }

    /// Prints the times of all steps, and fails if one has failed.
    fn summary(&self, begin: Instant) -> Result {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        println!();
        for outcome in outcomes.iter() {
            println!("{:<20} {:>9}", outcome.name, seconds(outcome.time));
        }
        let total = seconds(begin.elapsed());
        let failed = || outcomes.iter().filter(|outcome| !outcome.is_success);
        for outcome in failed() {
            println!("\n==> {} FAILED; the end of its output:", outcome.name);
            show(&outcome.output, SHOWN_AGAIN);
        }
        let failed: Vec<&str> = failed().map(|outcome| outcome.name).collect();
        if failed.is_empty() {
            println!("ci: all {} steps passed in {total}", outcomes.len());
            return Ok(());
        }
        println!(
            "ci: {} of {} steps FAILED in {total}: {}",
            failed.len(),
            outcomes.len(),
            failed.join(", ")
        );
        Err(failure!("not all steps passed"))
    }
}

impl CiStep {
    /// Runs the step. Its output goes to this file.
    fn run(&self, ci: &CiProgress<'_>, output: &Path, shown: OutputShown) -> Result<bool> {
        let substitutions = [(SCRATCH, ci.scratch), (BUILT, &ci.built)];
        let mut words = self.command.split(' ').map(|word| {
            let substitution = substitutions
                .iter()
                .find(|(name, _)| word.starts_with(name));
            match substitution {
                Some((name, path)) => word.replacen(name, &path.display().to_string(), 1),
                None => word.to_owned(),
            }
        });
        let program = words.next().unwrap_or_default();
        let mut words = words.peekable();
        let mut command = match program.as_str() {
            "cargo" if words.next_if(|word| word == "xtask").is_some() => Command::new(&ci.this),
            "cargo" => built::cargo(),
            program => Command::new(program),
        };
        let file = File::create(output)?;
        command.stdout(file.try_clone()?).stderr(file);
        let mut child = command
            .args(words)
            .envs(self.environment.iter().copied())
            // Incremental compilation would slow down this build and speed up only the next one.
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(built::workspace())
            .spawn()?;
        // A pipe would stay open as long as any program that the step started and did not end.
        let mut output = File::open(output)?;
        loop {
            let ended = child.try_wait()?;
            if shown == OutputShown::AtOnce {
                io::copy(&mut output, &mut io::stdout().lock())?;
            }
            if let Some(status) = ended {
                return Ok(status.success());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Prints the end of the output of a step, whose outcome counts whether or not that works.
fn show(output: &Path, most: u64) {
    let print = || -> io::Result<()> {
        let mut output = File::open(output)?;
        let start = output.metadata()?.len().saturating_sub(most);
        output.seek(SeekFrom::Start(start))?;
        io::copy(&mut output, &mut io::stdout().lock()).map(drop)
    };
    if let Err(error) = print() {
        println!("the output cannot be shown: {error}");
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_writes_its_output_to_a_file_and_fails_if_its_program_does() {
        let scratch = scratch::directory(None).expect("a directory");
        let ci = CiProgress {
            this: PathBuf::new(),
            built: PathBuf::from("/bin"),
            scratch: scratch.path(),
            outcomes: Mutex::default(),
        };
        for shown in [OutputShown::AtOnce, OutputShown::AtItsEnd] {
            ci.note(&step("speaks", "BUILT/echo two words"), shown);
            ci.note(&step("fails", "BUILT/ls SCRATCH/absent"), shown);
            ci.note(&step("is missing", "SCRATCH/absent"), shown);
        }
        let outcomes = ci.outcomes.lock().expect("no panic");
        let successes = outcomes.iter().map(|outcome| outcome.is_success);
        let each = [true, false, false];
        assert!(successes.eq(each.into_iter().chain(each)));
        let output = |outcome: &CiOutcome| std::fs::read_to_string(&outcome.output);
        assert_eq!(output(&outcomes[0]).expect("a file"), "two words\n");
        let errors = output(&outcomes[1]).expect("a file");
        assert!(errors.contains("absent"), "{errors}");
        drop(outcomes);
        let failure = ci.summary(Instant::now());
        assert!(failure.is_err(), "a step has failed");
    }
}
