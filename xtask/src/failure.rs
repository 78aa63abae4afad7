//! The error of every task.

/// Why a task failed.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A failure with a formatted text.
macro_rules! failure {
    ($($text:tt)+) => {
        $crate::Failure(format!($($text)+))
    };
}

/// Returns a failure with a formatted text.
macro_rules! bail {
    ($($text:tt)+) => {
        return Err(failure!($($text)+))
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
