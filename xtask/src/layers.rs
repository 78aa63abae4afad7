//! Checks that imports of the engine run downwards only, from layer to layer.
//!
//! Sources are read as tokens, so that comments and strings do not count, and macros do. Tests may
//! import everything: `*_tests.rs`, `tests.rs`, files in `tests/` and `*_tests/`, items under
//! `#[cfg(test)]`.

mod cycles;
mod impls;
mod paths;

#[cfg(test)]
mod tests;

use crate::{
    Context, Result, built,
    ratchet::Ratchet,
    sources::{self, Source, is_test_file},
};
use clap::Args;
use cycles::Cycles;
use paths::{Finding, Scan, layer_of};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Checks the engine's layers, and all crates for import cycles between files
#[derive(Args, Default)]
pub(crate) struct LayersArguments {
    /// Only print the import cycles of each crate
    #[arg(long)]
    cycles: bool,
    /// Print with each file of a cycle what it imports from the others
    #[arg(long, requires = "cycles")]
    imports: bool,
    /// The workspace to check [default: the one that this program was built from]
    #[arg(long)]
    root: Option<PathBuf>,
}

/// The layers that each layer may import, from the lowest to the highest. Every module of the
/// crate's root is listed here.
const LAYERS: &[(&str, &[&str])] = &[
    ("cipher", &[]),
    ("page", &[]),
    // Storage encrypts what it writes.
    ("io", &["cipher"]),
    ("btree", &["page"]),
    ("alloc", &["page"]),
    // A commit record holds the roots of the free-space map.
    ("record", &["alloc"]),
    // Memory shared by processes comes from the system, and holds commit records.
    ("share", &["record", "io"]),
    ("observe", &["share", "record"]),
    (
        "read",
        &["observe", "share", "record", "alloc", "btree", "io", "page"],
    ),
    (
        "commit",
        &[
            "read", "observe", "share", "record", "alloc", "btree", "io", "page",
        ],
    ),
    (
        "instance",
        &[
            "commit", "read", "observe", "share", "record", "alloc", "btree", "io", "cipher",
            "page",
        ],
    ),
    (
        "process",
        &["instance", "commit", "read", "share", "record", "io"],
    ),
    (
        "write",
        &[
            "instance", "commit", "read", "observe", "share", "record", "alloc", "btree", "io",
            "page",
        ],
    ),
    (
        "maintain",
        &[
            "write", "instance", "read", "record", "alloc", "btree", "io", "page",
        ],
    ),
    (
        "open",
        &[
            "process", "instance", "commit", "read", "observe", "share", "record", "alloc",
            "btree", "io", "cipher", "page",
        ],
    ),
    (
        "admin",
        &[
            "open", "maintain", "write", "commit", "read", "record", "alloc", "btree", "io", "page",
        ],
    ),
    (
        "api",
        &[
            "admin", "open", "maintain", "write", "process", "instance", "commit", "read",
            "observe", "share", "record", "btree", "page", "cipher",
        ],
    ),
    // Documentation only.
    ("guide", &["api"]),
];

