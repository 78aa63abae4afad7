//! The npm package `lmdb`: a program in JavaScript over its interface. It runs on the LMDB that the
//! package has the sources of, and on Teak's library, and must print the same. (The package's own
//! tests are not on the registry.)
//!
//! The package can be built with a changed LMDB or, by `LMDB_DATA_V1`, with 0.9. The latter uses
//! functions of `lmdb.h` only.

use super::{bench::ClientBench, library};
use crate::{
    Failure, Result, built,
    clients::{ClientEnd, Prefix, Side, comparison, npm, running},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The programs that must be installed.
const TOOLS: [&str; 3] = ["node", "npm", "c++"];
/// The package's sources in C++.
const SOURCES: [&str; 10] = [
    "lmdb-js",
    "writer",
    "env",
    "compression",
    "ordered-binary",
    "misc",
    "txn",
    "dbi",
    "cursor",
    "v8-functions",
];

/// Compiles the package's addon, and runs the program.
pub(super) fn run(bench: &ClientBench<'_>) -> Result<ClientEnd> {
    if let Some(tool) = running::missing_tool(&TOOLS) {
        println!("lmdb-js: SKIPPED, since there is no {tool} here");
        return Ok(ClientEnd::Skipped);
    }
    let directory = bench.area.directory.join("lmdb-js");
    fs::create_dir_all(&directory)?;
    let own = built::workspace().join("crates/teak-lmdb/tests/js");
    if let Err(Failure(why)) = npm::install(&bench.area, &directory, &own.join("package.json")) {
        println!("lmdb-js: SKIPPED, since npm cannot download it: {why}");
        return Ok(ClientEnd::Skipped);
    }
    let package = directory.join("node_modules/lmdb");
    let sources = package.join("dependencies/lmdb-data-v1/libraries/liblmdb");
    let lmdb = library::of_lmdb(&directory, &sources, &bench.arguments.compiler)?;
    compile(bench, &directory, &package, &lmdb)?;
    let program = directory.join("client.mjs");
    fs::copy(own.join("client.mjs"), &program)?;
    comparison::compare(&bench.area, "lmdb-js", |side, scratch| {
        let prefix = match side {
            Side::Original => &lmdb,
            Side::Teak => &bench.prefix,
        };
        let mut node = Command::new("node");
        node.arg(&program)
            .arg(scratch.join("db"))
            .env("LD_LIBRARY_PATH", prefix.libraries());
        Ok(node)
    })?;
    Ok(ClientEnd::Completed)
}

/// Compiles the addon, to where the package looks for it.
fn compile(bench: &ClientBench<'_>, directory: &Path, package: &Path, lmdb: &Prefix) -> Result {
    let modules = directory.join("node_modules");
    let release = package.join("build/Release");
    fs::create_dir_all(&release)?;
    let object = directory.join("lz4.o");
    let mut c = Command::new(&bench.arguments.compiler);
    c.args(["-O2", "-w", "-fPIC", "-c", "-o"])
        .arg(&object)
        .arg(package.join("dependencies/lz4/lib/lz4.c"));
    let log = directory.join("compiler.log");
    bench.area.succeed(&mut c, &log)?;

    // One source, so that the headers are read once.
    let source = directory.join("addon.cpp");
    let includes: Vec<_> = SOURCES
        .iter()
        .map(|name| {
            let path = package.join("src").join(name).with_extension("cpp");
            format!("#include \"{}\"\n", path.display())
        })
        .collect();
    fs::write(&source, includes.concat())?;
    // Of the headers of Node.js, the package node-api-headers lacks one, of which nothing is used.
    fs::write(directory.join("node_version.h"), "")?;
    let headers: [PathBuf; 5] = [
        directory.to_path_buf(),
        lmdb.include(),
        modules.join("node-api-headers/include"),
        modules.join("node-addon-api"),
        package.join("dependencies/lz4/lib"),
    ];
    let mut compiler = Command::new("c++");
    compiler
        .args(["-O1", "-w", "-std=c++17", "-fPIC", "-shared"])
        .args(["-fvisibility=hidden", "-DNAPI_DISABLE_CPP_EXCEPTIONS"])
        .args(
            headers
                .iter()
                .flat_map(|path| ["-I".as_ref(), path.as_os_str()]),
        )
        .args([&source, &object])
        .arg("-L")
        .arg(lmdb.libraries())
        .args(["-llmdb", "-lpthread", "-o"])
        .arg(release.join("lmdb.node"));
    bench.area.succeed(&mut compiler, &log)
}
