//! The native library of Teak for Java.
//!
//! Java 22 and later call the C functions `teak_flat_*` and `teak_java_*` directly. Java 17 to 21
//! call them by JNI: `calls.rs` has one function for each, which converts numbers and nothing else.
//! All arguments are numbers: handles, which the C interface checks, and addresses of buffers that
//! the classes of `teak.internal` own. No function calls Java.

// All functions have the same safety contract as those of the C interface.
#![allow(clippy::missing_safety_doc)]

mod calls;
mod list;
mod lists;

pub use lists::*;
