//! The target of programs for Windows.

pub(super) const TARGET: &str = "x86_64-pc-windows-gnu";
