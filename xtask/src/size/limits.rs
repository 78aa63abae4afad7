//! Limits for the number of offenders in each crate, and for the lines of code for each assertion
//! in folders of the engine. These numbers only go down.

/// The limits of a crate.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) crate_name: &'static str,
    pub(super) functions: usize,
    pub(super) files: usize,
    pub(super) names: usize,
}

const fn of(crate_name: &'static str, functions: usize, files: usize, names: usize) -> Limits {
    Limits {
        crate_name,
        functions,
        files,
        names,
    }
}

/// Lines of code for each assertion in folders of the engine. Other folders are not limited.
pub(super) const LINES_PER_ASSERTION: &[(&str, usize)] = &[
    ("alloc", 39),
    ("commit", 40),
    ("io", 69),
    ("record", 40),
    ("share", 39),
    ("write", 53),
];

/// A crate that is not listed has no offenders.
pub(super) const LIMITS: &[Limits] = &[
    // Crate, functions, files, names.
    of("differential", 0, 1, 0),
    of("forged-files", 0, 0, 0),
    of("teak", 0, 0, 0),
    of("teak-bench", 0, 0, 0),
    of("teak-c", 0, 0, 0),
    of("teak-foreign", 0, 0, 0),
    of("teak-lmdb", 0, 0, 0),
];
