//! Whether blocks of free pages are being given back.

#[derive(Clone, Default, Debug)]
pub(crate) struct Punching {
    pub(crate) is_punching: bool,
    /// The file system cannot do it, or does not want to.
    pub(crate) is_refused: bool,
}
