//! Arguments that several subcommands have.

use crate::failure::Failure;
use crate::text::decode_hex;
use clap::{Args, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The default table.
pub(crate) const DEFAULT_TABLE: &str = "main";

/// The database of a subcommand.
#[derive(Args)]
pub(crate) struct DatabaseArgument {
    /// The database: one file
    #[arg(value_name = "DATABASE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) path: PathBuf,
}

/// The table of a subcommand.
#[derive(Args)]
pub(crate) struct TableArgument {
    /// The table
    #[arg(short, long, value_name = "NAME", default_value = DEFAULT_TABLE)]
    table: OsString,
}

impl TableArgument {
    /// The name as bytes.
    pub(crate) fn name(&self) -> &[u8] {
        self.table.as_encoded_bytes()
    }
}

/// The limit for waiting while others write.
#[derive(Args, Clone, Copy)]
pub(crate) struct WaitArgument {
    /// Give up when others have been writing for this long [default: no limit]
    #[arg(long = "wait-timeout", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) limit: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("give a number of seconds, from 0 to 1e19")
}

/// The state that a subcommand reads.
#[derive(Args)]
pub(crate) struct SnapshotArgument {
    /// Read this named snapshot [default: the newest state]
    #[arg(long, value_name = "NAME")]
    snapshot: Option<OsString>,
}

impl SnapshotArgument {
    /// The name of the snapshot as bytes; `None` for the newest state.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.snapshot.as_deref().map(OsStr::as_encoded_bytes)
    }
}

/// The format of bytes on the command line.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum BytesFormat {
    /// The bytes of the argument itself
    #[default]
    Text,
    /// Two hexadecimal digits for each byte
    Hex,
}

impl BytesFormat {
    /// The bytes of an argument; `description` names it in messages.
    pub(crate) fn parse(self, description: &str, argument: &OsString) -> Result<Vec<u8>, Failure> {
        let given = argument.as_encoded_bytes();
        match self {
            Self::Text => Ok(given.to_vec()),
            Self::Hex => {
                let mut bytes = Vec::new();
                decode_hex(given, &mut bytes).map_err(|fault| {
                    let column = fault.position + 1;
                    Failure::Usage(format!(
                        "the {description} {argument:?} is not hexadecimal: expected {} at column {column}",
                        fault.expected
                    ))
                })?;
                Ok(bytes)
            }
        }
    }
}

/// The format of the keys of a subcommand.
#[derive(Args)]
pub(crate) struct KeyFormatArgument {
    /// The format of keys
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    key_format: BytesFormat,

    /// Short for --key-format hex
    #[arg(long, conflicts_with = "key_format")]
    hex: bool,
}

impl KeyFormatArgument {
    /// The key of an argument.
    pub(crate) fn parse(&self, argument: &OsString) -> Result<Vec<u8>, Failure> {
        let format = if self.hex {
            BytesFormat::Hex
        } else {
            self.key_format
        };
        format.parse("key", argument)
    }
}
