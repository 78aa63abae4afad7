//! Error codes of the system that the engine knows.

use super::{
    system::{FAILURES, REMEDIES},
    types::Failure,
};
use std::io::{self, ErrorKind};

impl Failure {
    /// The meaning of an error code of the system.
    pub(crate) fn of(code: i32) -> Option<Self> {
        let found = FAILURES.iter().find(|(_, known)| *known == code);
        found.map(|(failure, _)| *failure)
    }

    /// The meaning of an error. If a library has wrapped the system's error, only its kind is
    /// left.
    pub(crate) fn of_error(error: &io::Error) -> Option<Self> {
        match error.raw_os_error() {
            Some(code) => Self::of(code),
            None => Self::of_kind(error.kind()),
        }
    }

    fn of_kind(kind: ErrorKind) -> Option<Self> {
        Some(match kind {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::StorageFull => Self::DiskFull,
            ErrorKind::QuotaExceeded => Self::Quota,
            ErrorKind::FileTooLarge => Self::FileTooLong,
            ErrorKind::OutOfMemory => Self::NoMemory,
            ErrorKind::InvalidFilename => Self::NameTooLong,
            ErrorKind::AlreadyExists => Self::Exists,
            ErrorKind::IsADirectory => Self::IsDirectory,
            ErrorKind::NotADirectory => Self::NotDirectory,
            _ => return None,
        })
    }

    /// A remedy that names tools of the system. `None` if they add nothing.
    pub(crate) fn system_remedy(self) -> Option<&'static str> {
        let found = REMEDIES.iter().find(|(failure, _)| *failure == self);
        found.map(|(_, remedy)| *remedy)
    }

    /// The system's error code. 0 if it has none.
    pub(crate) const fn code(self) -> i32 {
        let mut index = 0;
        while index < FAILURES.len() {
            let (known, code) = FAILURES[index];
            if known as u8 == self as u8 {
                return code;
            }
            index += 1;
        }
        0
    }

    pub(crate) fn error(self) -> io::Error {
        debug_assert_ne!(self.code(), 0, "the system has a code for what is reported");
        io::Error::from_raw_os_error(self.code())
    }
}
