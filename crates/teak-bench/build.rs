//! Passes the compiler's version and the profile to the program, which prints them with its
//! figures, and compiles the parts in C.

use std::{env, process::Command};

fn main() {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    let profile = env::var("PROFILE").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=TEAK_BENCH_COMPILER={version} ({profile} profile)");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "berkeleydb")]
    compile_shim("berkeleydb", "db");
    #[cfg(feature = "wiredtiger")]
    compile_shim("wiredtiger", "wiredtiger");
}

/// Compiles the C code for engines whose interface is only usable from C.
#[cfg(any(feature = "berkeleydb", feature = "wiredtiger"))]
fn compile_shim(engine: &str, library: &str) {
    let source = format!("src/engines/shims/{engine}.c");
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new()
        .file(source)
        .compile(&format!("{engine}_shim"));
    println!("cargo::rustc-link-lib={library}");
}
