//! The cost of the smallest program with a store: crates, processor time of a build, size.

use crate::{Context, Result, built, commands};
use clap::{Args, ValueEnum};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Counts the crates of the smallest program, the processor time of its build, and its size
#[derive(Args)]
pub(crate) struct MinimalArguments {
    /// The engine; may be repeated. Others than Teak come from the registry
    #[arg(long = "engine", value_enum, default_value = "teak")]
    engines: Vec<Store>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    Teak,
    Redb,
    Heed,
    Fjall,
    Rusqlite,
}

/// The clock of `/proc/self/stat`, which is the same on every Linux of today.
const TICKS_PER_SECOND: f64 = 100.0;

/// The profile that cargo has for releases, and symbols removed.
const PROFILE: &str = "[profile.release]\nstrip = true\n\n[workspace]\n";

/// The cost of one program.
struct ProgramCost {
    crates: usize,
    processor_seconds: f64,
    bytes: u64,
}

pub(crate) fn run(arguments: &MinimalArguments) -> Result {
    println!(
        "{:<9} {:>6} {:>12} {:>9}",
        "engine", "crates", "build, CPU s", "size, KB"
    );
    for engine in &arguments.engines {
        let cost = engine.measure()?;
        println!(
            "{:<9} {:>6} {:>12.1} {:>9}",
            engine.name(),
            cost.crates,
            cost.processor_seconds,
            cost.bytes / 1000
        );
    }
    Ok(())
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Self::Teak => "teak",
            Self::Redb => "redb",
            Self::Heed => "heed",
            Self::Fjall => "fjall",
            Self::Rusqlite => "rusqlite",
        }
    }

    fn dependency(self) -> String {
        match self {
            Self::Teak => format!(
                "teak = {{ path = {:?} }}",
                built::workspace().join("crates/teak")
            ),
            Self::Redb => "redb = \"4.1\"".to_owned(),
            Self::Heed => "heed = { version = \"0.22\", default-features = false }".to_owned(),
            Self::Fjall => "fjall = \"3.1\"".to_owned(),
            Self::Rusqlite => {
                "rusqlite = { version = \"0.42\", features = [\"bundled\"] }".to_owned()
            }
        }
    }

    /// Writes a record and reads it.
    fn program(self) -> &'static str {
        match self {
            Self::Teak => include_str!("minimal/teak.txt"),
            Self::Redb => include_str!("minimal/redb.txt"),
            Self::Heed => include_str!("minimal/heed.txt"),
            Self::Fjall => include_str!("minimal/fjall.txt"),
            Self::Rusqlite => include_str!("minimal/rusqlite.txt"),
        }
    }

    fn measure(self) -> Result<ProgramCost> {
        let directory = tempfile::tempdir()?;
        let directory = directory.path();
        fs::create_dir(directory.join("src"))?;
        fs::write(directory.join("src/main.rs"), self.program())?;
        let manifest = format!(
            "[package]\nname = \"minimal\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{}\n\n{PROFILE}",
            self.dependency()
        );
        fs::write(directory.join("Cargo.toml"), manifest)?;
        if self == Self::Teak {
            // The versions that the workspace is tested with.
            fs::copy(
                built::workspace().join("Cargo.lock"),
                directory.join("Cargo.lock"),
            )?;
        }
        let crates = count_crates(directory)?;
        commands::run(cargo(directory).args(["fetch", "--quiet"]))?;
        let before = processor_seconds()?;
        commands::run(cargo(directory).args(["build", "--release", "--quiet"]))?;
        let processor_seconds = processor_seconds()? - before;
        let program = directory.join("target/release/minimal");
        commands::output(Command::new(&program).arg(directory.join("database")))?;
        Ok(ProgramCost {
            crates,
            processor_seconds,
            bytes: fs::metadata(&program)?.len(),
        })
    }
}

fn cargo(directory: &Path) -> Command {
    let mut cargo = built::cargo();
    cargo
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS");
    cargo
}

/// The crates that are compiled for this machine, the engine included.
fn count_crates(directory: &Path) -> Result<usize> {
    let mut tree = cargo(directory);
    tree.args(["tree", "--quiet", "--prefix", "none"]);
    let lines = commands::output(tree.args(["--edges", "normal,build"]))?;
    let names = lines.lines().map(|line| line.trim_end_matches(" (*)"));
    let names: BTreeSet<&str> = names.filter(|name| !name.starts_with("minimal ")).collect();
    Ok(names.len())
}

/// The processor time of all child processes that have ended, and of theirs.
fn processor_seconds() -> Result<f64> {
    const USER_OF_CHILDREN: usize = 13;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program, in parentheses, may have spaces.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("/proc/self/stat has no name")?;
    let fields = fields.split_whitespace().skip(USER_OF_CHILDREN).take(2);
    let ticks: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}
