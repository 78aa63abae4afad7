//! Crash images of LMDB and libmdbx. This shows that Teak's test tools find the known weaknesses of
//! other engines, and find nothing where there are none.
//!
//! A program commits to an engine while its system calls are recorded. The record is converted to
//! one of the simulated disk, from which images are built as for Teak (`cargo xtask crash`). The
//! engine opens each image in another process, and must find what its documentation promises.

mod boot;
mod campaign;
mod check;
mod peer;
mod record;
mod tally;
mod trace;
mod verdict;
mod workload;

use anyhow::{Context, Result};
use campaign::Campaign;
use clap::{Parser, Subcommand, ValueEnum};
use peer::Engine;
use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};
use tally::Tally;
use tempfile::TempDir;
use workload::Workload;

/// Builds possible crash images of LMDB and libmdbx, and inspects them
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    child: Option<Subprogram>,
    /// The number of different images to inspect, for each engine
    #[arg(long, default_value_t = 1000)]
    images: u64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this engine
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Only this episode
    #[arg(long)]
    episode: Option<u64>,
    /// The directory for the engines' files, which must not be in memory [default: next to this
    /// program]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Writes the counts to this file, one line for each engine
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Mounts are already private to this program
    #[arg(long, hide = true)]
    inside: bool,
}

#[derive(Subcommand)]
enum Subprogram {
    /// The program that commits while it is recorded
    #[command(hide = true)]
    Perform {
        #[arg(long, value_enum)]
        engine: Engine,
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        episode: u64,
        #[arg(long)]
        path: PathBuf,
    },
    /// The program that opens images
    #[command(hide = true)]
    Check {
        #[arg(long, value_enum)]
        engine: Engine,
        #[arg(long)]
        path: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse() {
        Arguments {
            child: Some(child), ..
        } => child.run().map(|()| true),
        arguments => arguments.run(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crash-peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Subprogram {
    fn run(self) -> Result<()> {
        match self {
            Self::Perform {
                engine,
                seed,
                episode,
                path,
            } => Workload::draw(seed, episode).perform(engine, &path),
            Self::Check { engine, path } => check::serve(engine, &path),
        }
    }
}

impl Arguments {
    /// Whether exactly the expected violations were found.
    fn run(&self) -> Result<bool> {
        if !can_trace() {
            println!(
                "NOT DONE: crashes of other engines: strace is not installed or not permitted"
            );
            return Ok(true);
        }
        if !self.inside && boot::can_unshare() {
            return Ok(boot::run_inside()?.success());
        }
        let has_fresh_boots = self.inside && boot::cover().is_ok();
        let mut rows = Vec::new();
        for engine in self.engines() {
            if engine.reads_boot_id() && !has_fresh_boots {
                println!(
                    "NOT DONE: crashes of {}, which require another boot id and root",
                    engine.name()
                );
                continue;
            }
            rows.push((engine, self.run_engine(engine)?));
        }
        tally::print(&rows);
        self.write_counts(&rows)?;
        let complaints = rows
            .iter()
            .filter_map(|(engine, tally)| tally.complaint(*engine));
        let complaints: Vec<String> = complaints.collect();
        for complaint in &complaints {
            println!("WRONG: {complaint}");
        }
        Ok(complaints.is_empty())
    }

    fn run_engine(&self, engine: Engine) -> Result<Tally> {
        let begin = Instant::now();
        let (disk, memory) = (self.disk()?, memory()?);
        let tally = Campaign {
            engine,
            seed: self.seed,
            images: self.images,
            episode: self.episode,
            disk: disk.path(),
            memory: memory.path(),
        }
        .run()?;
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{}: {} images in {seconds:.1} s, {:.0} images/s",
            engine.name(),
            tally.images,
            tally.images as f64 / seconds
        );
        Ok(tally)
    }

    fn engines(&self) -> Vec<Engine> {
        match self.engine {
            Some(engine) => vec![engine],
            None => Engine::value_variants().to_vec(),
        }
    }

    fn disk(&self) -> Result<TempDir> {
        let program = env::current_exe()?;
        let program_dir = program.parent().context("the program has no directory")?;
        let parent = self.dir.as_deref().unwrap_or(program_dir);
        Ok(tempfile::tempdir_in(parent)?)
    }

    fn write_counts(&self, rows: &[(Engine, Tally)]) -> Result<()> {
        let Some(path) = &self.counts else {
            return Ok(());
        };
        let mut text = String::new();
        for (engine, tally) in rows {
            writeln!(text, "{}", tally.to_line(*engine))?;
        }
        Ok(fs::write(path, text)?)
    }
}

/// A directory in memory, if the machine has such a file system.
fn memory() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    Ok(if memory.is_dir() {
        tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())?
    } else {
        tempfile::tempdir()?
    })
}

fn can_trace() -> bool {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
