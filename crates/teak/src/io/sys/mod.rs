//! The seam to the operating system: one module for each system, with the same functions. No other
//! folder calls a system, or asks which one it is.
//!
//! If a system cannot do something, the answer is `None` or `false`, or an error that
//! [`is_refusal`] recognises, and the callers handle that on all systems alike. `plain` is a Unix
//! without specialities. It is selected by `--cfg teak_plain`, so that the work without a
//! speciality is tested on any Unix. [Porting](../../../../../docs/porting.md) has the list of what
//! a system provides.

mod durable;
#[cfg_attr(not(unix), allow(dead_code))] // Not every system has each of them.
mod failure;
#[allow(dead_code)] // Each system takes what it has no better way for.
mod lacks;
#[allow(dead_code)] // For systems without calls for it.
mod poll;
#[cfg_attr(not(unix), allow(dead_code))] // Not every system has each of them.
mod types;

#[cfg(unix)]
#[allow(dead_code, unused_imports)] // A system takes what it has no better way for.
mod unix;

#[cfg(all(target_vendor = "apple", not(teak_plain)))]
mod apple;
#[cfg(all(target_vendor = "apple", not(teak_plain)))]
use apple as system;

#[cfg(all(target_os = "freebsd", not(teak_plain)))]
mod freebsd;
#[cfg(all(target_os = "freebsd", not(teak_plain)))]
use freebsd as system;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(teak_plain)))]
mod linux;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(teak_plain)))]
use linux as system;

#[cfg(teak_plain)]
mod plain;
#[cfg(teak_plain)]
use plain as system;

#[cfg(target_family = "wasm")]
mod wasm;
#[cfg(target_family = "wasm")]
use wasm as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

pub(crate) use durable::DurableWriter;
pub(crate) use system::*;
pub(crate) use types::*;

#[cfg(not(any(
    teak_plain,
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "linux",
    target_os = "android",
    target_family = "wasm",
    windows
)))]
compile_error!("Teak has no module for this system; docs/porting.md tells what one consists of");

#[cfg(any(
    target_endian = "big",
    not(any(target_pointer_width = "64", target_family = "wasm"))
))]
compile_error!(
    "Teak runs on little-endian systems with 64-bit addresses: the file has little-endian numbers \
     that are read where they are mapped, and files are mapped as a whole"
);
