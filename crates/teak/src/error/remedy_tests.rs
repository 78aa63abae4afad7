//! Tests of the messages for system errors.

use super::{remedy, remedy_for};
use crate::Error;
use std::{io, path::Path};

#[test]
fn system_errors_name_the_file_and_the_remedy() {
    let cases = [
        (libc::ENOENT, "correct the path, or create the directory"),
        (libc::EACCES, "check the permissions"),
        (libc::EPERM, "lsattr"),
        (libc::EROFS, "mounted read-only"),
        (libc::ENOSPC, "free some space"),
        (libc::EDQUOT, "quota"),
        (libc::EFBIG, "ulimit -f"),
        (libc::ENOMEM, "ulimit -v"),
        (libc::EMFILE, "ulimit -n"),
        (libc::ENFILE, "fs.file-max"),
        (libc::ENAMETOOLONG, "choose a shorter one"),
        (libc::ELOOP, "symbolic links"),
        (libc::EEXIST, "another name"),
        (libc::ENOTDIR, "not a directory"),
        (libc::EISDIR, "instead of a directory"),
        (libc::EIO, "dmesg"),
        (libc::ENOLCK, "no locks left"),
    ];
    for (code, remedy) in cases {
        let error = Error::io("opening the database file")(io::Error::from_raw_os_error(code));
        let text = error.at(Path::new("/a/b")).to_string();
        assert!(
            text.starts_with("opening the database file (/a/b) failed: "),
            "{text}"
        );
        assert!(text.contains(&format!("(os error {code}); ")), "{text}");
        assert!(text.contains(remedy), "{text}");
    }
    assert_eq!(remedy_for(libc::EINTR), None);
}

#[test]
fn errors_wrapped_by_a_library_have_a_remedy() {
    let wrapped = tempfile::tempdir_in("/no/such/directory").expect_err("there is none");
    assert_eq!(wrapped.raw_os_error(), None);
    assert_eq!(remedy(&wrapped), remedy_for(libc::ENOENT));
}

#[test]
fn the_first_path_of_an_error_is_kept() {
    let error = Error::io("flushing the file")(io::Error::from_raw_os_error(libc::EINTR));
    let error = error.at(Path::new("first")).at(Path::new("second"));
    let text = error.to_string();
    assert_eq!(
        text,
        "flushing the file (first) failed: Interrupted system call (os error 4)"
    );
}

#[test]
fn paths_are_shown_without_terminal_control_characters() {
    let path = Path::new("a\u{1b}[2J\u{202e}\nb");
    let text = Error::NotFound(path.into()).to_string();
    assert!(text.contains(r"at a\u{1b}[2J\u{202e}\nb; "), "{text}");
    assert!(
        !text
            .chars()
            .any(|character| character.is_control() || character == '\u{202e}')
    );
}
