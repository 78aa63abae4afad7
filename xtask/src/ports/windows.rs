//! Windows: the program and the engine's tests under wine, in a root of its own. Older versions of
//! wine than that of the release lack placeholders for mapped files.

mod expected;
mod tests_under_wine;
mod wine;

use super::{
    end::{PortEnd, require},
    main_job, targets,
};
use crate::{Result, built, commands};
use std::{env, fs, path::Path, process::Command, thread};
use wine::Wine;

const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc";
/// Tests that need most of the system.
const SHORT: &[&str] = &["io::", "locks::", "processes::"];

/// Loads that are killed. As many kills hit a program of this system.
const KILLS: u32 = 30;

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    require!(targets::missing_program(LINKER));
    let directory = built::target_directory()?.join("ports/windows");
    require!(wine::missing(&directory)?);
    let program = targets::program(TARGET)?;
    let count = thread::available_parallelism().map_or(1, usize::from);
    let lanes = (0..count).map(|lane| Wine::start(&directory, &format!("lane-{lane}")));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    let job = directory.join("job");
    fs::create_dir_all(&job)?;
    main_job::run(&job, "", || lanes[0].command(&program, &job))?;
    println!("    main job passed");
    let kills = if is_short { 0 } else { KILLS };
    if kills > 0 {
        let script = directory.join("teak");
        lanes[0].write_script(&program, &script)?;
        kill(&script)?;
    }
    let filters = if is_short { SHORT } else { &[] };
    let [unit, integration] = targets::engine_tests(targets::cargo("test", TARGET))?;
    let unit = tests_under_wine::run(&mut lanes, &unit, filters, expected::UNIT)?;
    println!("    unit tests: {unit}");
    let integration =
        tests_under_wine::run(&mut lanes, &integration, filters, expected::INTEGRATION)?;
    let text = format!(
        "main job; {kills} loads and a kill of each; unit tests: {unit}; integration tests: {integration}"
    );
    let unexpected = [unit.unexpected, integration.unexpected].concat();
    ensure!(
        unexpected.is_empty(),
        "{} tests failed that should not: {}; {text}",
        unexpected.len(),
        unexpected.join(", ")
    );
    Ok(PortEnd::Passed(text))
}

/// Kills loads at random times. The server of wine has the locks of its programs. This program
/// inspects the databases.
fn kill(script: &Path) -> Result {
    let mut kill = Command::new(env::current_exe()?);
    kill.args(["kill", "--random-only", "--settle-ms", "1000", "--count"])
        .arg((2 * KILLS).to_string());
    commands::run(kill.arg("--program").arg(script))
}
