//! The process limit that an error of the system refers to.

use crate::io::{Failure, Limit, system_limit};
use std::io;

/// The limit in brackets, for the end of a message; empty if no limit explains the error.
pub(super) fn limit(operation: &str, error: &io::Error) -> String {
    let limit = match error.raw_os_error().and_then(Failure::of) {
        Some(Failure::FileTooLong) => Limit::FileLen,
        Some(Failure::ProcessFiles) => Limit::OpenFiles,
        Some(Failure::NoMemory) => Limit::AddressSpace,
        Some(Failure::TryAgain) if operation.contains("thread") => Limit::Threads,
        _ => return String::new(),
    };
    match system_limit(limit) {
        Some(most) => format!(" ({} is {most})", limit.name()),
        None => String::new(),
    }
}
