//! Encrypted databases: their keys, their creation, and copies with another key or none.

use crate::support::{ProgramOutput, TestDir, numbered_dump, parse};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A text that is in every value of these tests.
const MARK: &str = "nobody may read this";

/// A directory with the keys `a.key` and `b.key`, and a passphrase.
fn with_keys() -> TestDir {
    let dir = TestDir::new();
    dir.succeed(&["key", "create", "a.key"]);
    dir.succeed(&["key", "create", "b.key"]);
    private(&dir, "words", "correct horse battery staple\n");
    dir
}

fn private(dir: &TestDir, name: &str, content: &str) {
    dir.write(name, content);
    fs::set_permissions(dir.path(name), fs::Permissions::from_mode(0o600)).expect("permissions");
}

/// An encrypted database `x.teak` with the key `a.key`.
fn with_database() -> TestDir {
    let dir = with_keys();
    dir.succeed(&[
        "put",
        "x.teak",
        "k",
        MARK,
        "--encrypt",
        "--key-file",
        "a.key",
    ]);
    dir
}

fn run_with(dir: &TestDir, variables: &[(&str, &str)], arguments: &[&str]) -> ProgramOutput {
    let mut command = dir.command(arguments);
    command.stdin(Stdio::null()).envs(variables.iter().copied());
    ProgramOutput::new(command.output().expect("the program runs"))
}

fn is_in_clear(dir: &TestDir, name: &str) -> bool {
    let bytes = fs::read(dir.path(name)).expect("a file");
    bytes
        .windows(MARK.len())
        .any(|window| window == MARK.as_bytes())
}

fn value(dir: &TestDir, database: &str, key: &[&str]) -> String {
    dir.succeed(&[&["get", database, "k"], key].concat())
}

#[test]
fn a_created_key_is_private_and_never_replaced() {
    let dir = TestDir::new();
    let report = dir.succeed(&["key", "create", "a.key"]);
    let key = dir.read("a.key");
    let digits = key.strip_suffix('\n').expect("a line");
    assert_eq!(digits.len(), 64);
    assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(!report.contains(digits), "{report}");
    let mode = fs::metadata(dir.path("a.key"))
        .expect("a file")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let report = dir.json(&["key", "create", "b.key", "--json"]);
    assert_eq!(report["file"], "b.key");
    assert_ne!(dir.read("b.key"), key);
    dir.run(&["key", "create", "a.key"])
        .fails(2, "is not replaced");
    assert_eq!(dir.read("a.key"), key);
    dir.run(&["key", "create", "none/a.key"])
        .fails(6, "none/a.key");
    dir.succeed(&["put", "x.teak", "k", "v"]);
    dir.run(&["key", "create", "x.teak-lock"])
        .fails(2, "lock file");
}

#[test]
fn each_source_of_a_key_opens_the_database() {
    let dir = with_database();
    assert!(!is_in_clear(&dir, "x.teak"));
    let text = format!("{MARK}\n");
    assert_eq!(value(&dir, "x.teak", &["--key-file", "a.key"]), text);
    let key = dir.read("a.key");
    let variables = [("SECRET", key.trim())];
    let run = run_with(
        &dir,
        &variables,
        &["get", "x.teak", "k", "--key-env", "SECRET"],
    );
    assert_eq!((run.code, run.stdout), (0, text.clone()), "{}", run.stderr);
    let run = run_with(&dir, &[("TEAK_KEY_FILE", "a.key")], &["get", "x.teak", "k"]);
    assert_eq!((run.code, run.stdout), (0, text), "{}", run.stderr);

    let words = ["--passphrase-file", "words"];
    dir.succeed(&[&["put", "y.teak", "k", "v", "--encrypt"], &words[..]].concat());
    assert_eq!(value(&dir, "y.teak", &words), "v\n");
    let variables = [("TEAK_PASSPHRASE_FILE", "words")];
    assert_eq!(
        run_with(&dir, &variables, &["get", "y.teak", "k"]).stdout,
        "v\n"
    );
    // A line break at the end does not count.
    private(&dir, "line", "correct horse battery staple");
    assert_eq!(value(&dir, "y.teak", &["--passphrase-file", "line"]), "v\n");
}

