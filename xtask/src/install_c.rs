//! Installs the interfaces for C and C++: headers, libraries, the `pkg-config` file and the CMake
//! package.

use crate::{
    Result, built,
    install::{self, InstallArguments, SharedLibrary, describe, install_headers, install_library},
};
use clap::Parser;
use std::{env::consts::OS, fs};

/// Builds the interfaces for C and C++ and installs them
#[derive(Parser)]
pub(crate) struct InstallCArguments {
    #[command(flatten)]
    common: InstallArguments,
    /// A target of the compiler, to install for another platform
    #[arg(long, conflicts_with = "is_tried")]
    target: Option<String>,
}

/// The libraries of a system. The number in the name of a library is that of its interface:
/// another one is incompatible.
struct SystemLibraries {
    shared: SharedLibrary,
    /// Libraries that the static one needs, by `rustc --print native-static-libs`.
    needs: &'static str,
}

const LINUX: SystemLibraries = SystemLibraries {
    shared: SharedLibrary {
        file: [
            "libteak_c.so",
            concat!("lib/libteak.so.", env!("CARGO_PKG_VERSION")),
        ],
        imports: None,
        links: &[
            (
                "libteak.so.0",
                concat!("libteak.so.", env!("CARGO_PKG_VERSION")),
            ),
            ("libteak.so", "libteak.so.0"),
        ],
        identity: "IMPORTED_SONAME \"libteak.so.0\"",
    },
    needs: "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc",
};
const FREEBSD: SystemLibraries = SystemLibraries {
    needs: "-lexecinfo -lpthread -lgcc_s -lm -lrt -lutil -lkvm -lmemstat -lprocstat -ldevstat -lc",
    ..LINUX
};
const ANDROID: SystemLibraries = SystemLibraries {
    shared: SharedLibrary {
        file: ["libteak_c.so", "lib/libteak.so"],
        imports: None,
        links: &[],
        identity: "IMPORTED_SONAME \"libteak.so\"",
    },
    needs: "-ldl -llog -lunwind -lm -lc",
};
const APPLE: SystemLibraries = SystemLibraries {
    shared: SharedLibrary {
        file: ["libteak_c.dylib", "lib/libteak.0.dylib"],
        imports: None,
        links: &[("libteak.dylib", "libteak.0.dylib")],
        identity: "IMPORTED_SONAME \"@rpath/libteak.0.dylib\"",
    },
    needs: "-lSystem -lm -lc",
};
/// Programs name the shared library by its file.
const WINDOWS: SystemLibraries = SystemLibraries {
    shared: SharedLibrary {
        file: ["teak_c.dll", "bin/teak_c.dll"],
        imports: Some(["libteak_c.dll.a", "lib/libteak.dll.a"]),
        links: &[],
        identity: "IMPORTED_IMPLIB \"${_teak_prefix}/lib/libteak.dll.a\"",
    },
    needs: "-lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp",
};

/// The libraries of a target, or of this system.
fn libraries_of(target: Option<&str>) -> &'static SystemLibraries {
    let is_for = |name: &str| target.unwrap_or(OS).contains(name);
    match () {
        () if is_for("windows") => &WINDOWS,
        () if is_for("apple") || is_for("macos") => &APPLE,
        () if is_for("freebsd") => &FREEBSD,
        () if is_for("android") => &ANDROID,
        () => &LINUX,
    }
}

pub(crate) fn run(InstallCArguments { common, target }: &InstallCArguments) -> Result {
    let prefix = common.directory()?;
    let built = common.build("teak-c", target.as_deref())?.join("deps");
    let package = built::workspace().join("crates/teak-c");
    let files = libraries_of(target.as_deref());
    let libraries = prefix.join("lib");
    let descriptions = libraries.join("pkgconfig");
    let cmake = libraries.join("cmake/Teak");
    install_headers(&package.join("include"), &prefix.join("include"))?;
    describe(&package.join("teak.pc.in"), &descriptions, &common.prefix)?;
    for name in ["TeakConfig.cmake.in", "TeakConfigVersion.cmake.in"] {
        describe(&package.join("cmake").join(name), &cmake, &common.prefix)?;
    }
    for description in [descriptions.join("teak.pc"), cmake.join("TeakConfig.cmake")] {
        let text = files.shared.describe(&fs::read_to_string(&description)?);
        let text = text.replace("@needs@", files.needs).replace(
            "@needs-list@",
            &files.needs.replace("-l", "").replace(' ', ";"),
        );
        fs::write(description, text)?;
    }
    let all = [["libteak_c.a", "lib/libteak.a"], files.shared.file];
    for [from, to] in all.into_iter().chain(files.shared.imports) {
        install_library(&built.join(from), &prefix, to)?;
    }
    install::link(&libraries, files.shared.links)?;
    println!("installed in {}", prefix.display());
    match common.is_tried {
        true => install::trial::run(&prefix, "teak-c", "teak"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::libraries_of;

    #[test]
    fn libraries_have_the_names_of_their_system() {
        let shared = |target| libraries_of(Some(target)).shared.file[1];
        assert_eq!(shared("aarch64-apple-darwin"), "lib/libteak.0.dylib");
        assert_eq!(shared("aarch64-linux-android"), "lib/libteak.so");
        for target in ["x86_64-unknown-freebsd", "aarch64-unknown-linux-musl"] {
            assert!(shared(target).starts_with("lib/libteak.so."), "{target}");
        }
    }
}
