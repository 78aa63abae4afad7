//! Exit codes and texts match `docs/errors.md`.

use super::*;
use teak::{
    Error,
    testing::{documented, samples},
};

#[test]
fn errors_of_the_engine_have_the_exit_codes_that_are_documented() {
    for (name, error) in samples() {
        let code = (engine_kind(&error) as u8).to_string();
        assert_eq!(documented(name)[3], code, "{name}");
    }
}

#[test]
fn failures_of_the_program_have_the_texts_and_exit_codes_that_are_documented() {
    let row = |name: &str| documented(&format!("Failure::{name}"));
    let text = |name| row(name)[1].to_owned();
    let malformed = Malformed {
        input: "coins.dump".to_owned(),
        line: 2,
        column: 1,
        expected: "a tab after the key".to_owned(),
        found: "\"x\"".to_owned(),
    };
    let missing = || io::Error::from_raw_os_error(2);
    let failures = [
        ("NotFound", Failure::NotFound(text("NotFound"))),
        ("Usage", Failure::Usage(text("Usage"))),
        ("Damaged", Failure::Damaged(text("Damaged"))),
        ("Unverified", Failure::Unverified(text("Unverified"))),
        ("Busy", Failure::Busy(text("Busy"))),
        ("Source", Failure::Source(text("Source"))),
        ("Input", Failure::Input(malformed)),
        (
            "Record",
            Failure::Record {
                line: 2,
                error: Error::KeyTooLong {
                    len: 2000,
                    max: 1356,
                },
            },
        ),
        (
            "File",
            Failure::file("reading", Path::new("coins.tsv"))(missing()),
        ),
        ("Output", Failure::Output(io::Error::from_raw_os_error(28))),
    ];
    for (name, failure) in failures {
        let row = row(name);
        assert_eq!(row[1], failure.message(), "{name}");
        assert!(
            row[2].starts_with(&(failure.kind() as u8).to_string()),
            "{name}"
        );
    }
}
