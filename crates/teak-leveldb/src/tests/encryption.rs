//! Encrypted databases. Their key comes from a variable, so the test runs itself with it.

use super::{get, open, options, put};
use crate::{comparator::KeyComparator, directory, files::DATA, removal};
use std::{env, fs, path::Path, process::Command};
use teak::EncryptionKey;

const KEY_FILE: &str = "TEAK_LEVELDB_KEY_FILE";
/// A database that is not encrypted.
const PLAIN: &str = "TEAK_TEST_PLAIN";
const TEST: &str = "tests::encryption::databases_are_encrypted_with_the_key_that_a_variable_names";
const MARK: &[u8] = b"nobody may read this";

fn has_mark(directory: &Path) -> bool {
    let content = fs::read(directory.join(DATA)).unwrap();
    content.windows(MARK.len()).any(|window| window == MARK)
}

#[test]
fn databases_are_encrypted_with_the_key_that_a_variable_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    if env::var_os(KEY_FILE).is_none() {
        let key = path.join("x.key");
        EncryptionKey::create_file(&key).unwrap();
        let plain = path.join("plain");
        fs::create_dir(&plain).unwrap();
        put(&open(&plain), b"key", MARK);
        assert!(has_mark(&plain));
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", TEST]).env(KEY_FILE, &key);
        let child = child.env(PLAIN, &plain).output().unwrap();
        assert!(child.status.success(), "{child:?}");
        return;
    }
    put(&open(path), b"key", MARK);
    assert!(!has_mark(path));
    let found = teak::inspect(path.join(DATA));
    assert!(matches!(found, Err(teak::Error::KeyNeeded(_))), "{found:?}");
    assert_eq!(get(&open(path), b"key").as_deref(), Some(MARK));
    removal::repair(path, KeyComparator::Bytewise).unwrap();
    assert_eq!(get(&open(path), b"key").as_deref(), Some(MARK));
    assert!(!has_mark(path));
    let plain = env::var_os(PLAIN).unwrap();
    let refused = directory::open(Path::new(&plain), options(true))
        .err()
        .unwrap();
    assert!(
        refused.text.contains("is not encrypted"),
        "{}",
        refused.text
    );
}