/// Single files that may import one layer more. None of them is in an import cycle.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Options say how the file is opened, and tests open simulated files.
    ("api/options.rs", "io"),
    ("api/opening.rs", "io"),
    // No process joins while the key changes.
    ("api/change_key.rs", "io"),
    // It draws random bytes, and asks for the permissions of a file with a key.
    ("cipher/system.rs", "io"),
    // They ask for the meaning of an error code, and for the limit that explains it.
    ("error/limit.rs", "io"),
    ("error/remedy.rs", "io"),
    // Text that was checked is text, and saying so is unsafe.
    ("api/codec/small.rs", "io"),
    ("page/leaf/view.rs", "io"),
    // A finished copy is renamed to its final name.
    ("api/backup.rs", "io"),
    ("api/unfinished_file.rs", "io"),
    ("api/restore.rs", "io"),
    ("api/permissions.rs", "io"),
    // The instruction that prefetches a cache line counts as unsafe.
    ("btree/cursor/prefetch.rs", "io"),
    ("btree/lookup.rs", "io"),
    ("btree/reading.rs", "io"),
    ("btree/sort.rs", "io"),
    // The steps of a commit work on the whole write transaction. The other files of `commit` do not
    // use it.
    ("commit/pipeline.rs", "write"),
    ("commit/pipeline.rs", "maintain"),
    ("commit/pipeline.rs", "instance"),
    ("commit/pipeline/build_record.rs", "write"),
    ("commit/pipeline/defer.rs", "write"),
    ("commit/pipeline/journal.rs", "write"),
    ("commit/pipeline/prepare.rs", "write"),
    ("commit/pipeline/space.rs", "write"),
    ("commit/pipeline/space.rs", "maintain"),
    // The lock is kept as long as this process has commits in memory that no other process can
    // continue from.
    ("commit/committer.rs", "process"),
    ("instance/engine.rs", "process"),
    ("instance/acquire_writer.rs", "process"),
    // Closing shortens the file, and so does beginning to write.
    ("instance/opening.rs", "maintain"),
    ("open/close.rs", "maintain"),
    ("write/begin.rs", "maintain"),
    // Files that are saved or restored may be encrypted.
    ("admin/copy_length.rs", "instance"),
    ("admin/salvage.rs", "instance"),
    // A read transaction begins with an open database. The parts of `read` below it do not use one.
    ("read/reader.rs", "instance"),
    ("read/reader_hold.rs", "instance"),
    ("read/slow_readers.rs", "instance"),
];

/// Modules that every layer may import.
const COMMON: &[&str] = &["types", "error", "planted", "sync", "clock", "unique_id"];

/// Modules that may import everything, and that nothing may import.
const ABOVE_ALL: &[&str] = &["testing"];

/// The crate's root. It names everything, and is in no layer.
const ROOT: &str = "lib";

/// The only layer that may use `unsafe`.
const UNSAFE_LAYER: &str = "io";

/// The folder that calls the system.
const SYSTEM_FOLDER: &str = "io/sys";

/// The files above that layer with their number of promises to it: that pages stay while they are
/// borrowed (`io/pinned.rs` has the reasons), or that nobody else accesses bytes written through a
/// mapping.
const PROMISES: &[(&str, usize)] = &[
    ("admin/salvage/choose.rs", 1),
    ("commit/disk.rs", 1),
    ("commit/journal.rs", 1),
    ("commit/journal/redo.rs", 1),
    ("instance/held_writer_lock.rs", 1),
    ("open/recovery_audit.rs", 2),
    ("open/settle.rs", 1),
    ("read/frame_eviction.rs", 1),
    ("read/published.rs", 2),
    ("read/reader_hold.rs", 1),
    ("read/snapshot.rs", 1),
    ("write/pages/extents.rs", 2),
    ("write/pages/transaction_file.rs", 1),
    ("write/small.rs", 1),
];

const LINES_MAX: usize = 800;

/// The crate that has layers.
const ENGINE: &str = "teak";

/// Checks the sources, or prints their cycles.
pub(crate) fn run(arguments: &LayersArguments) -> Result {
    let root = arguments.root.as_deref();
    let packages = sources::packages(root.unwrap_or(built::workspace()))?;
    let cycles: Vec<Cycles> = packages.iter().map(Cycles::of).collect::<Result<_, _>>()?;
    if arguments.cycles {
        for cycles in &cycles {
            cycles.print(arguments.imports);
        }
        return Ok(());
    }
    let engine = packages.iter().find(|package| package.name == ENGINE);
    let engine = engine.context(format_args!("there is no crate {ENGINE}"))?;
    let mut ratchet = Ratchet {
        complaints: check(&engine.sources)?,
        ..Ratchet::default()
    };
    for cycles in &cycles {
        cycles.compare(&mut ratchet);
    }
    ratchet.finish("layers")
}

