//! Gives the shared library the name that clients of LMDB look for.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let name = match system.as_str() {
        "linux" | "freebsd" => "-soname,liblmdb.so.0",
        "android" => "-soname,liblmdb.so",
        "macos" | "ios" => "-install_name,@rpath/liblmdb.dylib",
        // On Windows the library has the name of its file.
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,{name}");
}
