//! Gives the shared library its name and the version of its interface.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let name = match system.as_str() {
        "linux" | "freebsd" => "-soname,libteak.so.0",
        // Packages of Android have no versions in the names of libraries.
        "android" => "-soname,libteak.so",
        "macos" | "ios" => "-install_name,@rpath/libteak.0.dylib",
        // On Windows the library has the name of its file.
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,{name}");
}
