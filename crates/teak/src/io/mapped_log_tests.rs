use super::*;
use crate::io::{can, faults::handle_faults, sys::Access};
use std::{fs, os::unix::fs::FileExt};

const LEN: usize = 64 << 10;

/// A mapped file that has its first half; `None` if there are no such mappings.
fn mapped() -> Option<(tempfile::NamedTempFile, MappedLog)> {
    if !can("mapped writes", |abilities| abilities.mapped_writes) {
        return None;
    }
    handle_faults().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all_at(&[0; LEN / 2], 0).unwrap();
    let held = HeldFile::new(file.reopen().unwrap(), Access::ReadWrite).unwrap();
    let mapped = MappedLog::new(&held, LEN).unwrap();
    Some((file, mapped))
}

#[test]
fn stored_bytes_are_in_the_file() {
    let Some((file, mut mapped)) = mapped() else {
        return;
    };
    mapped.store(b"first", 0).unwrap();
    mapped.store(b"second", 4093).unwrap();
    file.as_file()
        .write_all_at(&[0; LEN / 2], LEN as u64 / 2)
        .unwrap();
    mapped.store(b"last", LEN as u64 - 4).unwrap();
    let content = fs::read(file.path()).unwrap();
    assert_eq!(&content[..5], b"first");
    assert_eq!(&content[4093..][..6], b"second");
    assert_eq!(&content[LEN - 4..], b"last");
}

#[test]
fn a_store_where_the_file_was_truncated_fails_and_so_do_later_ones() {
    let Some((file, mut mapped)) = mapped() else {
        return;
    };
    mapped.store(b"kept", 0).unwrap();
    file.as_file().set_len(4096).unwrap();
    assert!(mapped.store(b"lost", 8192).is_err());
    assert!(mapped.store(b"later", 100).is_err());
    let content = fs::read(file.path()).unwrap();
    assert_eq!(content.len(), 4096, "it does not become longer again");
    assert_eq!(&content[..5], b"kept\0");
    assert!(content[5..].iter().all(|byte| *byte == 0));
}
