//! Operations that only tables have in which a key has several values.

mod point;
mod read;
mod values;
mod write;

pub use values::Values;

/// The error for a table whose values have no fixed size, where they are requested as one slice.
#[cold]
fn not_packed() -> crate::Error {
    let text = "values are packed only in tables whose values all have one size; create the table with `TableOptions::value_size`";
    crate::Error::InvalidArgument(text.into())
}
