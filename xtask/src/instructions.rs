//! How many instructions and cache misses Teak's hot paths take, which does not depend on how busy
//! a machine is: `crates/hot-paths` runs under callgrind, which counts what is executed and
//! simulates the same caches everywhere.
//!
//! The last figures are in the repository. A commit that costs more fails unless it includes the
//! new figures.

use crate::{Failure, built, campaign::scratch};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Counts instructions and cache misses of the engine's hot paths, and compares them with what is
/// recorded
#[derive(clap::Args)]
pub(crate) struct InstructionsArguments {
    /// Record what is found instead of comparing it
    #[arg(long)]
    accept: bool,
    /// The program `hot-paths`, if it is not to be built
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

const RECORDED: &str = "docs/results/instructions.tsv";
const HEADER: &str = "path\tinstructions\tmisses";
const PATHS: [&str; 10] = [
    "lookup",
    "get_many",
    "begin_lookup_end",
    "scan",
    "detached_scan",
    "insert_batch",
    "bulk_load",
    "bulk_load_unsorted",
    "lazy_commit",
    "durable_commit",
];
/// The caches of a core of today, with a last level of its own: 32 KiB and 1 MiB, so that the
/// database of 6 MB does not fit.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];
/// By how much instructions may become more. Runs of one program differ by some hundredths of a
/// percent; what is inlined where can differ by one or two from a change that has nothing to do
/// with it.
const INSTRUCTIONS_TOLERANCE: f64 = 0.03;
/// The tolerance for misses, which depend on a few bytes of memory layout.
const MISSES_TOLERANCE: f64 = 0.10;
/// Where there is hardly any, a few more are no matter.
const MISSES_ALLOWANCE: f64 = 0.05;

/// The cost of one operation of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    instructions: f64,
    /// Of the last level of caches.
    misses: f64,
}

/// Costs by path, and the compiler of the program.
#[derive(Debug, PartialEq)]
struct Costs {
    compiler: String,
    paths: BTreeMap<String, Cost>,
}

/// Counts, and compares or records.
pub(crate) fn run(arguments: &InstructionsArguments) -> Result<(), Failure> {
    let is_there = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        println!("NOT COUNTED: there is no valgrind here");
        return Ok(());
    }
    let program = match &arguments.program {
        Some(program) => fs::canonicalize(program)?,
        None => build()?,
    };
    let found = Costs {
        compiler: compiler()?,
        paths: count(&program)?,
    };
    let path = built::workspace().join(RECORDED);
    if arguments.accept {
        fs::write(&path, text(&found))?;
        println!("{RECORDED} has the new figures; commit it");
        return Ok(());
    }
    let recorded = parse(&fs::read_to_string(&path)?)?;
    print!("{}", table(&recorded, &found));
    let worse = worse(&recorded, &found);
    if worse.is_empty() {
        return Ok(());
    }
    if recorded.compiler != found.compiler {
        println!(
            "the figures were recorded with {}, and this is {}: not compared",
            recorded.compiler, found.compiler
        );
        return Ok(());
    }
    Err(Failure(format!(
        "{} cost more than {RECORDED} says. If that is meant to be, say in the commit why, and record the new figures in it:\n  cargo xtask instructions --accept",
        worse.join(", ")
    )))
}

/// Builds the program by itself, so that the engine has none of what tests ask of it.
fn build() -> Result<PathBuf, Failure> {
    let status = built::cargo()
        .args(["build", "--quiet", "--profile", "campaign"])
        .args(["--package", "hot-paths"])
        .status()?;
    match status.success() {
        true => Ok(built::directory("campaign")?.join("hot-paths")),
        false => Err(Failure(format!("hot-paths cannot be built ({status})"))),
    }
}

