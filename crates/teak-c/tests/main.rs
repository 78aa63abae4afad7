//! Programs in C and C++ over the headers and the libraries. One binary, since each is linked anew.

mod cplusplus;
mod programs;
mod tools;
