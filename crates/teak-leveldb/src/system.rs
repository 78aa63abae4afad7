//! The differences of operating systems: locks of programs, names of files, flushed directories.

mod types;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

pub(crate) use types::{FileId, Users};
