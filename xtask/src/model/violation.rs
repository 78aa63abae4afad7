//! Differences between the engine and the model.

use crate::{Failure, Result};
use std::fmt;

/// A difference between the engine and the model, or an unexpected error.
#[derive(Debug)]
pub(crate) enum ModelViolation {
    Other(String),
    /// The size limit is reached. This is a violation only if there is no limit.
    Full(String),
}

/// The result of an operation.
pub(crate) type ModelResult<T = ()> = Result<T, ModelViolation>;

impl From<teak::Error> for ModelViolation {
    fn from(error: teak::Error) -> Self {
        let text = format!("unexpected error: {error} ({error:?})");
        match error {
            teak::Error::Full { .. } => Self::Full(text),
            _ => Self::Other(text),
        }
    }
}

impl From<Failure> for ModelViolation {
    fn from(Failure(text): Failure) -> Self {
        Self::Other(text)
    }
}

impl fmt::Display for ModelViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Other(text) | Self::Full(text)) = self;
        f.write_str(text)
    }
}

/// Fails unless the engine and the model agree.
pub(crate) fn expect_same<T: PartialEq + fmt::Debug>(
    description: &str,
    engine: T,
    model: T,
) -> ModelResult {
    ensure!(
        engine == model,
        "{description}: the engine says {}, the model {}",
        short(&engine),
        short(&model)
    );
    Ok(())
}

/// Fails unless the value is the model's.
pub(crate) fn expect_bytes(
    description: &str,
    engine: Option<&[u8]>,
    model: Option<&[u8]>,
) -> ModelResult {
    let show = |value: Option<&[u8]>| match value {
        None => "no record".to_owned(),
        Some(bytes) => {
            let text = short(&bytes.escape_ascii().to_string());
            format!("{} bytes {text}", bytes.len())
        }
    };
    ensure!(
        engine == model,
        "{description}: the engine says {}, the model {}",
        show(engine),
        show(model)
    );
    Ok(())
}

/// Fails unless the engine refused, with an error that `is_expected`.
pub(crate) fn expect_error<T>(
    description: &str,
    result: teak::Result<T>,
    is_expected: impl Fn(&teak::Error) -> bool,
) -> ModelResult {
    match result {
        Err(error) if is_expected(&error) => Ok(()),
        Err(error @ teak::Error::Full { .. }) => Err(error.into()),
        Err(error) => bail!("{description}: refused with the wrong error: {error}"),
        Ok(_) => bail!("{description}: accepted, but should have been refused"),
    }
}

/// The error with which a nested transaction ends that is not to be kept.
pub(crate) fn not_kept() -> teak::Error {
    teak::Error::InvalidArgument("not kept".to_owned())
}

/// Fails unless a nested transaction ended as it should.
pub(crate) fn expect_kept(result: teak::Result<()>, keep: bool) -> ModelResult {
    match result {
        Ok(()) if keep => Ok(()),
        Err(teak::Error::InvalidArgument(text)) if !keep && text == "not kept" => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => Err(failure!("a nested transaction was kept").into()),
    }
}

/// Fails unless the engine refused, with an error of this pattern.
macro_rules! expect_refused {
    ($description:expr, $result:expr, $($pattern:tt)+) => {
        $crate::model::violation::expect_error($description, $result, |error| {
            matches!(error, $($pattern)+)
        })
    };
}
pub(crate) use expect_refused;

fn short<T: fmt::Debug>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
