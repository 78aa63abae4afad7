//! Tests of the messages for system errors.

use super::remedy;
use crate::{Error, io::Failure};
use std::{io, path::Path};

/// No failure that the engine knows.
const INTERRUPTED: i32 = if cfg!(unix) { 4 } else { 995 };

#[test]
fn system_errors_name_the_file_and_the_remedy() {
    let cases = [
        (
            Failure::NotFound,
            "correct the path, or create the directory",
        ),
        (Failure::Denied, "check the permissions"),
        (Failure::NotAllowed, "lsattr"),
        (Failure::ReadOnly, "mounted read-only"),
        (Failure::DiskFull, "free some space"),
        (Failure::Quota, "quota"),
        (Failure::FileTooLong, "ulimit -f"),
        (Failure::NoMemory, "ulimit -v"),
        (Failure::ProcessFiles, "ulimit -n"),
        (Failure::SystemFiles, "fs.file-max"),
        (Failure::NameTooLong, "choose a shorter one"),
        (Failure::LinkLoop, "symbolic links"),
        (Failure::Exists, "another name"),
        (Failure::NotDirectory, "not a directory"),
        (Failure::IsDirectory, "instead of a directory"),
        (Failure::DiskFailed, "dmesg"),
        (Failure::NoLocks, "no locks left"),
    ];
    for (failure, remedy) in cases {
        let code = failure.code();
        if code == 0 {
            // This system has no such failure.
            continue;
        }
        let error = Error::io("opening the database file")(io::Error::from_raw_os_error(code));
        let text = error.at(Path::new("/a/b")).to_string();
        assert!(
            text.starts_with("opening the database file (/a/b) failed: "),
            "{text}"
        );
        assert!(text.contains(&format!("(os error {code}); ")), "{text}");
        assert!(text.contains(remedy), "{text}");
    }
    let interrupted = io::Error::from_raw_os_error(INTERRUPTED);
    assert_eq!(remedy(&interrupted), None);
}

#[test]
fn errors_wrapped_by_a_library_have_a_remedy() {
    let wrapped = tempfile::tempdir_in("/no/such/directory").expect_err("there is none");
    assert_eq!(wrapped.raw_os_error(), None);
    assert_eq!(remedy(&wrapped), remedy(&Failure::NotFound.error()));
}

#[test]
fn the_first_path_of_an_error_is_kept() {
    let error = Error::io("flushing the file")(io::Error::from_raw_os_error(INTERRUPTED));
    let error = error.at(Path::new("first")).at(Path::new("second"));
    let text = error.to_string();
    let cause = io::Error::from_raw_os_error(INTERRUPTED);
    assert_eq!(text, format!("flushing the file (first) failed: {cause}"));
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
