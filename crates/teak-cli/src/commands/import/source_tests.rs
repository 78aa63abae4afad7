use super::ForeignSource;
use crate::failure::Failure;
use std::ffi::OsString;
use std::fs;

/// Regression: an import did not notice a concurrent writer, and reported records out of order when
/// it read pages that were in use again.
#[test]
fn a_changed_source_is_reported_before_its_consequences() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data.mdb");
    let made = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/repository/crates/teak-foreign/tests/data/lmdb-0.9.mdb"
    );
    fs::copy(made, &path).expect("copies");
    let argument = OsString::from(format!("lmdb:{}", path.display()));
    let source = ForeignSource::open(&argument).expect("opens");
    let explained = || match source.explain(Failure::Damaged("not in order".to_owned())) {
        Failure::Damaged(text) | Failure::Source(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(explained(), "not in order");

    // Another transaction in both of the first pages.
    let mut bytes = fs::read(&path).expect("reads");
    for page in [0, 4096] {
        bytes[page + 16 + 128] = 99;
    }
    fs::write(&path, bytes).expect("writes");
    let text = explained();
    assert!(text.contains("it changed while it was read"), "{text}");
}
