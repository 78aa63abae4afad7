//! Opens forged files, and performs all operations of the interface and the program on each. A file
//! may kill the process; `cargo xtask mutate`, its parent, then knows which file it was.
//!
//! It writes a line before each file, and one with the outcome:
//!
//! | line | meaning |
//! |---|---|
//! | `begin INDEX SEED; WHAT` | the database, and the forgery in it |
//! | `finding INDEX TEXT` | a finding; there may be several |
//! | `end INDEX OUTCOME` | see [`exercise::FileOutcome`] |
//! | `slow INDEX` | the file takes too long; the process ends itself |

mod cases;
mod exercise;
mod locks;
mod program;
mod scratch;
mod seeds;
mod watchdog;

#[cfg(test)]
mod tests;

use cases::Cases;
use clap::Parser;
use std::{
    error::Error,
    fs, panic,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};
use teak::testing::{Planted, set_planted};
use watchdog::Watchdog;

/// Opens the forged files with the indexes of a range
#[derive(Parser)]
pub(crate) struct Arguments {
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first file
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The end of the range of files, exclusive
    #[arg(long, default_value_t = 100)]
    to: u64,
    /// The program `teak`, to be run on the files too
    #[arg(long)]
    teak: Option<PathBuf>,
    /// Only write the file of the first index to this path
    #[arg(long)]
    write: Option<PathBuf>,
    /// Plant an error in the engine
    #[arg(long)]
    planted: Option<String>,
}

/// The current file.
static INDEX: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let planted = Planted::ALL
        .iter()
        .find(|error| Some(error.name()) == arguments.planted.as_deref());
    planted.into_iter().for_each(|error| set_planted(*error));
    let cases = Cases::new(arguments.seed)?;
    if let Some(path) = &arguments.write {
        let case = cases.case(arguments.from);
        println!("{}", case.description);
        return Ok(fs::write(path, case.image)?);
    }
    watchdog::limit_memory()?;
    // Printed at once by whichever thread panics, because another panic may follow and end the
    // process.
    panic::set_hook(Box::new(|panic| report(&panic.to_string())));
    let watchdog = Watchdog::start();
    for index in arguments.from..arguments.to {
        let case = cases.case(index);
        println!("begin {index} {}; {}", case.seed.name, case.description);
        INDEX.store(index, Ordering::Relaxed);
        watchdog.watch(index, case.image.len());
        let mut rng = cases.rng(index, 1);
        let (outcome, mut findings) = exercise::all(&case, &mut rng);
        if let Some(teak) = &arguments.teak {
            findings.extend(program::run(teak, &case, &mut rng)?);
        }
        watchdog.rest();
        findings.iter().for_each(|finding| report(finding));
        println!("end {index} {outcome}");
    }
    Ok(())
}

fn report(finding: &str) {
    let index = INDEX.load(Ordering::Relaxed);
    println!("finding {index} {}", finding.replace('\n', " "));
}
