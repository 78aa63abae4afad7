//! Counts the instructions and cache misses of Teak's hot paths, which do not depend on the load of
//! a machine. `crates/hot-paths` runs under callgrind, which counts executed instructions and
//! simulates the same caches everywhere.
//!
//! The last figures are in the repository. A commit that costs more fails unless it includes the
//! new figures.

use crate::{Context, Result, built, campaign::scratch, commands};
use std::{collections::BTreeMap, fmt::Write, fs, path::PathBuf, process::Command};
use tempfile::TempDir;

/// Counts instructions and cache misses of the engine's hot paths, and compares them with the
/// recorded figures
#[derive(clap::Args)]
pub(crate) struct InstructionsArguments {
    /// Record the figures instead of comparing them
    #[arg(long)]
    accept: bool,
    /// The program `hot-paths`; built if it is not given
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

const RECORDED: &str = "docs/results/instructions.tsv";
const HEADER: &str = "path\tinstructions\tmisses";
const PATHS: [&str; 15] = [
    "lookup",
    "get_many",
    "begin_lookup_end",
    "scan",
    "detached_scan",
    "scan_typed",
    "iter_typed",
    "range_typed",
    "multi_typed",
    "insert_batch",
    "bulk_load",
    "bulk_load_unsorted",
    "lazy_commit",
    MANY_TABLES.0,
    "durable_commit",
];
/// The caches of a current core, with a last level of its own: 32 KiB and 1 MiB. The database of 6
/// MB does not fit.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];
/// A path, another one that it must stay near, and how many times as many instructions it may take.
/// A commit once walked over the roots of all tables that the program had open: four times as many.
const MANY_TABLES: (&str, &str, f64) = ("lazy_commit_many_tables", "lazy_commit", 1.25);
/// The tolerance for instructions. Runs of one program differ by some hundredths of a percent. An
/// unrelated change can shift inlining and move the count by one or two percent.
const INSTRUCTIONS_TOLERANCE: f64 = 0.03;
/// The tolerance for misses, which depend on a few bytes of memory layout.
const MISSES_TOLERANCE: f64 = 0.10;
/// A path with hardly any misses may have this many more.
const MISSES_ALLOWANCE: f64 = 0.05;

/// The cost of one operation of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    instructions: f64,
    /// Misses of the last-level cache.
    misses: f64,
}

/// Costs by path, and the compiler of the program.
#[derive(Debug, PartialEq)]
struct Costs {
    compiler: String,
    paths: BTreeMap<String, Cost>,
}

/// Counts, and compares or records.
pub(crate) fn run(arguments: &InstructionsArguments) -> Result {
    if !commands::is_there("valgrind", "--version") {
        println!("NOT COUNTED: valgrind is not installed");
        return Ok(());
    }
    let program = match &arguments.program {
        Some(program) => fs::canonicalize(program)?,
        None => build()?,
    };
    let counter = PathCounter::new(program)?;
    let mut found = Costs {
        compiler: compiler()?,
        paths: counter.count(PATHS.iter().map(|path| (*path).to_owned()))?,
    };
    refuse_cost_of_tables(&found)?;
    let path = built::workspace().join(RECORDED);
    if arguments.accept {
        fs::write(&path, text(&found))?;
        println!("{RECORDED} has the new figures; commit it");
        return Ok(());
    }
    let recorded = parse(&fs::read_to_string(&path)?)?;
    print!("{}", table(&recorded, &found));
    let mut worse = worse(&recorded, &found);
    if !worse.is_empty() && recorded.compiler == found.compiler {
        // One run may have cost more because of a clock or its addresses.
        println!("counted again:");
        found.paths = counter.count(worse.into_iter())?;
        print!("{}", table(&recorded, &found));
        worse = self::worse(&recorded, &found);
    }
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
    Err(failure!(
        "{} cost more than recorded in {RECORDED}. If this is intended, explain it in the commit \
         message and record the new figures:\n  cargo xtask instructions --accept",
        worse.join(", ")
    ))
}

/// Builds the program alone, so that the engine has none of the test features.
fn build() -> Result<PathBuf> {
    let mut build = built::cargo();
    build.args(["build", "--quiet", "--profile", "campaign"]);
    commands::run(build.args(["--package", "hot-paths"]))?;
    Ok(built::directory("campaign")?.join("hot-paths"))
}

