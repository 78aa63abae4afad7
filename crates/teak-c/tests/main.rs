//! Programs in C and C++ that use the headers and libraries. They share one binary because linking
//! each takes long. The programs for Windows are run by `cargo xtask ports windows`.
#![cfg(unix)]

mod cplusplus;
mod programs;
mod tools;
