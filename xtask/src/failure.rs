//! The error of every task.

use std::fmt;

/// A failure with a formatted text.
macro_rules! failure {
    ($($text:tt)+) => {
        $crate::Failure(format!($($text)+))
    };
}

/// Returns a failure with a formatted text.
macro_rules! bail {
    ($($text:tt)+) => {
        return Err(failure!($($text)+).into())
    };
}

/// Returns a failure with a formatted text unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            bail!($($text)+);
        }
    };
}

/// Why a task failed.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Failure(pub(crate) String);

/// The result of a task, or of a part of it.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Describes errors.
pub(crate) trait Context<T> {
    /// Puts a description before the text of an error.
    fn context(self, description: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for Result<T, E> {
    fn context(self, description: impl fmt::Display) -> Result<T> {
        self.map_err(|error| failure!("{description}: {}", error.into()))
    }
}

/// A missing value is an error with this text.
impl<T> Context<T> for Option<T> {
    fn context(self, description: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure(description.to_string()))
    }
}
