//! Whether blocks of free pages are being given back.

#[derive(Clone, Default, Debug)]
pub(super) struct Punching {
    pub(super) is_punching: bool,
    /// The file system cannot do it, or does not want to.
    pub(super) is_refused: bool,
}
