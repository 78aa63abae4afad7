//! Differences between the engine and the model.

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
    if engine == model {
        return Ok(());
    }
    let (engine, model) = (short(&engine), short(&model));
    Err(ModelViolation::Other(format!(
        "{description}: the engine says {engine}, the model {model}"
    )))
}

/// Fails unless the value is the model's.
pub(crate) fn expect_bytes(
    description: &str,
    engine: Option<&[u8]>,
    model: Option<&[u8]>,
) -> ModelResult {
    if engine == model {
        return Ok(());
    }
    let show = |value: Option<&[u8]>| match value {
        None => "no record".to_owned(),
        Some(bytes) => format!(
            "{} bytes {}",
            bytes.len(),
            short(&bytes.escape_ascii().to_string())
        ),
    };
    Err(ModelViolation::Other(format!(
        "{description}: the engine says {}, the model {}",
        show(engine),
        show(model)
    )))
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
        Err(error) => Err(ModelViolation::Other(format!(
            "{description}: refused with the wrong error: {error}"
        ))),
        Ok(_) => Err(ModelViolation::Other(format!(
            "{description}: accepted, but should have been refused"
        ))),
    }
}

fn short<T: fmt::Debug>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
