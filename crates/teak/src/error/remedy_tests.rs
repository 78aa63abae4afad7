//! Tests of the messages for system errors.

use super::remedy;
use crate::{Error, io::Failure};
use std::{fs, io, path::Path};

/// No failure that the engine knows.
const INTERRUPTED: i32 = if cfg!(unix) { 4 } else { 995 };

const ON_LINUX: bool = cfg!(any(target_os = "linux", target_os = "android"));

const fn on_linux(there: &'static str, elsewhere: &'static str) -> &'static str {
    if ON_LINUX { there } else { elsewhere }
}

const fn on_unix(there: &'static str, elsewhere: &'static str) -> &'static str {
    if cfg!(unix) { there } else { elsewhere }
}

#[test]
fn remedies_that_fit_any_system_name_no_tool_of_one() {
    let mut read = 0;
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !path.ends_with("io/sys") {
                directories.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let texts = fs::read_to_string(&path).unwrap();
                for tool in ["ulimit", "lsattr", "dmesg", "fs.file-max", "vm.", "fuser"] {
                    assert!(!texts.contains(tool), "{tool}: {}", path.display());
                }
                read += 1;
            }
        }
    }
    assert!(read > 100, "{read} files");
}

#[test]
fn system_errors_name_the_file_and_the_remedy() {
    let cases = [
        (
            Failure::NotFound,
            "correct the path, or create the directory",
        ),
        (Failure::Denied, "check the permissions"),
        (Failure::NotAllowed, on_linux("lsattr", "attributes")),
        (Failure::ReadOnly, "mounted read-only"),
        (Failure::DiskFull, "free some space"),
        (Failure::Quota, "quota"),
        (
            Failure::FileTooLong,
            on_unix("ulimit -f", "raise the limit"),
        ),
        (Failure::NoMemory, on_unix("ulimit -v", "raise the limit")),
        (
            Failure::ProcessFiles,
            on_unix("ulimit -n", "raise the limit"),
        ),
        (
            Failure::SystemFiles,
            on_linux("fs.file-max", "raise the limit"),
        ),
        (Failure::NameTooLong, "choose a shorter one"),
        (Failure::LinkLoop, "symbolic links"),
        (Failure::Exists, "another name"),
        (Failure::NotDirectory, "not a directory"),
        (Failure::IsDirectory, "instead of a directory"),
        (Failure::DiskFailed, on_unix("dmesg", "system log")),
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
