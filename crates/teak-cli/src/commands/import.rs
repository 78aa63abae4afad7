//! `teak import`: copies the tables of a file of LMDB or libmdbx, or of a directory of LevelDB, into
//! a new database, and compares them at the end.

mod arguments;
mod copy;
mod leveldb;
mod plan;
mod progress;
mod source;
mod summary;
mod verify;

use crate::commands::staging::StagingDirectory;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::outputs;
pub(crate) use arguments::ImportArguments;
use copy::CopiedTable;
use plan::ImportPlan;
use progress::ImportProgress;
use source::ForeignSource;
use std::time::Instant;
use summary::ImportedState;

/// Runs the subcommand.
pub(crate) fn run(arguments: &ImportArguments, style: ReportStyle) -> Result<(), Failure> {
    if let Some(path) = source::leveldb_directory(&arguments.source) {
        return leveldb::run(path, arguments, style);
    }
    let source = ForeignSource::open(&arguments.source)?;
    source.refuse_target(&arguments.database)?;
    let staging = StagingDirectory::for_database(&arguments.database)?;
    outputs::refuse_lock_names(&arguments.database)?;
    for note in source.environment.notes() {
        output::warn(note);
    }
    let started = Instant::now();
    let made = make(&source, &staging, arguments);
    let (copied, copy_seconds) = made.map_err(|failure| source.explain(failure))?;
    staging.finish(&arguments.database)?;
    let seconds = [copy_seconds, started.elapsed().as_secs_f64()];
    let state = ImportedState {
        format: source.environment.format_name(),
        unit: "transaction",
        number: source.environment.transaction(),
    };
    summary::print(&state, &copied, seconds, &arguments.database, style)
}

/// Creates the database in `staging` and compares it with the source. Returns the copied tables and
/// the seconds that it took.
fn make(
    source: &ForeignSource,
    staging: &StagingDirectory,
    arguments: &ImportArguments,
) -> Result<(Vec<CopiedTable>, f64), Failure> {
    let plan = ImportPlan::new(source, arguments)?;
    let page_size_bytes = match arguments.page_size {
        Some(page_size_bytes) => page_size_bytes,
        None => source.environment.page_size().max(4096),
    };
    let progress = ImportProgress::new(plan.records());
    let started = Instant::now();
    let file_mode = outputs::mode_of(source.path.metadata().ok().as_ref(), &arguments.database);
    let database = engine::create_exclusive(
        &staging.path(),
        page_size_bytes,
        file_mode,
        arguments.encoding,
    )?;
    let copied = copy::run(source, &plan, &database, &progress)?;
    let copy_seconds = started.elapsed().as_secs_f64();
    verify::run(source, &plan, &database, &progress)?;
    database.close()?;
    Ok((copied, copy_seconds))
}
