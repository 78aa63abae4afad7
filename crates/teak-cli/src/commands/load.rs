//! `teak load`: loads records from text into tables. It commits them in batches and reads them
//! back.

mod arguments;
mod batches;
mod bulk;
mod input;
mod state;
mod summary;

use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::Header;
pub(crate) use arguments::LoadArguments;
use input::LoadInput;
use state::LoadState;
use std::path::Path;
use std::time::Instant;
use teak::Database;

/// Runs the subcommand.
pub(crate) fn run(arguments: &LoadArguments, style: ReportStyle) -> Result<(), Failure> {
    if arguments.input != Path::new("-") {
        outputs::refuse_inputs(&arguments.database.path, &[&arguments.input])?;
    }
    let mut input = LoadInput::open(&arguments.input, arguments.format)?;
    // An input that is not a dump is refused before a database is created for it.
    let first_header = input.first_header()?;
    let (path, page_size) = (&arguments.database.path, arguments.page_size);
    let file_mode = outputs::mode_of(outputs::input(&arguments.input).as_ref(), path);
    engine::open_or_create(path, page_size, file_mode, arguments.encoding, |database| {
        warn_of_page_size(database, page_size);
        load(database, arguments, &mut input, first_header, style)
    })
}

fn load(
    database: &Database,
    arguments: &LoadArguments,
    input: &mut LoadInput,
    first_header: Header,
    style: ReportStyle,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut state = LoadState::new(database, arguments);
    let loaded = match arguments.bulk {
        true => bulk::load(&mut state, input, first_header),
        false => batches::load(&mut state, input, first_header),
    };
    input.finish_progress();
    loaded.map_err(|cause| state.interrupted(cause))?;
    database.sync()?;
    let seconds = started.elapsed().as_secs_f64();
    let verified = match arguments.no_verify {
        true => None,
        false => Some(state.verify()?),
    };
    summary::print(&state, seconds, verified, style)
}

fn warn_of_page_size(database: &Database, asked: Option<usize>) {
    if asked.is_some_and(|asked| asked != database.info().page_size) {
        output::warn(&format!(
            "the database already exists and keeps its page size of {} bytes",
            database.info().page_size
        ));
    }
}