/// All complaints, one line each.
fn check(sources: &[Source]) -> Result<Vec<String>> {
    let exports = match sources
        .iter()
        .find(|source| source.path == Path::new("lib.rs"))
    {
        Some(root) => paths::exports(&root.text)?,
        None => BTreeMap::new(),
    };
    let mut complaints = Vec::new();
    for source in sources {
        let name = source.path.display();
        let of_file = check_file(source, &exports).context(format_args!("{name}"))?;
        complaints.extend(of_file.into_iter().map(|text| format!("{name}:{text}")));
    }
    let product = sources.iter().filter(|source| !is_test_file(&source.path));
    complaints.extend(impls::check(product)?);
    Ok(complaints)
}

fn check_file(source: &Source, exports: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let line_count = source.text.lines().count();
    if line_count > LINES_MAX {
        complaints.push(format!(
            "{line_count}: too many lines, split the file ({LINES_MAX} are allowed)"
        ));
    }
    let layer = layer_of(&source.path);
    if layer != ROOT && !is_known(&layer) && !is_test_file(&source.path) {
        complaints.push(format!(
            "1: {layer} is not in the table of layers; add it with its imports"
        ));
    }
    let scan = Scan::of(&source.text, depth_of(&source.path))?;
    if layer != UNSAFE_LAYER {
        let promised = PROMISES
            .iter()
            .find(|(path, _)| source.path == Path::new(path));
        let allowed = promised.map_or(0, |(_, count)| *count);
        complaints.extend(
            scan.unsafe_lines
                .iter()
                .skip(allowed)
                .map(|line| format!("{line}: unsafe outside of {UNSAFE_LAYER}")),
        );
    }
    if !source.path.starts_with(SYSTEM_FOLDER) && !is_test_file(&source.path) {
        let found = scan.system_lines.iter();
        let text =
            |line| format!("{line}: the system is called or asked for outside of {SYSTEM_FOLDER}");
        complaints.extend(found.map(text));
    }
    if layer != ROOT && !is_test_file(&source.path) {
        let found = upward(&layer, &scan.findings, exports).filter(|(target, _)| {
            !EXCEPTIONS
                .iter()
                .any(|(path, layer)| source.path == Path::new(path) && target == layer)
        });
        complaints.extend(found.map(|(_, text)| text));
    }
    Ok(complaints)
}

fn is_known(module: &str) -> bool {
    LAYERS.iter().any(|(name, _)| *name == module)
        || COMMON.contains(&module)
        || ABOVE_ALL.contains(&module)
}

/// The forbidden imports of a file of `layer`, each with a description.
fn upward<'a>(
    layer: &'a str,
    findings: &'a [Finding],
    exports: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a str, String)> {
    findings.iter().filter_map(move |Finding { name, line }| {
        let target = exports.get(name).unwrap_or(name).as_str();
        let is_free = !is_known(target) || COMMON.contains(&target) || target == layer;
        let is_upward = !is_free && allowed(layer).is_some_and(|below| !below.contains(&target));
        is_upward.then(|| (target, format!("{line}: {layer} imports {target} ({name})")))
    })
}

/// The layers that a layer may import; `None` if it may import everything.
fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    if ABOVE_ALL.contains(&layer) {
        return None;
    }
    // A module that is not in the table is common or unknown. Neither may import upwards.
    Some(
        LAYERS
            .iter()
            .find(|(name, _)| *name == layer)
            .map_or(&[], |(_, below)| *below),
    )
}

/// The number of modules between a file and the crate's root.
fn depth_of(path: &Path) -> usize {
    let is_directory_itself = path
        .file_stem()
        .is_some_and(|stem| stem == "mod" || stem == ROOT);
    path.iter().count() - usize::from(is_directory_itself)
}
