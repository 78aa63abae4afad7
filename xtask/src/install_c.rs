//! Installs the interfaces for C and C++: headers, libraries, the `pkg-config` file and the CMake
//! package.

use crate::{
    Result, built,
    install::{self, InstallArguments, VERSION, describe, install_headers},
};
use clap::Parser;
use std::fs;

/// Builds the interfaces for C and C++ and installs them
#[derive(Parser)]
pub(crate) struct InstallCArguments {
    #[command(flatten)]
    common: InstallArguments,
}

/// The library's `soname`. Another number is an incompatible interface.
const SONAME: &str = "libteak.so.0";

pub(crate) fn run(InstallCArguments { common }: &InstallCArguments) -> Result {
    let prefix = common.directory()?;
    common.build("teak-c")?;
    // Tests that build the libraries put them there.
    let built = built::directory(&common.profile)?.join("deps");
    let package = built::workspace().join("crates/teak-c");
    let libraries = prefix.join("lib");
    let descriptions = libraries.join("pkgconfig");
    install_headers(&package.join("include"), &prefix.join("include"))?;
    describe(&package.join("teak.pc.in"), &descriptions, &common.prefix)?;
    fs::copy(built.join("libteak_c.a"), libraries.join("libteak.a"))?;
    let library = format!("libteak.so.{VERSION}");
    fs::copy(built.join("libteak_c.so"), libraries.join(&library))?;
    install::link(
        &libraries,
        &[(SONAME, library.as_str()), ("libteak.so", SONAME)],
    )?;
    let cmake = libraries.join("cmake/Teak");
    for name in ["TeakConfig.cmake.in", "TeakConfigVersion.cmake.in"] {
        describe(&package.join("cmake").join(name), &cmake, &common.prefix)?;
    }
    println!("installed in {}", prefix.display());
    match common.is_tried {
        true => install::trial::run(&prefix, "teak-c", "teak"),
        false => Ok(()),
    }
}
