//! Windows: the program and the engine's tests under wine, in a root of its own. Older versions of
//! wine than that of the release lack placeholders for mapped files.

mod c_programs;
mod campaigns;
mod expected;
mod leveldb;
mod lmdb;
mod mingw;
mod target;
mod tests_under_wine;
mod wine;

use super::{
    end::{PortEnd, require},
    main_job, targets,
};
use crate::{Result, built};
use std::{fs, thread};
use target::TARGET;
use wine::Wine;

/// Tests at a time on each processor: most of them wait, for the server of wine or for the disk.
const LANES: usize = 2;
/// Tests that need most of the system.
const SHORT: &[&str] = &["io::", "locks::", "processes::"];

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    require!(targets::missing_program(mingw::FOR_C));
    require!(targets::missing_program(targets::mingw_for_cpp()));
    let directory = built::target_directory()?.join("ports/windows");
    require!(wine::missing(&directory)?);
    let program = targets::program(TARGET)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let lanes =
        (0..LANES * processors).map(|lane| Wine::start(&directory, &format!("lane-{lane}")));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    let job = directory.join("job");
    fs::create_dir_all(&job)?;
    main_job::run(&job, "", || lanes[0].command(&program, &job))?;
    println!("    main job passed");
    let c_programs = c_programs::run(&lanes[0], &job)?;
    println!("    {c_programs} programs in C and C++");
    let lmdb = lmdb::run(&lanes[0], &job)?;
    println!("    LMDB's interface: {lmdb}");
    let leveldb = leveldb::run(&lanes[0], &job)?;
    println!("    LevelDB's interfaces: {leveldb}");
    let mut campaigns = "no campaigns".to_owned();
    if !is_short {
        campaigns = campaigns::run(&lanes[0], &program, &directory)?;
        println!("    {campaigns}");
    }
    let filters = if is_short { SHORT } else { &[] };
    let [unit, integration] = targets::engine_tests(targets::cargo("test", TARGET))?;
    let unit = tests_under_wine::run(&mut lanes, &unit, filters, expected::UNIT)?;
    println!("    unit tests: {unit}");
    let integration =
        tests_under_wine::run(&mut lanes, &integration, filters, expected::INTEGRATION)?;
    let text = format!(
        "main job; {c_programs} programs in C and C++; LMDB's interface: {lmdb}; LevelDB's interfaces: {leveldb}; {campaigns}; unit tests: {unit}; integration tests: {integration}"
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