#[test]
fn every_command_takes_the_key() {
    let dir = with_keys();
    dir.write("in.dump", numbered_dump(1_000));
    let key = ["--key-file", "a.key"];
    let succeed = |arguments: &[&str]| dir.succeed(&[arguments, &key].concat());
    succeed(&["load", "in.dump", "x.teak", "--encrypt"]);
    succeed(&["load", "in.dump", "x.teak"]);
    succeed(&["put", "x.teak", "k", "v"]);
    succeed(&["snapshot", "create", "x.teak", "monday"]);
    succeed(&["del", "x.teak", "key-00000"]);
    succeed(&["table", "create", "x.teak", "other"]);
    assert!(succeed(&["scan", "x.teak"]).contains("value-00999"));
    assert!(succeed(&["dump", "x.teak"]).contains("DATA=END"));
    assert!(succeed(&["tables", "x.teak"]).contains("other"));
    assert!(succeed(&["diff", "x.teak", "monday"]).contains("key-00000"));
    assert!(succeed(&["snapshot", "list", "x.teak"]).contains("monday"));
    succeed(&["export", "leveldb:out", "x.teak"]);
    succeed(&["check", "x.teak"]);
    succeed(&["readers", "x.teak"]);
    succeed(&["page", "x.teak", "2"]);
    succeed(&["stat", "x.teak", "--fill"]);
    succeed(&["compact", "x.teak"]);
    // Without the key, each says that the database is encrypted.
    for arguments in [
        &["get", "x.teak", "k"][..],
        &["put", "x.teak", "k", "v"],
        &["load", "in.dump", "x.teak"],
        &["stat", "x.teak"],
        &["check", "x.teak"],
        &["page", "x.teak", "2"],
        &["backup", "x.teak", "copy.teak"],
        &["backup", "x.teak", "copy.teak", "--compact"],
    ] {
        dir.run(arguments)
            .fails(4, "x.teak is encrypted; give its key");
    }
    assert!(!dir.path("copy.teak").exists());
}

