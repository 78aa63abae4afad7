//! Programs in C and C++ that use the headers and libraries. They share one binary because linking
//! each takes long.

mod cplusplus;
mod programs;
mod tools;
