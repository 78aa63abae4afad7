//! The library for clients of LMDB: programs in C that use it as a DLL, and what they print with
//! LMDB on this system. LMDB itself, compiled for Windows, opens no environment under wine.

use super::{
    mingw::{Program, empty, printed},
    target::TARGET,
    wine::Wine,
};
use crate::{Result, built, commands, lmdb_clients::library::find_lmdb, ports::targets};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

const SHARED: &str = "lmdb.dll";
const IMPORTS: &str = "liblmdb.dll.a";
/// Programs that print the same with LMDB.
const COMPARED: &[&str] = &[
    "before",
    "compare",
    "equal",
    "sizes",
    "loading",
    "missed",
    "closing",
    "loops",
    "threads",
    "ended_threads",
    "one_value",
    "deleted",
    "nested_calls",
    "random",
    "js",
];
/// Programs some lines of which differ.
const DIFFERENT: &[DifferentLines] = &[
    DifferentLines {
        name: "files",
        reason: "no file of the library is inherited",
        lines: &[(39, "closed when another program begins: 1")],
    },
    DifferentLines {
        name: "readers",
        reason: "a lock file keeps no number of readers",
        lines: &[
            (12, "    1 readers, at most 2, 2"),
            (22, "    1 readers, at most 3, 3"),
        ],
    },
];
/// The version that the library reports to all programs.
const VERSION: &str = "0.9.24";
/// Programs that only run with the library, and what they print.
const OWN: &[(&str, &str)] = &[
    ("over", ""),
    ("closed", ""),
    ("version", "LMDB 0.9.24: (Teak) 0.9.24"),
    (
        "ended_late",
        "one\ntwo\nmdb_txn_begin(env, NULL, MDB_RDONLY, &other): MDB_BAD_RSLOT\nthree\n\
         mdb_txn_renew(second): 0\nthree\nmdb_txn_begin(env, NULL, MDB_RDONLY, &own): 0",
    ),
];
/// Programs that cannot be run, and why.
const SKIPPED: &[(&str, &str)] = &[
    ("sizes_of_others", "it forks"),
    ("memory", "C's library does not say how much memory is used"),
    (
        "replaced",
        "a mapped file that is deleted keeps its name until it is closed",
    ),
];

/// A program that prints some lines of its own, and why.
struct DifferentLines {
    name: &'static str,
    reason: &'static str,
    /// The numbers and the texts of the lines.
    lines: &'static [(usize, &'static str)],
}

/// The programs that ran.
pub(super) struct LmdbCounts {
    equal: usize,
    own: usize,
}

impl fmt::Display for LmdbCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { equal, own } = self;
        write!(
            f,
            "{equal} programs print what they print with LMDB, {} but for {} lines, {own} others \
             pass, {} not run",
            DIFFERENT.len(),
            DIFFERENT
                .iter()
                .map(|program| program.lines.len())
                .sum::<usize>(),
            SKIPPED.len()
        )
    }
}

/// Builds the library and the programs, and runs them.
pub(super) fn run(wine: &Wine, directory: &Path) -> Result<LmdbCounts> {
    for (name, reason) in SKIPPED {
        println!("    not run, {reason}: {name}.c of LMDB's interface");
    }
    for DifferentLines {
        name,
        reason,
        lines,
    } in DIFFERENT
    {
        println!("    {} lines differ, {reason}: {name}.c", lines.len());
    }
    let directory = empty(directory.join("lmdb"))?;
    let mut build = targets::cargo("build", TARGET);
    commands::run(build.args(["--package", "teak-lmdb"]))?;
    let built = built::target_directory()?.join(TARGET).join("debug");
    // Programs look for it in their own directory.
    fs::copy(built.join(SHARED), directory.join(SHARED))?;
    let imports = built.join(IMPORTS);
    let programs = LmdbPrograms {
        wine,
        directory: &directory,
        imports: imports.to_string_lossy().into_owned(),
        lmdb: find_lmdb()?,
    };
    let all = COMPARED.iter().map(|name| (*name, &[][..]));
    let different = DIFFERENT
        .iter()
        .map(|program| (program.name, program.lines));
    for (name, lines) in all.chain(different) {
        programs.compare(name, lines)?;
    }
    for (name, expected) in OWN {
        let printed = programs.with_ours(name)?;
        ensure!(printed == *expected, "{name}.c prints {printed:?}");
    }
    Ok(LmdbCounts {
        equal: COMPARED.len(),
        own: OWN.len(),
    })
}

struct LmdbPrograms<'a> {
    wine: &'a Wine,
    directory: &'a Path,
    /// The import library.
    imports: String,
    /// The directory of LMDB's sources.
    lmdb: PathBuf,
}

impl LmdbPrograms<'_> {
    /// Compares what a program prints with what it prints with LMDB. Some lines have texts of their
    /// own.
    fn compare(&self, name: &str, different: &[(usize, &str)]) -> Result {
        let (ours, theirs) = (self.with_ours(name)?, self.with_lmdb(name)?);
        let different: BTreeMap<_, _> = different.iter().copied().collect();
        let lines = ours.lines().zip(theirs.lines());
        for ((ours, theirs), number) in lines.zip(1..) {
            let expected = different.get(&number).copied().unwrap_or(theirs);
            ensure!(
                ours == expected,
                "{name}.c: line {number} is {ours:?} and not {expected:?}; with LMDB it is \
                 {theirs:?}"
            );
        }
        let counts = [&ours, &theirs].map(|text| text.lines().count());
        ensure!(
            counts[0] == counts[1],
            "{name}.c: {} lines, and {} with LMDB",
            counts[0],
            counts[1]
        );
        Ok(())
    }

    /// The output of a program with the library.
    fn with_ours(&self, name: &str) -> Result<String> {
        let headers = built::workspace().join("crates/teak-lmdb/include");
        let program = Program {
            source: source(name),
            words: vec![&self.imports, "-lpthread"],
            headers: vec![&headers],
        };
        let program = program.compile(self.directory, "shared")?;
        printed(self.wine, &program, &[], &[("TEAK_LMDB_VERSION", VERSION)])
    }

    /// The output of a program with LMDB on this system.
    fn with_lmdb(&self, name: &str) -> Result<String> {
        let program = self.directory.join(format!("{name}-lmdb"));
        let files = program.with_extension("files");
        fs::create_dir(&files)?;
        let mut compile = Command::new("cc");
        compile.args(["-w", "-I"]).arg(&self.lmdb);
        compile.arg("-o").arg(&program).arg(source(name));
        let sources = ["mdb.c", "midl.c"].map(|name| self.lmdb.join(name));
        commands::output(compile.args(sources).arg("-lpthread"))?;
        commands::output(Command::new(&program).current_dir(&files))
    }
}

/// The source of a program.
fn source(name: &str) -> PathBuf {
    built::workspace().join(format!("crates/teak-lmdb/tests/c/{name}.c"))
}
