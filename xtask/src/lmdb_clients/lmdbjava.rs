//! lmdbjava: a Java program that uses its interface. It runs on LMDB, whose library is in
//! lmdbjava's jar, and on Teak's library, and must print the same output. (lmdbjava's own tests are
//! not on Maven Central.)

use super::bench::ClientBench;
use crate::{
    Result, built,
    clients::{ClientEnd, Side, comparison, running},
};
use std::{fs, path::Path, process::Command};

/// The programs that must be installed.
const TOOLS: [&str; 3] = ["java", "javac", "mvn"];

/// Compiles the program, and runs it on both libraries.
pub(super) fn run(bench: &ClientBench<'_>) -> Result<ClientEnd> {
    if let Some(tool) = running::missing_tool(&TOOLS) {
        println!("lmdbjava: SKIPPED, {tool} is not installed");
        return Ok(ClientEnd::Skipped);
    }
    let directory = bench.area.directory.join("lmdbjava");
    fs::create_dir_all(&directory)?;
    let sources = built::workspace().join("crates/teak-lmdb/tests/java");
    let classes = class_path(bench, &directory, &sources.join("pom.xml"))?;
    let mut compiler = Command::new("javac");
    compiler
        .args(["-cp", &classes, "-d"])
        .arg(&directory)
        .arg(sources.join("Client.java"));
    bench
        .area
        .succeed(&mut compiler, &directory.join("javac.log"))?;
    let classes = format!("{}:{classes}", directory.display());
    let library = bench.prefix.libraries().join("liblmdb.so.0");
    comparison::compare(&bench.area, "lmdbjava", |side, scratch| {
        let mut java = Command::new("java");
        // lmdbjava accesses internals of Java's buffers.
        for package in ["java.nio", "sun.nio.ch"] {
            java.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
        }
        if side == Side::Teak {
            java.arg(format!("-Dlmdbjava.native.lib={}", library.display()));
        }
        java.args(["-cp", &classes, "Client"]).arg(scratch);
        Ok(java)
    })?;
    Ok(ClientEnd::Completed)
}

/// The jars that Maven downloaded for the program. Maven runs again if the dependencies change.
fn class_path(bench: &ClientBench<'_>, directory: &Path, project: &Path) -> Result<String> {
    let (known, file) = (directory.join("pom.xml"), directory.join("class-path"));
    let wanted = fs::read(project)?;
    if fs::read(&known).is_ok_and(|known| known == wanted) {
        let classes = fs::read_to_string(&file)?;
        if classes.split(':').all(|jar| Path::new(jar).exists()) {
            return Ok(classes);
        }
    }
    let mut maven = Command::new("mvn");
    maven
        .args(["-q", "-B", "-f"])
        .arg(project)
        .arg("dependency:build-classpath")
        .arg(format!("-Dmdep.outputFile={}", file.display()));
    bench
        .area
        .succeed(&mut maven, &directory.join("maven.log"))?;
    fs::write(known, wanted)?;
    Ok(fs::read_to_string(file)?)
}
