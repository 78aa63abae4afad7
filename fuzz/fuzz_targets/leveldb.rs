//! Any bytes as the files of a LevelDB directory: a table, a log or a manifest beside valid ones. Reading all of its records
//! may fail, and must do nothing worse.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{fs, path::Path};
use teak_foreign::{Result, leveldb::LevelDb};

/// The first byte chooses the file that has the others.
const FILES: [&str; 4] = ["000005.ldb", "000060.log", "MANIFEST-000057", "CURRENT"];
const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/teak-foreign/tests/data/leveldb");

fn read(directory: &Path, is_unordered: bool) -> Result<()> {
    let source = LevelDb::open(directory)?;
    let mut records = source.records(directory, is_unordered)?;
    while records.next_record()?.is_some() {}
    source.refuse_changed()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    for entry in fs::read_dir(STORED).expect("the stored directory") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), directory.path().join(entry.file_name())).expect("copies");
    }
    let file = FILES[usize::from(*choice) % FILES.len()];
    fs::write(directory.path().join(file), bytes).expect("writes");
    let _ = read(directory.path(), choice & 0x80 != 0);
});
