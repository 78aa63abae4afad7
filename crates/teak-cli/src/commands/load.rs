//! `teak load`: records from text into tables, in batches that are each committed, and read back.

mod batches;
mod bulk;
mod input;
mod state;
mod summary;

use crate::arguments::{DatabaseArgument, WaitArgument};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use crate::outputs;
use crate::text::Header;
use clap::{Args, ValueEnum};
use input::Input;
use state::LoadState;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Instant;
use teak::{Database, Durability};

const EXAMPLES: &str = "\
Examples:
  teak load coins.dump coins.teak
  mdb_dump -n coins.mdb | teak load - coins.teak
  teak load prices.tsv coins.teak --table prices
  teak load big.dump big.teak --bulk

The dump format is what db_dump, mdb_dump and mdbx_dump write: a header, then keys and values in \
turn on lines that begin with a space, then DATA=END; several tables may follow one another. \
Tab-separated text has a key, a tab and a value on each line, with the escapes \\t \\n \\r \\\\ and \
\\xHH.

Records go into the table that the input names, or else into `main`; the database and its tables \
are created when they are not there. A key that is there already gets the new value. Every batch is \
one transaction: when a load is interrupted, or meets an error, all batches that were committed \
stay, and loading again from the beginning completes it. At the end all records are read back and \
compared.

With --acknowledge there is a line `committed TRANSACTION RECORDS` on standard output after each \
commit, RECORDS being all that this load has committed.";

/// Load records from a dump or from tab-separated text
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file to load; - is standard input
    #[arg(value_hint = clap::ValueHint::FilePath)]
    input: PathBuf,

    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The table, whatever name the input has for it [without it: the name in the input, or else main]
    #[arg(short, long, value_name = "NAME")]
    table: Option<OsString>,

    /// What the input is [without it: tsv if its name ends so, else dump]
    #[arg(short, long, value_enum)]
    format: Option<Format>,

    /// Records in one transaction
    #[arg(long, value_name = "COUNT", default_value = "10000")]
    batch: NonZeroU64,

    /// When a commit is done
    #[arg(long, value_enum, default_value_t)]
    durability: DurabilityArgument,

    /// Load each table in one transaction, sorted and built bottom-up; the table must be empty
    #[arg(long, conflicts_with = "batch")]
    bulk: bool,

    /// The input is in the order of its keys, so that --bulk need not sort it
    #[arg(long, requires = "bulk")]
    sorted: bool,

    /// Do not read the records back at the end
    #[arg(long)]
    no_verify: bool,

    /// Print a line for each commit
    #[arg(long)]
    acknowledge: bool,

    /// The page size of a database that is created: a power of two from 4096 to 65536
    #[arg(long, value_name = "BYTES")]
    page_size: Option<usize>,
}

/// What an input is.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// The format of db_dump, mdb_dump and mdbx_dump
    Dump,
    /// A key, a tab and a value on each line
    Tsv,
}

/// When a commit is done.
#[derive(Clone, Copy, Default, ValueEnum)]
enum DurabilityArgument {
    /// When it is on disk
    #[default]
    Durable,
    /// When it is handed to the system; all is on disk when the load ends
    Lazy,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    if arguments.input != Path::new("-") {
        outputs::refuse_inputs(&arguments.database.path, &[&arguments.input])?;
    }
    let mut input = Input::open(&arguments.input, arguments.format)?;
    // An input that is no dump at all is refused before a database is created for it.
    let first_header = input.first_header()?;
    let (path, page_size) = (&arguments.database.path, arguments.page_size);
    let file_mode = outputs::mode_of(outputs::input(&arguments.input).as_ref(), path);
    engine::open_or_create(path, page_size, file_mode, |database| {
        warn_of_page_size(database, page_size);
        load(database, arguments, &mut input, first_header, style)
    })
}

fn load(
    database: &Database,
    arguments: &Arguments,
    input: &mut Input,
    first_header: Header,
    style: Style,
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
    if asked.is_some_and(|asked| asked != database.page_size()) {
        output::warn(&format!(
            "the database is there already and keeps its page size of {} bytes",
            database.page_size()
        ));
    }
}

impl From<DurabilityArgument> for Durability {
    fn from(argument: DurabilityArgument) -> Self {
        match argument {
            DurabilityArgument::Durable => Self::Durable,
            DurabilityArgument::Lazy => Self::Lazy,
        }
    }
}
