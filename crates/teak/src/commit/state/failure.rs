//! The failure after which nothing becomes durable.

use crate::Error;
use std::io;

/// The first failed write or flush. An [`io::Error`] cannot be cloned, so its parts are kept.
#[derive(Clone, Debug)]
pub(crate) struct CommitFailure {
    operation: &'static str,
    kind: io::ErrorKind,
    errno: Option<i32>,
    text: String,
}

impl CommitFailure {
    pub(crate) fn new(operation: &'static str, error: &io::Error) -> Self {
        Self {
            operation,
            kind: error.kind(),
            errno: error.raw_os_error(),
            text: error.to_string(),
        }
    }

    pub(crate) fn to_error(&self) -> Error {
        let error = match self.errno {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::new(self.kind, self.text.clone()),
        };
        Error::io(self.operation)(error)
    }
}