/// Counts the costs of paths, each in a copy of one database.
struct PathCounter {
    program: PathBuf,
    scratch: TempDir,
    prepared: PathBuf,
}

impl PathCounter {
    fn new(program: PathBuf) -> Result<Self> {
        let scratch = scratch::directory(None)?;
        let prepared = scratch.path().join("prepared.teak");
        commands::output(Command::new(&program).arg(&prepared).arg("prepare"))?;
        Ok(Self {
            program,
            scratch,
            prepared,
        })
    }

    fn count(&self, paths: impl Iterator<Item = String>) -> Result<BTreeMap<String, Cost>> {
        let count = |path: String| {
            // Callgrind sometimes fails to start and stop counting at a function.
            let (whole, operations) = self.run(&path, &[])?;
            let (rest, _) = self.run(&path, &["--without-work"])?;
            let cost = Cost {
                instructions: (whole.instructions - rest.instructions) / operations,
                misses: (whole.misses - rest.misses) / operations,
            };
            Ok((path, cost))
        };
        paths.map(count).collect()
    }

    /// The cost of a run of the program, and the number of operations in it.
    fn run(&self, path: &str, more: &[&str]) -> Result<(Cost, f64)> {
        let database = self.scratch.path().join(format!("{path}.teak"));
        let counts = self.scratch.path().join(format!("{path}.counts"));
        fs::copy(&self.prepared, &database)?;
        let printed = commands::output(
            Command::new("valgrind")
                .args(["--tool=callgrind", "--cache-sim=yes"])
                .args(CACHES)
                .arg(format!("--callgrind-out-file={}", counts.display()))
                .arg(&self.program)
                .arg(&database)
                .arg(path)
                .args(more),
        )?;
        let cost = total(&fs::read_to_string(&counts)?);
        let cost = cost.context(format_args!("nothing was counted of {path}"))?;
        Ok((cost, printed.trim().parse::<f64>()?))
    }
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

/// The paths that cost more than allowed.
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

/// Fails if a commit costs more because the program has many tables open, whatever the compiler.
fn refuse_cost_of_tables(found: &Costs) -> Result {
    let (many, one, most) = MANY_TABLES;
    let [many_cost, one_cost] = [many, one].map(|path| found.paths.get(path));
    match (many_cost, one_cost) {
        (Some(of_many), Some(of_one)) if of_many.instructions > most * of_one.instructions => {
            Err(failure!(
                "{many} takes {:.0} instructions, more than {most} times the {:.0} of {one}",
                of_many.instructions,
                of_one.instructions
            ))
        }
        _ => Ok(()),
    }
}

/// A table of the recorded and the measured costs.
fn table(recorded: &Costs, found: &Costs) -> String {
    let mut text = format!(
        "{:<23} {:>14} {:>14} {:>8} {:>10} {:>10}\n",
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
            "{path:<23} {:>14.1} {:>14.1} {change:>+7.2}% {:>10.2} {:>10.2}",
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
fn parse(text: &str) -> Result<Costs> {
    let wrong = |line: &str| failure!("{RECORDED} has a malformed line: {line:?}");
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

fn compiler() -> Result<String> {
    built::output("rustc", &["--version"]).context("the compiler prints no version")
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
    fn totals_are_found_by_event_name() {
        let counts = "events: Ir Dr ILmr DLmr DLmw\nfn=(1)\n3 4\ntotals: 100 20 1 2 4\n";
        let total = total(counts).unwrap();
        assert_eq!((total.instructions, total.misses), (100.0, 7.0));
        assert!(super::total("events: Ir\n").is_none());
    }

    #[test]
    fn many_open_tables_must_not_make_a_commit_longer() {
        let (many, one, most) = MANY_TABLES;
        let with = |path: &str, instructions: f64| {
            let mut costs = costs(instructions, 1.0).paths;
            (path.to_owned(), costs.remove("lookup").unwrap())
        };
        let both = |of_many: f64| Costs {
            compiler: String::new(),
            paths: BTreeMap::from([with(one, 1000.0), with(many, of_many)]),
        };
        assert!(refuse_cost_of_tables(&both(1000.0 * most)).is_ok());
        assert!(refuse_cost_of_tables(&both(1000.0 * most + 1.0)).is_err());
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
