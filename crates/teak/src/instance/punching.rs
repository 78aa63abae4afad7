//! Whether blocks of free pages are being given back to the file system.

#[derive(Clone, Default, Debug)]
pub(crate) struct Punching {
    pub(crate) is_punching: bool,
    /// The file system does not support it or refuses it.
    pub(crate) is_refused: bool,
}
