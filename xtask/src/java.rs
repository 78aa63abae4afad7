//! Builds and tests the packages for Java with Maven, on each JDK that is installed.

mod natives;

pub(crate) use natives::LIBRARY;

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
    /// Only build the native libraries for all systems, and their jars
    #[arg(long)]
    natives: bool,
}

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
    if arguments.natives {
        return jars_of_natives(jdks.last());
    }
    let library = built::library("teak-jni", &arguments.profile, LIBRARY)?;
    let natives = natives::of_this_machine(&library)?;
    // The last build is the one with both ways to call the library.
    match old {
        Some(jdk) => maven(jdk, arguments, &library, &natives, &["test"])?,
        None => println!("java: NOT RUN on Java 17 to 21, which is not installed"),
    }
    match new {
        Some(jdk) => {
            // The older Java has run all of Guava's tests by JNI.
            let jni_maps = match old {
                Some(_) => "-Dteak.jni.maps=0",
                None => "-Dteak.jni.maps=10",
            };
            let goals = ["-Prelease", jni_maps, "verify"];
            maven(jdk, arguments, &library, &natives, &goals)?;
        }
        None => println!("java: NOT RUN on Java 22 or later, which is not installed"),
    }
    Ok(())
}

/// Builds the jars with the native libraries of all systems.
fn jars_of_natives(jdk: Option<&Jdk>) -> Result {
    let jdk = jdk.context("there is no JDK 17 or later in /usr/lib/jvm or JAVA_HOME")?;
    let natives = natives::of_all_systems()?;
    let mut maven = maven_command(jdk, &natives);
    maven.args(["-pl", "teak-natives", "-am", "-DskipTests", "package"]);
    commands::run(&mut maven)?;
    let jars = built::workspace().join("java/teak-natives/target");
    println!("java: the jars are in {}", jars.display());
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

fn maven(
    jdk: &Jdk,
    arguments: &JavaArguments,
    library: &Path,
    natives: &Path,
    goals: &[&str],
) -> Result {
    println!("java: Java {}: mvn {}", jdk.version, goals.join(" "));
    let mut maven = maven_command(jdk, natives);
    maven
        .arg(format!("-Dteak.library.path={}", library.display()))
        .arg(format!(
            "-Dteak.misuse.seconds={}",
            arguments.misuse_seconds
        ))
        .arg(format!("-Dteak.kills={}", arguments.kills))
        .args(goals);
    commands::run(&mut maven).context(format_args!("Maven failed with Java {}", jdk.version))
}

fn maven_command(jdk: &Jdk, natives: &Path) -> Command {
    let mut maven = Command::new("mvn");
    maven
        // Modules that do not depend on each other are built side by side.
        .args(["-q", "-B", "-T", "2", "-f"])
        .arg(built::workspace().join("java/pom.xml"))
        .arg(format!("-Dteak.natives={}", natives.display()))
        .env("JAVA_HOME", &jdk.home);
    maven
}
