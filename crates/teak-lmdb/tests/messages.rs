use lmdb::{
    codes,
    messages::{mdb_strerror, mdb_version},
};
use std::{
    ffi::{CStr, c_int},
    ptr,
};

fn text(code: c_int) -> String {
    // SAFETY: it returns a string.
    let text = unsafe { CStr::from_ptr(mdb_strerror(code)) };
    text.to_str().unwrap().to_owned()
}

#[test]
fn codes_have_texts_that_begin_with_their_names() {
    assert!(text(codes::KEYEXIST).starts_with("MDB_KEYEXIST"));
    assert!(text(codes::NOTFOUND).starts_with("MDB_NOTFOUND"));
    assert!(text(codes::MAP_FULL).starts_with("MDB_MAP_FULL"));
    assert!(text(codes::BAD_VALSIZE).starts_with("MDB_BAD_VALSIZE"));
    assert!(text(codes::BAD_DBI).starts_with("MDB_BAD_DBI"));
    assert!(text(0).starts_with("Success"));
    assert!(text(-1).contains("Invalid"));
    assert!(text(libc::ENOENT).contains("No such file"));
}

#[test]
fn the_version_is_that_of_the_interface() {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: memory for three numbers.
    let words = unsafe { mdb_version(&raw mut major, &raw mut minor, &raw mut patch) };
    assert_eq!((major, minor), (0, 9));
    // SAFETY: it returns a string.
    let words = unsafe { CStr::from_ptr(words) };
    assert!(
        words
            .to_str()
            .unwrap()
            .contains(&format!("{major}.{minor}.{patch}"))
    );
    // SAFETY: null for unwanted results.
    assert!(!unsafe { mdb_version(ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) }.is_null());
}