/// The cost of each path, in a copy of one database.
fn count(program: &Path) -> Result<BTreeMap<String, Cost>, Failure> {
    let scratch = scratch::directory(None)?;
    let prepared = scratch.path().join("prepared.teak");
    let run = |command: &mut Command| {
        let output = command.stderr(Stdio::piped()).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(Failure(format!(
                "{command:?} has failed: {}",
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    };
    run(Command::new(program).arg(&prepared).arg("prepare"))?;
    let mut costs = BTreeMap::new();
    for path in PATHS {
        let database = scratch.path().join(format!("{path}.teak"));
        let counts = scratch.path().join(format!("{path}.counts"));
        let counted = |more: &[&str]| {
            fs::copy(&prepared, &database)?;
            let printed = run(Command::new("valgrind")
                .args(["--tool=callgrind", "--cache-sim=yes"])
                .args(CACHES)
                .arg(format!("--callgrind-out-file={}", counts.display()))
                .arg(program)
                .arg(&database)
                .arg(path)
                .args(more))?;
            let cost = total(&fs::read_to_string(&counts)?);
            let cost = cost.ok_or_else(|| Failure(format!("nothing was counted of {path}")))?;
            Ok::<_, Failure>((cost, printed.trim().parse::<f64>()?))
        };
        // That callgrind begins and ends to count at one function fails now and then.
        let (whole, operations) = counted(&[])?;
        let (rest, _) = counted(&["--without-work"])?;
        let cost = Cost {
            instructions: (whole.instructions - rest.instructions) / operations,
            misses: (whole.misses - rest.misses) / operations,
        };
        costs.insert(path.to_owned(), cost);
    }
    Ok(costs)
}

/// The total in callgrind's file.
fn total(counts: &str) -> Option<Cost> {
    let line = |name: &str| counts.lines().find_map(|line| line.strip_prefix(name));
    let (events, totals) = (line("events:")?, line("totals:")?);
    let counted: BTreeMap<&str, f64> = events
        .split_whitespace()
        .zip(totals.split_whitespace())
        .filter_map(|(event, count)| Some((event, count.parse().ok()?)))
        .collect();
    let of = |event| counted.get(event).copied();
    Some(Cost {
        instructions: of("Ir")?,
        misses: of("ILmr")? + of("DLmr")? + of("DLmw")?,
    })
}

/// Those paths that cost more than they may.
fn worse(recorded: &Costs, found: &Costs) -> Vec<String> {
    let is_worse = |(path, cost): &(&String, &Cost)| match recorded.paths.get(*path) {
        None => true,
        Some(old) => {
            cost.instructions > old.instructions * (1.0 + INSTRUCTIONS_TOLERANCE)
                || cost.misses > old.misses * (1.0 + MISSES_TOLERANCE) + MISSES_ALLOWANCE
        }
    };
    let worse = found.paths.iter().filter(is_worse);
    worse.map(|(path, _)| path.clone()).collect()
}

/// A table of the recorded and the measured costs.
fn table(recorded: &Costs, found: &Costs) -> String {
    let mut text = format!(
        "{:<20} {:>14} {:>14} {:>8} {:>10} {:>10}\n",
        "one operation of", "instructions", "recorded", "change", "misses", "recorded"
    );
    for (path, cost) in &found.paths {
        let old = recorded.paths.get(path);
        let old = old.copied().unwrap_or(Cost {
            instructions: f64::NAN,
            misses: f64::NAN,
        });
        let change = (cost.instructions / old.instructions - 1.0) * 100.0;
        let _ = writeln!(
            text,
            "{path:<20} {:>14.1} {:>14.1} {change:>+7.2}% {:>10.2} {:>10.2}",
            cost.instructions, old.instructions, cost.misses, old.misses
        );
    }
    text
}

/// The file.
fn text(costs: &Costs) -> String {
    let mut text = format!("compiler\t{}\n{HEADER}\n", costs.compiler);
    for (path, cost) in &costs.paths {
        let _ = writeln!(text, "{path}\t{:.1}\t{:.3}", cost.instructions, cost.misses);
    }
    text
}

/// Parses the output of [`text`].
fn parse(text: &str) -> Result<Costs, Failure> {
    let wrong = |line: &str| Failure(format!("{RECORDED} has a line that is no figure: {line:?}"));
    let mut lines = text.lines();
    let compiler = lines
        .next()
        .and_then(|line| line.strip_prefix("compiler\t"));
    let compiler = compiler.ok_or_else(|| wrong("the first"))?.to_owned();
    let figure = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let [path, instructions, misses] = words[..] else {
            return None;
        };
        let cost = Cost {
            instructions: instructions.parse().ok()?,
            misses: misses.parse().ok()?,
        };
        Some((path.to_owned(), cost))
    };
    let figures = lines.filter(|line| *line != HEADER);
    let paths = figures.map(|line| figure(line).ok_or_else(|| wrong(line)));
    Ok(Costs {
        compiler,
        paths: paths.collect::<Result<_, _>>()?,
    })
}

fn compiler() -> Result<String, Failure> {
    built::output("rustc", &["--version"])
        .ok_or_else(|| Failure("the compiler prints no version".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(instructions: f64, misses: f64) -> Costs {
        let cost = Cost {
            instructions,
            misses,
        };
        Costs {
            compiler: "rustc 1.0".to_owned(),
            paths: BTreeMap::from([("lookup".to_owned(), cost)]),
        }
    }

    #[test]
    fn written_costs_can_be_read() {
        let costs = costs(1234.5, 0.125);
        assert_eq!(parse(&text(&costs)).unwrap(), costs);
        assert!(parse("compiler\tx\nlookup\t1\n").is_err());
        assert!(parse("lookup\t1\t2\n").is_err());
    }

    #[test]
    fn totals_are_found_by_the_names_of_events() {
        let counts = "events: Ir Dr ILmr DLmr DLmw\nfn=(1)\n3 4\ntotals: 100 20 1 2 4\n";
        let total = total(counts).unwrap();
        assert_eq!((total.instructions, total.misses), (100.0, 7.0));
        assert!(super::total("events: Ir\n").is_none());
    }

    #[test]
    fn more_than_the_tolerance_is_worse() {
        let recorded = costs(1000.0, 1.0);
        assert!(worse(&recorded, &costs(1029.0, 1.0)).is_empty());
        assert!(worse(&recorded, &costs(500.0, 0.0)).is_empty());
        assert_eq!(worse(&recorded, &costs(1031.0, 1.0)), ["lookup"]);
        assert_eq!(worse(&recorded, &costs(1000.0, 1.2)), ["lookup"]);
    }
}
