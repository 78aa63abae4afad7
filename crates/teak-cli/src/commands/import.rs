//! `teak import`: the tables of a file of LMDB or libmdbx in a new database, compared with it at the end.

mod copy;
mod place;
mod plan;
mod progress;
mod source;
mod summary;
mod verify;

use crate::arguments::DEFAULT_TABLE;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use crate::outputs;
use clap::Args;
use copy::Copied;
use place::Place;
use plan::Plan;
use progress::Progress;
use source::Source;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  teak import lmdb:/var/lib/coins coins.teak
  teak import mdbx:coins/mdbx.dat coins.teak
  teak import lmdb:coins.mdb coins.teak --table prices --rename prices=old-prices

PATH is the file, or the directory with data.mdb or mdbx.dat. Files of LMDB 0.9 and 1.0 and of libmdbx \
can be read, of 64-bit programs on machines with this order of bytes, and not encrypted. Each named database \
becomes a table of its name and kind; what the main database has of its own becomes the table \
that --main names.

Nothing of the source is locked or written: stop the programs that write to it, or import a copy. If it changed \
meanwhile that is an error. DATABASE gets its name when all is copied, checked, compared with the source and on the disk.";

/// Make a database of a file of LMDB or libmdbx
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// lmdb:PATH or mdbx:PATH
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    source: OsString,

    /// A file that does not exist yet
    #[arg(value_hint = clap::ValueHint::FilePath)]
    database: PathBuf,

    /// The table for records of the main database that are not named databases
    #[arg(long, value_name = "NAME", default_value = DEFAULT_TABLE)]
    main: OsString,

    /// Import this table only; again for others. The main one goes by its name of --main
    #[arg(short, long, value_name = "NAME")]
    table: Vec<OsString>,

    /// Give a table another name than it has in the source
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<OsString>,

    /// Sort this table into the order of bytes, whatever its flags say: for one in an order of the application's
    #[arg(long, value_name = "NAME")]
    unordered: Vec<OsString>,

    /// The page size: a power of two from 4096 to 65536 [without it: that of the source, if it is one]
    #[arg(long, value_name = "BYTES")]
    page_size: Option<usize>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    source.refuse_target(&arguments.database)?;
    let place = Place::beside(&arguments.database)?;
    outputs::refuse_lock_names(&arguments.database)?;
    for note in source.environment.notes() {
        output::warn(note);
    }
    let started = Instant::now();
    let made = make(&source, &place, arguments);
    let (copied, copy_seconds) = made.map_err(|failure| source.explain(failure))?;
    place.finish(&arguments.database)?;
    let seconds = [copy_seconds, started.elapsed().as_secs_f64()];
    summary::print(&source, &copied, seconds, &arguments.database, style)
}

/// Makes the database in `place`, and compares it with the source. Gives what was copied, and in how many seconds.
fn make(
    source: &Source,
    place: &Place,
    arguments: &Arguments,
) -> Result<(Vec<Copied>, f64), Failure> {
    let plan = Plan::new(source, arguments)?;
    let page_size_bytes = match arguments.page_size {
        Some(page_size_bytes) => page_size_bytes,
        None => source.environment.page_size().max(4096),
    };
    let progress = Progress::new(&plan);
    let started = Instant::now();
    let file_mode = outputs::mode_of(source.path.metadata().ok().as_ref(), &arguments.database);
    let database = engine::create_exclusive(&place.path(), page_size_bytes, file_mode)?;
    let copied = copy::run(source, &plan, &database, &progress)?;
    let copy_seconds = started.elapsed().as_secs_f64();
    verify::run(source, &plan, &database, &progress)?;
    database.close()?;
    Ok((copied, copy_seconds))
}
