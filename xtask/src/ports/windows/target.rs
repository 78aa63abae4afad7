//! The target and the linker of programs for Windows.

pub(super) const TARGET: &str = "x86_64-pc-windows-gnu";
pub(super) const LINKER: &str = "x86_64-w64-mingw32-gcc";
