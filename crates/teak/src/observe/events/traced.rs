//! Events as events of the crate `tracing`.

use super::Event;
use crate::observe::trace::{microseconds, name_of};
use std::path::Path;
use tracing::Level;

macro_rules! emit {
    ($level:ident, $path:expr, $event:expr, $($fields:tt)*) => {
        tracing::event!(
            target: "teak", Level::$level, database = %$path.display(), $($fields)*, "{}", $event
        )
    };
}

impl Event {
    /// Emits the event of a database. Its message is the text of the event.
    pub(super) fn emit(&self, path: &Path) {
        match self {
            Self::Opened { file_bytes, .. } => {
                emit!(INFO, path, self, event = "opened", file_bytes)
            }
            Self::Commit {
                transaction,
                durability,
                bytes,
                latency,
            } => {
                let (durability, latency_us) = (name_of(*durability), microseconds(*latency));
                let transaction = transaction.0;
                emit!(
                    DEBUG,
                    path,
                    self,
                    event = "commit",
                    transaction,
                    durability,
                    bytes,
                    latency_us
                );
            }
            Self::Flush { bytes, duration } => {
                let duration_us = microseconds(*duration);
                emit!(DEBUG, path, self, event = "flush", bytes, duration_us);
            }
            Self::Grown {
                old_bytes,
                file_bytes,
            } => emit!(DEBUG, path, self, event = "grown", old_bytes, file_bytes),
            Self::Shrunk {
                old_bytes,
                file_bytes,
            } => emit!(DEBUG, path, self, event = "shrunk", old_bytes, file_bytes),
            Self::Closed { file_bytes } => emit!(INFO, path, self, event = "closed", file_bytes),
            trouble => trouble.emit_trouble(path),
        }
    }

    /// Emits an event that somebody should look at.
    fn emit_trouble(&self, path: &Path) {
        match self {
            Self::SlowReader(slow) => {
                let (reader, wanted_pages) = (&slow.reader, slow.wanted_pages);
                let (process, thread, kept_bytes) =
                    (reader.process, reader.thread, reader.kept_bytes);
                emit!(
                    WARN,
                    path,
                    self,
                    event = "slow_reader",
                    process,
                    thread,
                    kept_bytes,
                    wanted_pages
                );
            }
            Self::WriterDied { newest } => {
                emit!(WARN, path, self, event = "writer_died", newest = newest.0);
            }
            Self::Poisoned { operation, error } => {
                let error = error.as_str();
                emit!(ERROR, path, self, event = "poisoned", operation, error);
            }
            Self::NameLost { .. } => emit!(WARN, path, self, event = "name_lost"),
            Self::WaitsForItself { .. } => emit!(WARN, path, self, event = "waits_for_itself"),
            Self::Opened { .. }
            | Self::Commit { .. }
            | Self::Flush { .. }
            | Self::Grown { .. }
            | Self::Shrunk { .. }
            | Self::Closed { .. } => {}
        }
    }
}
