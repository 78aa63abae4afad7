//! LMDB's own test programs and tools. They are compiled from the sources in a dependency, once
//! with LMDB and once with Teak's library, and must print the same output.

use super::{bench::LmdbClientsArguments, library::find_lmdb};
use crate::{
    Failure, Result,
    clients::{Prefix, Side, comparison::refuse_difference},
    commands,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// LMDB's test programs.
const TESTS: [&str; 6] = ["mtest", "mtest2", "mtest3", "mtest4", "mtest5", "mtest6"];
/// LMDB's tools.
const TOOLS: [&str; 4] = ["mdb_dump", "mdb_load", "mdb_copy", "mdb_stat"];

/// Makes random numbers repeatable, and declares an internal function of LMDB that a test program
/// calls.
const PRELUDE: &str = "#include <stdlib.h>
#define srand(seed) srand(7)
struct MDB_val;
char *mdb_dkey(struct MDB_val *, char *);
";

/// The definition of that function.
const KEY_IN_WORDS: &str = "#include <lmdb.h>
#include <stdio.h>
char *mdb_dkey(MDB_val *key, char *text) {
    sprintf(text, \"%.*s\", (int)key->mv_size, (char *)key->mv_data);
    return text;
}
";

fn directory(side: Side, scratch: &Path) -> PathBuf {
    scratch.join(match side {
        Side::Original => "lmdb",
        Side::Teak => "own",
    })
}

/// The parameters of a compilation.
struct CompileBench<'b> {
    compiler: &'b str,
    sources: &'b Path,
    prefix: &'b Prefix,
    scratch: &'b Path,
}

/// Builds the programs, and runs them.
pub(super) fn run(arguments: &LmdbClientsArguments, prefix: &Prefix) -> Result {
    let sources = match &arguments.sources {
        Some(sources) => sources.clone(),
        None => find_lmdb()?,
    };
    let scratch = tempfile::tempdir()?;
    fs::write(scratch.path().join("prelude.h"), PRELUDE)?;
    fs::write(scratch.path().join("key.c"), KEY_IN_WORDS)?;
    let bench = CompileBench {
        compiler: &arguments.compiler,
        sources: &sources,
        prefix,
        scratch: scratch.path(),
    };
    for side in Side::BOTH {
        fs::create_dir(directory(side, bench.scratch))?;
        for program in TESTS.iter().chain(&TOOLS) {
            bench.compile(program, side)?;
        }
    }
    for test in TESTS {
        bench.compare_test(test)?;
        println!("{test}: the same");
    }
    bench.compare_tools()
}

impl CompileBench<'_> {
    fn compile(&self, program: &str, side: Side) -> Result {
        let mut command = Command::new(self.compiler);
        command
            .args(["-O1", "-w", "-include", "prelude.h", "-o"])
            .arg(directory(side, self.scratch).join(program))
            .arg(self.sources.join(program).with_extension("c"))
            .arg("key.c")
            .arg("-I")
            .arg(self.sources)
            .current_dir(self.scratch);
        match side {
            Side::Original => command.args(["mdb.c", "midl.c"].map(|file| self.sources.join(file))),
            Side::Teak => command.arg("-L").arg(self.prefix.libraries()).arg("-llmdb"),
        };
        commands::run(command.arg("-lpthread"))
    }

    /// The output of a program in the directory of its side.
    fn output(&self, side: Side, program: &str, words: &[&str]) -> Result<Vec<u8>> {
        let directory = directory(side, self.scratch);
        let output = Command::new(directory.join(program))
            .args(words)
            .current_dir(&directory)
            .env("LD_LIBRARY_PATH", self.prefix.libraries())
            .stderr(Stdio::inherit())
            .output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failure!("{program} has failed ({})", output.status)),
        }
    }

    fn compare_test(&self, test: &str) -> Result {
        let [theirs, own] = Side::BOTH.map(|side| {
            let database = directory(side, self.scratch).join("testdb");
            if database.exists() {
                fs::remove_dir_all(&database)?;
            }
            fs::create_dir(&database)?;
            let output = self.output(side, test, &[])?;
            Ok::<_, Failure>(comparable(test, &String::from_utf8_lossy(&output)))
        });
        refuse_difference(test, &theirs?, &own?)
    }

    /// Dumps, loads and copies the database of the last test in all modes.
    fn compare_tools(&self) -> Result {
        let dump = |side, database: &str| {
            let dump = self.output(side, "mdb_dump", &["-a", database])?;
            Ok::<_, Failure>(without_address(&String::from_utf8_lossy(&dump)))
        };
        let own = dump(Side::Teak, "testdb")?;
        refuse_difference("mdb_dump", &dump(Side::Original, "testdb")?, &own)?;
        println!("mdb_dump: the same");

        let directory = directory(Side::Teak, self.scratch);
        for copy in ["loaded", "exact", "dense", "piped"] {
            fs::create_dir(directory.join(copy))?;
        }
        fs::write(directory.join("dump"), &own)?;
        self.output(Side::Teak, "mdb_load", &["-f", "dump", "loaded"])?;
        self.output(Side::Teak, "mdb_copy", &["testdb", "exact"])?;
        self.output(Side::Teak, "mdb_copy", &["-c", "testdb", "dense"])?;
        let piped = self.output(Side::Teak, "mdb_copy", &["-c", "testdb"])?;
        fs::write(directory.join("piped/data.mdb"), piped)?;
        for copy in ["loaded", "exact", "dense", "piped"] {
            refuse_difference(copy, &own, &dump(Side::Teak, copy)?)?;
            println!("{copy}: the same");
        }
        self.output(Side::Teak, "mdb_stat", &["-eafr", "testdb"])?;
        println!("mdb_stat: answers");
        Ok(())
    }
}

/// The comparable part of a test's output: without addresses, and without the page ends of reads of
/// several values.
fn comparable(test: &str, output: &str) -> String {
    let mut lines = Vec::new();
    let mut is_reading_pages = false;
    for line in output.lines() {
        is_reading_pages &= !line.starts_with("Deleted");
        if test == "mtest4" && line.starts_with("key: 001,") && is_reading_pages {
            continue;
        }
        is_reading_pages |= line.starts_with("key: 0x");
        lines.push(without_addresses(line));
    }
    lines.join("\n")
}

/// A line with `-` for each number that begins with `0x`.
fn without_addresses(line: &str) -> String {
    let mut parts = line.split("0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('-');
        text.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    text
}

/// A dump without the address that LMDB's map was at.
fn without_address(dump: &str) -> String {
    let lines = dump.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("mapaddr=")).collect()
}

#[cfg(test)]
mod tests {
    use super::{comparable, without_address};

    #[test]
    fn output_that_depends_on_the_library_is_not_compared() {
        let output =
            "key: 0x7f12ab 001, data: 0x7f 002\nkey: 001, data: 4\nDeleted 1\nkey: 001, data: 5";
        let all = "key: - 001, data: - 002\nkey: 001, data: 4\nDeleted 1\nkey: 001, data: 5";
        assert_eq!(comparable("mtest", output), all);
        let without_pages = all.replace("key: 001, data: 4\n", "");
        assert_eq!(comparable("mtest4", output), without_pages);
        assert_eq!(without_address("a\nmapaddr=0x7\nb\n"), "a\nb\n");
    }
}
