//! lmdbjava: a program in Java over its interface. It runs on LMDB, whose library is in lmdbjava's
//! jar, and on Teak's library, and must print the same. (lmdbjava's own tests are not on Maven
//! Central.)

use super::{bench::ClientBench, own::refuse_difference, running};
use crate::{Failure, built};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The programs that must be installed.
const TOOLS: [&str; 3] = ["java", "javac", "mvn"];

/// Compiles the program, and runs it on both.
pub(super) fn run(bench: &ClientBench<'_>) -> Result<(), Failure> {
    for tool in TOOLS {
        if !is_installed(tool)? {
            println!("lmdbjava: SKIPPED, since there is no {tool} here");
            return Ok(());
        }
    }
    let directory = bench.directory.join("lmdbjava");
    fs::create_dir_all(&directory)?;
    let sources = built::workspace().join("crates/teak-lmdb/tests/java");
    let classes = class_path(bench, &directory, &sources.join("pom.xml"))?;
    let mut compiler = Command::new("javac");
    compiler
        .args(["-cp", &classes, "-d"])
        .arg(&directory)
        .arg(sources.join("Client.java"));
    running::succeed(
        &mut compiler,
        &directory.join("javac.log"),
        bench.time_limit(),
    )?;
    let classes = format!("{}:{classes}", directory.display());
    let library = bench.prefix.libraries().join("liblmdb.so.0");
    let theirs = printed(bench, &directory.join("lmdb.log"), &classes, None)?;
    let own = printed(bench, &directory.join("teak.log"), &classes, Some(&library))?;
    refuse_difference("lmdbjava", &theirs, &own)?;
    println!("lmdbjava: the same, {} lines", own.lines().count());
    Ok(())
}

fn is_installed(tool: &str) -> Result<bool, Failure> {
    let mut command = Command::new(tool);
    command.arg("-version").stdin(Stdio::null());
    match command.output() {
        Ok(output) => Ok(output.status.success()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The jars that Maven has got for the program. It is asked again when they are others.
fn class_path(
    bench: &ClientBench<'_>,
    directory: &Path,
    project: &Path,
) -> Result<String, Failure> {
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
    running::succeed(&mut maven, &directory.join("maven.log"), bench.time_limit())?;
    fs::write(known, wanted)?;
    Ok(fs::read_to_string(file)?)
}

/// The output of the program with this library, or with the one in the jar.
fn printed(
    bench: &ClientBench<'_>,
    log: &Path,
    classes: &str,
    library: Option<&PathBuf>,
) -> Result<String, Failure> {
    let directory = tempfile::tempdir()?;
    let mut java = Command::new("java");
    // lmdbjava looks into buffers of Java's.
    for package in ["java.nio", "sun.nio.ch"] {
        java.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    }
    if let Some(library) = library {
        java.arg(format!("-Dlmdbjava.native.lib={}", library.display()));
    }
    java.args(["-cp", classes, "Client"]).arg(directory.path());
    match running::run(&mut java, log, bench.time_limit())? {
        (Some(status), printed) if status.success() => Ok(printed),
        _ => Err(Failure(format!(
            "the program in Java has failed: see {}",
            log.display()
        ))),
    }
}