#[test]
fn a_new_database_is_encrypted_only_if_that_is_asked_for() {
    let dir = with_keys();
    dir.write("in.dump", numbered_dump(10));
    let key = ["--key-file", "a.key"];
    for arguments in [
        &["put", "x.teak", "k", "v"][..],
        &["load", "in.dump", "x.teak"],
        &["table", "create", "x.teak", "t"],
    ] {
        let run = dir.run(&[arguments, &key].concat());
        run.fails(2, "x.teak does not exist, and with a key");
        run.fails(2, "add --encrypt, or leave the key out");
        dir.run(&[arguments, &["--encrypt"]].concat())
            .fails(2, "--encrypt needs a key");
        dir.run(&[arguments, &["--cipher", "aes-256-gcm"]].concat())
            .fails(2, "--encrypt");
        assert!(!dir.path("x.teak").exists());
    }
    // A variable is for encrypted databases, and says nothing about a new one.
    let variables = [("TEAK_KEY_FILE", "a.key")];
    assert_eq!(
        run_with(&dir, &variables, &["put", "x.teak", "k", MARK]).code,
        0
    );
    assert!(is_in_clear(&dir, "x.teak"));
    assert_eq!(run_with(&dir, &variables, &["get", "x.teak", "k"]).code, 0);
    let run = run_with(&dir, &variables, &["put", "x.teak", "k", "v", "--encrypt"]);
    run.fails(4, "x.teak is not encrypted");
    let run = run_with(&dir, &variables, &["put", "y.teak", "k", MARK, "--encrypt"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!is_in_clear(&dir, "y.teak"));
}

#[test]
fn stat_names_the_cipher() {
    let dir = with_database();
    let cipher = |name: &str, key: &[&str]| {
        dir.json(&[&["stat", name, "--json"], key].concat())["encryption"].clone()
    };
    let key = ["--key-file", "a.key"];
    assert_eq!(cipher("x.teak", &key), "aes-256-gcm");
    let put = [
        "put",
        "y.teak",
        "k",
        "v",
        "--encrypt",
        "--cipher",
        "xchacha20-poly1305",
    ];
    dir.succeed(&[&put, &key[..]].concat());
    assert_eq!(cipher("y.teak", &key), "xchacha20-poly1305");
    let text = dir.succeed(&["stat", "y.teak", "--key-file", "a.key"]);
    assert!(
        text.contains("\n  encrypted with xchacha20-poly1305\n"),
        "{text}"
    );
    dir.succeed(&["put", "plain.teak", "k", "v"]);
    assert!(cipher("plain.teak", &[]).is_null());
}

#[test]
fn wrong_keys_and_sources_are_refused_without_showing_them() {
    let dir = with_database();
    let get = |options: &[&str]| dir.run(&[&["get", "x.teak", "k"], options].concat());
    get(&["--key-file", "b.key"]).fails(4, "the key does not open x.teak");
    get(&["--passphrase-file", "words"]).fails(4, "x.teak");
    get(&["--key-file", "none.key"]).fails(4, "none.key cannot be read");
    get(&["--key-env", "NOT_SET_ANYWHERE"]).fails(4, "NOT_SET_ANYWHERE is not set");
    get(&["--key-file", "words"]).fails(4, "is not a key");
    get(&["--key-file", "a.key", "--passphrase-file", "words"]).fails(2, "has one key");
    get(&["--passphrase"]).fails(2, "no terminal to ask for a passphrase");
    private(&dir, "empty", "\n");
    get(&["--passphrase-file", "empty"]).fails(4, "has no passphrase");
    private(&dir, "long", &"w".repeat(5_000));
    get(&["--passphrase-file", "long"]).fails(4, "is too long");
    fs::set_permissions(dir.path("a.key"), fs::Permissions::from_mode(0o644)).expect("permissions");
    let run = get(&["--key-file", "a.key"]);
    run.fails(4, "chmod 600");
    assert!(!run.stderr.contains(dir.read("a.key").trim()));
    let run = dir.run(&["get", "x.teak", "k", "--json"]);
    assert_eq!(parse(&run.stderr)["kind"], "unavailable");
    dir.succeed(&["put", "plain.teak", "k", "v"]);
    let run = dir.run(&["get", "plain.teak", "k", "--key-file", "b.key"]);
    run.fails(4, "plain.teak is not encrypted, but a key was given");
    // There is no option whose value would be a key.
    dir.run(&["get", "x.teak", "k", "--key", "00"])
        .fails(2, "--key");
}

#[test]
fn dense_copies_encrypt_decrypt_and_change_the_key() {
    let dir = with_database();
    let text = format!("{MARK}\n");
    let copy = |arguments: &[&str]| dir.succeed(&[&["backup", "--compact"], arguments].concat());
    let a = ["--key-file", "a.key"];
    // By default, a copy is as encrypted as its source.
    copy(&["x.teak", "same.teak", "--key-file", "a.key"]);
    assert!(!is_in_clear(&dir, "same.teak"));
    assert_eq!(value(&dir, "same.teak", &a), text);
    copy(&["x.teak", "plain.teak", "--key-file", "a.key", "--decrypt"]);
    assert!(is_in_clear(&dir, "plain.teak"));
    assert_eq!(value(&dir, "plain.teak", &[]), text);
    copy(&[
        "x.teak",
        "b.teak",
        "--key-file",
        "a.key",
        "--to-key-file",
        "b.key",
    ]);
    assert_eq!(value(&dir, "b.teak", &["--key-file", "b.key"]), text);
    for key in ["--key-file", "--to-key-file"] {
        let name = format!("again{key}.teak");
        copy(&[
            "plain.teak",
            &name,
            "--encrypt",
            key,
            "a.key",
            "--cipher",
            "xchacha20-poly1305",
        ]);
        assert!(!is_in_clear(&dir, &name));
        let stat = dir.json(&["stat", &name, "--json", "--key-file", "a.key"]);
        assert_eq!(stat["encryption"], "xchacha20-poly1305");
    }
    // To a pipe, too.
    let output = fs::File::create(dir.path("piped.teak")).expect("a file");
    let arguments = ["backup", "--compact", "x.teak", "-", "--key-file", "a.key"];
    assert_eq!(dir.run_into(&arguments, output).code, 0);
    assert_eq!(value(&dir, "piped.teak", &a), text);
}

#[test]
fn copies_are_never_encrypted_or_decrypted_by_accident() {
    let dir = with_database();
    dir.succeed(&["put", "plain.teak", "k", "v"]);
    let copy = |arguments: &[&str]| {
        let run = dir.run(&[&["backup", "--compact"], arguments].concat());
        assert!(!dir.path("copy.teak").exists(), "{run:?}");
        run
    };
    copy(&["plain.teak", "copy.teak", "--to-key-file", "b.key"]).fails(2, "add --encrypt");
    copy(&["plain.teak", "copy.teak", "--encrypt"]).fails(2, "needs a key");
    copy(&["plain.teak", "copy.teak", "--key-file", "a.key"]).fails(4, "is not encrypted");
    copy(&["x.teak", "copy.teak", "--encrypt", "--key-file", "b.key"]).fails(4, "does not open");
    copy(&["x.teak", "copy.teak", "--decrypt", "--encrypt"]).fails(2, "--decrypt");
    let run = dir.run(&["backup", "x.teak", "copy.teak", "--decrypt"]);
    run.fails(2, "--compact");
    let run = dir.run(&["backup", "x.teak", "copy.teak", "--to-key-file", "b.key"]);
    run.fails(2, "add --compact");
}

#[test]
fn backups_are_restored_and_damaged_databases_salvaged_with_the_key() {
    let dir = with_database();
    let text = format!("{MARK}\n");
    let a = ["--key-file", "a.key"];
    dir.succeed(
        &[
            &["backup", "x.teak", "full.teak", "--snapshot", "monday"],
            &a[..],
        ]
        .concat(),
    );
    dir.succeed(&[&["put", "x.teak", "l", MARK], &a[..]].concat());
    dir.succeed(&[&["backup", "x.teak", "delta", "--since", "monday"], &a[..]].concat());
    assert!(!is_in_clear(&dir, "full.teak") && !is_in_clear(&dir, "delta"));
    let restore = ["restore", "full.teak", "delta", "restored.teak"];
    dir.run(&restore)
        .fails(4, "full.teak is encrypted; give its key");
    let run = dir.run(&[&restore[..], &["--key-file", "b.key"]].concat());
    run.fails(4, "the key does not open full.teak");
    assert!(!dir.path("restored.teak").exists());
    dir.succeed(&[&restore[..], &a].concat());
    assert_eq!(
        dir.succeed(&["get", "restored.teak", "l", "--key-file", "a.key"]),
        text
    );
    dir.run(&["salvage", "x.teak", "saved.teak"])
        .fails(4, "x.teak is encrypted");
    // The named snapshot is lost.
    let run = dir.run(&[&["salvage", "x.teak", "saved.teak"], &a[..]].concat());
    assert_eq!(run.code, 3, "{run:?}");
    assert!(!is_in_clear(&dir, "saved.teak"));
    assert_eq!(value(&dir, "saved.teak", &a), text);
}

#[test]
fn the_key_of_a_database_changes() {
    let dir = with_database();
    let change = |options: &[&str]| dir.run(&[&["key", "change", "x.teak"], options].concat());
    change(&["--key-file", "a.key"]).fails(2, "give the new key by --to-key-file");
    change(&["--to-key-file", "b.key"]).fails(4, "x.teak is encrypted");
    change(&["--key-file", "b.key", "--to-key-file", "a.key"]).fails(4, "does not open");
    let run = change(&["--key-file", "a.key", "--to-key-file", "b.key"]);
    assert_eq!(run.code, 0, "{run:?}");
    dir.run(&["get", "x.teak", "k", "--key-file", "a.key"])
        .fails(4, "does not open");
    assert_eq!(
        value(&dir, "x.teak", &["--key-file", "b.key"]),
        format!("{MARK}\n")
    );
    dir.succeed(&["put", "plain.teak", "k", "v"]);
    let run = dir.run(&["key", "change", "plain.teak", "--to-key-file", "b.key"]);
    run.fails(4, "plain.teak is not encrypted");
}

#[test]
fn processes_share_an_encrypted_database() {
    let dir = with_database();
    let key = teak::EncryptionKey::from_file(dir.path("a.key")).expect("a key");
    let options = teak::Options::new().encryption_key(key);
    let database = options.open(dir.path("x.teak")).expect("a database");
    use teak::Transaction as _;
    let before = database.begin_read().expect("a reader").id();
    let key = ["--key-file", "a.key"];
    dir.succeed(&[&["put", "x.teak", "k", "another text"], &key[..]].concat());
    assert_eq!(value(&dir, "x.teak", &key), "another text\n");
    dir.run(&["get", "x.teak", "k"]).fails(4, "is encrypted");
    let wrong = ["get", "x.teak", "k", "--key-file", "b.key"];
    dir.run(&wrong).fails(4, "does not open");
    assert!(database.begin_read().expect("a reader").id() > before);
    let checked = database.check(&mut |_| std::ops::ControlFlow::Continue(()));
    assert!(checked.expect("a check").is_clean());
}
