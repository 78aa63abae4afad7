//! Compressed databases. A variable asks for compression, so the test runs itself with it.

use super::{get, open, options, put};
use crate::{
    directory::{self, OpenOptions},
    files::DATA,
};
use std::{env, fs, process::Command};
use teak::{Compression, Database};

const VARIABLE: &str = "TEAK_LEVELDB_COMPRESSION";
const TEST: &str = "tests::compression::new_databases_are_compressed_as_a_variable_says";

#[test]
fn new_databases_are_compressed_as_a_variable_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let compression_of = |path: &std::path::Path| {
        let database = Database::open(path.join(DATA)).unwrap();
        database.info().compression
    };
    let Some(asked) = env::var_os(VARIABLE) else {
        put(&open(path), b"key", b"value");
        assert_eq!(compression_of(path), None);
        for asked in ["zstd:5", "snappy"] {
            let mut child = Command::new(env::current_exe().unwrap());
            let child = child.args(["--exact", TEST]).env(VARIABLE, asked);
            let child = child.output().unwrap();
            assert!(child.status.success(), "{child:?}");
        }
        return;
    };
    let opened = directory::open(path, options(true));
    if asked == "snappy" {
        let text = opened.err().unwrap().text;
        assert!(text.contains("not lz4, zstd, or zstd:LEVEL"), "{text}");
        return;
    }
    put(&opened.ok().unwrap(), b"key", b"value");
    assert_eq!(get(&open(path), b"key").as_deref(), Some(&b"value"[..]));
    assert_eq!(compression_of(path), Some(Compression::Zstd(5)));
    // An application that wants no compression gets none.
    let plain = path.join("plain");
    fs::create_dir(&plain).unwrap();
    let without = OpenOptions {
        may_compress: false,
        ..options(true)
    };
    drop(directory::open(&plain, without).ok().unwrap());
    assert_eq!(compression_of(&plain), None);
}
