//! The command line of `teak import`.

use crate::common_arguments::DEFAULT_TABLE;
use crate::key_arguments::EncodingArguments;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  teak import lmdb:/var/lib/coins coins.teak
  teak import mdbx:coins/mdbx.dat coins.teak
  teak import lmdb:coins.mdb coins.teak --table prices --rename prices=old-prices
  teak import leveldb:.bitcoin/chainstate chainstate.teak

PATH is the file, or the directory with data.mdb or mdbx.dat. Files of LMDB 0.9 and 1.0 and of libmdbx \
can be read if they are from 64-bit little-endian machines and not encrypted. Each named database \
becomes a table of the same name and kind. Other records of the main database become the table \
that --main names.

leveldb:PATH is a directory of LevelDB; its records become the table that --main names. No program may \
have it open. Its lock is held during the import, and nothing in it is written.

A file of LMDB or libmdbx is neither locked nor written: stop the programs that write to it, or import a copy. If it changes \
meanwhile, the import fails. DATABASE gets its name when everything is copied, checked, compared with the source, and on disk.";

/// Create a database from a file of LMDB or libmdbx, or from a directory of LevelDB
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ImportArguments {
    /// lmdb:PATH, mdbx:PATH or leveldb:PATH
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub(super) source: OsString,

    /// A new file
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(super) database: PathBuf,

    /// The table for records of the main database that are not named databases
    #[arg(long, value_name = "NAME", default_value = DEFAULT_TABLE)]
    pub(super) main: OsString,

    /// Import only this table; may be repeated. The main one has its name of --main
    #[arg(short, long, value_name = "NAME")]
    pub(super) table: Vec<OsString>,

    /// Give a table another name than in the source
    #[arg(long, value_name = "OLD=NEW")]
    pub(super) rename: Vec<OsString>,

    /// Sort this table in byte order, whatever its flags are: for a table in a custom order
    #[arg(long, value_name = "NAME")]
    pub(super) unordered: Vec<OsString>,

    /// The page size: a power of two from 4096 to 65536 [default: that of the source, if
    /// possible; 4096 for LevelDB]
    #[arg(long, value_name = "BYTES")]
    pub(super) page_size: Option<usize>,

    #[command(flatten)]
    pub(super) encoding: EncodingArguments,
}
