//! Characters that control terminals or the direction of text are always shown as escapes.

use crate::support::{ProgramOutput, TestDir, parse};

/// DEL, CSI, soft hyphen, zero-width space, line and paragraph separator, right-to-left override,
/// isolate, byte order mark, a private-use character, a tag.
const HIDDEN: [char; 11] = [
    '\u{7f}',
    '\u{9b}',
    '\u{ad}',
    '\u{200b}',
    '\u{2028}',
    '\u{2029}',
    '\u{202e}',
    '\u{2066}',
    '\u{feff}',
    '\u{e000}',
    '\u{e0041}',
];
const EVIL: &str =
    "x\u{7f}\u{9b}\u{ad}\u{200b}\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e000}\u{e0041}y";

fn shows_nothing_hidden(arguments: &[&str], run: &ProgramOutput) {
    for text in [&run.stdout, &run.stderr] {
        let hidden = text.find(|character: char| {
            HIDDEN.contains(&character) || character.is_control() && !"\n\t".contains(character)
        });
        assert_eq!(hidden, None, "teak {arguments:?}: {run:?}");
    }
}

fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "--table", EVIL, EVIL, EVIL]);
    dir.succeed(&["snapshot", "create", "a.teak", EVIL]);
    dir.succeed(&["put", "a.teak", "--table", EVIL, EVIL, "other"]);
    std::fs::copy(dir.path("a.teak"), dir.path(EVIL)).expect("copies the database");
    dir.write(
        "bad.dump",
        format!("VERSION=3\n{EVIL}=1\nformat=print\nHEADER=END\n {EVIL}\nDATA=END\n"),
    );
    dir
}

#[test]
fn messages_about_the_command_line_have_no_hidden_characters() {
    let dir = TestDir::new();
    let option = format!("--{EVIL}");
    let evil = format!("x\n\u{1b}{EVIL}");
    for arguments in [
        &[&*evil][..],
        &["get", "a.teak", "k", &option],
        &["get", "a.teak", "k", "--format", &evil],
        &["page", "a.teak", &evil],
        &["compact", "a.teak", "--until-bytes", &evil],
        &["readers", "a.teak", "--cancel", &evil],
        &["put", "a.teak", "k", "--wait-timeout", &evil],
        &["completions", &evil],
    ] {
        for style in [&[][..], &["--json"]] {
            let run = dir.run(&[style, arguments].concat());
            assert_eq!(run.code, 2, "{run:?}");
            shows_nothing_hidden(arguments, &run);
            assert!(!run.stderr.contains("\nx"), "{run:?}");
        }
        let run = dir.run(&[&["--json"], arguments].concat());
        let error = parse(&run.stderr)["error"].to_string();
        assert!(!error.starts_with("\"error"), "{run:?}");
    }
}

#[test]
fn text_and_json_show_hidden_characters_as_escapes() {
    let dir = prepared();
    let commands: &[&[&str]] = &[
        &["tables", "a.teak"],
        &["scan", "a.teak", "--table", EVIL],
        &["dump", "a.teak", "--table", EVIL, "--format", "tsv"],
        &["snapshot", "list", "a.teak"],
        &["diff", "a.teak", EVIL],
        &["diff", "a.teak", EVIL, "--table", EVIL],
        &["get", "a.teak", "--table", EVIL, "absent"],
        &["get", "a.teak", "--table", EVIL, &EVIL.repeat(2)],
        &["get", "a.teak", &EVIL.repeat(2)],
        &["get", "a.teak", "k", "--snapshot", &EVIL.repeat(2)],
        &["del", "a.teak", "--table", EVIL, &EVIL.repeat(2)],
        &["table", "create", "a.teak", EVIL],
        &["table", "drop", "a.teak", &EVIL.repeat(2)],
        &["table", "clear", "a.teak", &EVIL.repeat(2)],
        &["table", "rename", "a.teak", &EVIL.repeat(2), "x"],
        &["snapshot", "drop", "a.teak", &EVIL.repeat(2)],
        &["snapshot", "create", "a.teak", EVIL],
        &["load", "bad.dump", "b.teak"],
        &["load", EVIL, "b.teak"],
        &["check", EVIL],
        &["stat", EVIL],
        &["stat", "a.teak"],
        &["page", "a.teak", "4"],
        &["get", &EVIL.repeat(2), "k"],
        &["import", &format!("lmdb:{EVIL}"), "c.teak"],
        &["restore", &EVIL.repeat(2), "c.teak"],
        &["backup", "a.teak", EVIL],
        &["salvage", EVIL, "saved.teak"],
    ];
    for arguments in commands {
        shows_nothing_hidden(arguments, &dir.run(arguments));
        shows_nothing_hidden(arguments, &dir.run(&[arguments, &["--json"][..]].concat()));
    }
}

#[test]
fn escapes_of_shown_names_are_read_back() {
    let dir = prepared();
    let line = dir.succeed(&[
        "scan",
        "a.teak",
        "--table",
        EVIL,
        "--format",
        "json",
        "--snapshot",
        EVIL,
    ]);
    let record = parse(&line);
    assert_eq!(
        (&record["key"], &record["value"]),
        (&EVIL.into(), &EVIL.into())
    );

    let dumped = dir.succeed(&["dump", "a.teak", "--table", EVIL, "--format", "tsv"]);
    dir.write("in.tsv", &dumped);
    dir.succeed(&["load", "in.tsv", "b.teak"]);
    assert_eq!(dir.succeed(&["get", "b.teak", EVIL]), "other\n");
    assert_eq!(dir.succeed(&["dump", "b.teak", "--format", "tsv"]), dumped);
}

#[test]
fn errors_escape_hidden_characters_as_documented() {
    let dir = prepared();
    let name = "x\u{202e}\n";
    let by_program = dir.run(&["get", "a.teak", "--table", EVIL, name]);
    let shown = r"x\xe2\x80\xae\n";
    assert!(by_program.stderr.contains(shown), "{by_program:?}");
    let shown = r"x\u{202e}\n";
    for arguments in [["get", name, "k"], ["table", "drop", "a.teak"]] {
        let by_engine = match arguments[0] {
            "get" => dir.run(&arguments),
            _ => dir.run(&[&arguments[..], &[name]].concat()),
        };
        assert!(by_engine.stderr.contains(shown), "{by_engine:?}");
    }
}
