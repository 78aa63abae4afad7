//! Measures Teak for Java beside other stores of the JVM, in the works of lmdbjava's benchmarks.

mod chart;
mod figures;

use crate::{Context, Result, built, commands, java};
use figures::JavaFigures;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The stores and the forms in which they return values, in the order of columns.
const ENGINES: [&str; 9] = [
    "teak",
    "teak-views",
    "teak-jni",
    "lmdbjava",
    "lmdbjava-copies",
    "leveldbjni",
    "rocksdbjni",
    "mapdb",
    "mvstore",
];

/// The oldest Java that runs the benchmarks.
const OLDEST_JAVA: u32 = 25;

const BEGIN: &str = "<!-- cargo xtask java-bench --accept writes what follows -->\n";
const END: &str = "<!-- end -->\n";

/// Measures Teak for Java beside lmdbjava, leveldbjni, rocksdbjni, MapDB and MVStore
#[derive(clap::Args)]
pub(crate) struct JavaBenchArguments {
    /// Number of records of each database
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// Number of rounds; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Measure 20,000 records in one round, to see that everything works
    #[arg(long)]
    short: bool,
    /// Only works that match this regular expression
    #[arg(long, default_value = "Works")]
    works: String,
    /// Only these engines, separated by commas
    #[arg(long, value_delimiter = ',', default_values = ENGINES)]
    engines: Vec<String>,
    /// Write the figures and the chart to docs/results
    #[arg(long)]
    accept: bool,
    /// The directory of the databases, on the disk to be measured
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// The build profile of Teak
    #[arg(long, default_value = "release")]
    profile: String,
    /// The native library, if it is built already
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// Builds the library and the benchmarks, runs all engines in turns, and shows the medians.
pub(crate) fn run(arguments: &JavaBenchArguments) -> Result {
    let newest = java::jdks().pop().filter(|jdk| jdk.version >= OLDEST_JAVA);
    let java = newest.map(|jdk| jdk.home).context(format_args!(
        "there is no JDK {OLDEST_JAVA} or later in /usr/lib/jvm or JAVA_HOME; install one"
    ))?;
    let library = match &arguments.library {
        Some(library) => library.canonicalize()?,
        None => built::library("teak-jni", &arguments.profile, java::LIBRARY)?,
    };
    build(&java)?;
    let around = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let (rounds, records) = match arguments.short {
        true => (1, 20_000),
        false => (arguments.rounds, arguments.records),
    };
    let mut figures = JavaFigures::new(records);
    for round in 0..rounds {
        let report = around.path().join("report.json");
        let mut engines = arguments.engines.clone();
        let first = round % engines.len().max(1);
        engines.rotate_left(first);
        let mut command = java_command(&java, &library, around.path());
        command
            .args(["org.openjdk.jmh.Main", &arguments.works])
            .args(["-f", "1", "-foe", "true"])
            .args(["-wi", "1", "-w", "2", "-i", "2", "-r", "1"])
            .args(["-p", &format!("records={records}")])
            .args(["-p", &format!("engine={}", engines.join(","))])
            .args(["-rf", "json", "-rff"])
            .arg(&report);
        commands::run(&mut command)?;
        figures.add(&fs::read_to_string(report)?)?;
    }
    let table = figures.table(&ENGINES);
    println!("{table}");
    match arguments.accept {
        true => accept(&table, &figures),
        false => Ok(()),
    }
}

/// Puts the table into the page of results, and the chart beside it.
fn accept(table: &str, figures: &JavaFigures) -> Result {
    let results = built::workspace().join("docs/results");
    let page = results.join("jvm.md");
    let text = fs::read_to_string(&page)?;
    let marks = text.split_once(BEGIN);
    let (before, rest) = marks.context("docs/results/jvm.md has no mark for the figures")?;
    let (_, after) = rest
        .split_once(END)
        .context("docs/results/jvm.md has no mark for the end of the figures")?;
    fs::write(page, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(fs::write(
        results.join("jvm.svg"),
        chart::bars(figures, &ENGINES),
    )?)
}

fn build(java: &Path) -> Result {
    let mut maven = Command::new("mvn");
    maven
        .args(["-B", "-q", "-Pbenchmarks", "-DskipTests"])
        .args(["-pl", "benchmarks", "-am", "package"])
        .env("JAVA_HOME", java)
        .current_dir(built::workspace().join("java"));
    commands::run(&mut maven)
}

/// Java with the benchmarks as its class path. JMH's forks get the same options.
fn java_command(java: &Path, library: &Path, directory: &Path) -> Command {
    let target = built::workspace().join("java/benchmarks/target");
    let classes = format!("{0}/classes:{0}/libraries/*", target.display());
    let mut command = Command::new(java.join("bin/java"));
    command
        .args(["-Xmx3g", "--enable-native-access=ALL-UNNAMED"])
        // lmdbjava and the hash function need these.
        .args(["--add-opens", "java.base/java.nio=ALL-UNNAMED"])
        .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"])
        .arg("--sun-misc-unsafe-memory-access=allow")
        .arg(format!("-Dteak.library.path={}", library.display()))
        .arg(format!("-Djava.io.tmpdir={}", directory.display()))
        .args(["-cp", &classes]);
    command
}
