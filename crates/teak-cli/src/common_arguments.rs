//! Arguments that several subcommands have.

use crate::failure::Failure;
use crate::text::decode_hex;
use clap::{Args, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The table that is meant when none is named.
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
    /// Its name, as bytes.
    pub(crate) fn name(&self) -> &[u8] {
        self.table.as_encoded_bytes()
    }
}

/// How long a subcommand waits while others write.
#[derive(Args, Clone, Copy)]
pub(crate) struct WaitArgument {
    /// Give up when others have been writing for so long; without it, wait for as long as they do
    #[arg(long = "wait-timeout", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) limit: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("give a number of seconds, from 0 to 1e19")
}

/// Which state a subcommand reads.
#[derive(Args)]
pub(crate) struct SnapshotArgument {
    /// Read this named snapshot; without it, the newest state
    #[arg(long, value_name = "NAME")]
    snapshot: Option<OsString>,
}

impl SnapshotArgument {
    /// The name of the snapshot, as bytes; none for the newest state.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.snapshot.as_deref().map(OsStr::as_encoded_bytes)
    }
}

/// How bytes are given on the command line.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum BytesFormat {
    /// The bytes of the argument itself
    #[default]
    Text,
    /// Two hexadecimal digits for each byte
    Hex,
}

impl BytesFormat {
    /// The bytes that an argument stands for; `description` names it in messages.
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

/// How keys are given to a subcommand.
#[derive(Args)]
pub(crate) struct KeyFormatArgument {
    /// How keys are given
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    key_format: BytesFormat,

    /// Keys are given in hexadecimal: short for --key-format hex
    #[arg(long, conflicts_with = "key_format")]
    hex: bool,
}

impl KeyFormatArgument {
    /// The key that an argument stands for.
    pub(crate) fn parse(&self, argument: &OsString) -> Result<Vec<u8>, Failure> {
        let format = if self.hex {
            BytesFormat::Hex
        } else {
            self.key_format
        };
        format.parse("key", argument)
    }
}
