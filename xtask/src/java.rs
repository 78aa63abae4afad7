//! Builds and tests the packages for Java with Maven, on each JDK that is installed.

use crate::{Context, Result, built, clients::running, commands};
use clap::Parser;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the packages for Java, and tests them on Java 17 (by JNI) and on 22 or later (both ways)
#[derive(Parser)]
pub(crate) struct JavaArguments {
    /// The profile of the native library
    #[arg(long, default_value = "dev")]
    profile: String,
    /// Let threads misuse everything for so many seconds
    #[arg(long, default_value_t = 4)]
    misuse_seconds: u32,
    /// Kill virtual machines under load so many times
    #[arg(long, default_value_t = 5)]
    kills: u32,
}

/// The file name of the native library.
pub(crate) const LIBRARY: &str = "libteak_java.so";
/// The first Java that calls the library without JNI.
const FIRST_WITH_FFM: u32 = 22;

pub(crate) struct Jdk {
    pub(crate) version: u32,
    pub(crate) home: PathBuf,
}

pub(crate) fn run(arguments: &JavaArguments) -> Result {
    if let Some(tool) = running::missing_tool(&["mvn"]) {
        println!("java: NOT RUN, {tool} is not installed");
        return Ok(());
    }
    let jdks = jdks();
    let old = jdks.iter().find(|jdk| jdk.version < FIRST_WITH_FFM);
    let new = jdks.iter().rfind(|jdk| jdk.version >= FIRST_WITH_FFM);
    let library = built::library("teak-jni", &arguments.profile, LIBRARY)?;
    let natives = natives(&library)?;
    // The last build is the one with both ways to call the library.
    match old {
        Some(jdk) => maven(jdk, arguments, &library, &natives, &["test"])?,
        None => println!("java: NOT RUN on Java 17 to 21, which is not installed"),
    }
    match new {
        Some(jdk) => {
            let by_jni = ["-pl", "teak-java", "-Dteak.calls=jni", "test"];
            maven(jdk, arguments, &library, &natives, &by_jni)?;
            maven(jdk, arguments, &library, &natives, &["-Prelease", "verify"])?;
        }
        None => println!("java: NOT RUN on Java 22 or later, which is not installed"),
    }
    Ok(())
}

/// The installed JDKs from Java 17 on, the oldest first.
pub(crate) fn jdks() -> Vec<Jdk> {
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let homes = installed.flatten().map(|entry| entry.path());
    let homes = homes.chain(env::var_os("JAVA_HOME").map(PathBuf::from));
    let mut jdks: Vec<Jdk> = homes.filter_map(jdk).collect();
    jdks.sort_by_key(|jdk| jdk.version);
    jdks
}

fn jdk(home: PathBuf) -> Option<Jdk> {
    if !home.join("bin/javac").exists() {
        return None;
    }
    let release = fs::read_to_string(home.join("release")).ok()?;
    let version = built::quoted(&release, "JAVA_VERSION=\"", |_| true)?;
    let version = version.split('.').next()?.parse().ok()?;
    (version >= 17).then_some(Jdk { version, home })
}

/// Makes the directory from which Maven builds the jar with the native library.
fn natives(library: &Path) -> Result<PathBuf> {
    let directory = built::target_directory()?.join("java-natives");
    let platform = format!("META-INF/native/linux-{}", env::consts::ARCH);
    let platform = directory.join(platform);
    fs::create_dir_all(&platform)?;
    let copy = platform.join(LIBRARY);
    fs::copy(library, &copy)?;
    // Most of a library for tests is debug information.
    let stripped = Command::new("strip").arg(&copy).status();
    if !stripped.is_ok_and(|status| status.success()) {
        println!("java: the library in the jar keeps its debug information: strip failed");
    }
    Ok(directory)
}

fn maven(
    jdk: &Jdk,
    arguments: &JavaArguments,
    library: &Path,
    natives: &Path,
    goals: &[&str],
) -> Result {
    println!("java: Java {}: mvn {}", jdk.version, goals.join(" "));
    let project = built::workspace().join("java/pom.xml");
    let mut maven = Command::new("mvn");
    maven
        .args(["-q", "-B", "-f"])
        .arg(project)
        .arg(format!("-Dteak.library.path={}", library.display()))
        .arg(format!("-Dteak.natives={}", natives.display()))
        .arg(format!(
            "-Dteak.misuse.seconds={}",
            arguments.misuse_seconds
        ))
        .arg(format!("-Dteak.kills={}", arguments.kills))
        .args(goals)
        .env("JAVA_HOME", &jdk.home);
    commands::run(&mut maven).context(format_args!("Maven failed with Java {}", jdk.version))
}
