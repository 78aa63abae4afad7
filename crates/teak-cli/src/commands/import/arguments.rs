//! The command line of `teak import`.

use crate::common_arguments::DEFAULT_TABLE;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

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
pub(crate) struct ImportArguments {
    /// lmdb:PATH or mdbx:PATH
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub(super) source: OsString,

    /// A file that does not exist yet
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(super) database: PathBuf,

    /// The table for records of the main database that are not named databases
    #[arg(long, value_name = "NAME", default_value = DEFAULT_TABLE)]
    pub(super) main: OsString,

    /// Import this table only; again for others. The main one goes by its name of --main
    #[arg(short, long, value_name = "NAME")]
    pub(super) table: Vec<OsString>,

    /// Give a table another name than it has in the source
    #[arg(long, value_name = "OLD=NEW")]
    pub(super) rename: Vec<OsString>,

    /// Sort this table into the order of bytes, whatever its flags say: for one in an order of the application's
    #[arg(long, value_name = "NAME")]
    pub(super) unordered: Vec<OsString>,

    /// The page size: a power of two from 4096 to 65536 [without it: that of the source, if it is one]
    #[arg(long, value_name = "BYTES")]
    pub(super) page_size: Option<usize>,
}
