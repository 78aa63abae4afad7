//! Encrypted environments. Their key comes from a variable, so the test runs itself with it.

use crate::kit::{Kit, create, open};
use lmdb::{codes, environments::mdb_env_close, flags};
use std::{env, fs, path::Path, process::Command};
use teak::EncryptionKey;

const KEY_FILE: &str = "TEAK_LMDB_KEY_FILE";
/// An environment that is not encrypted.
const PLAIN: &str = "TEAK_TEST_PLAIN";
const TEST: &str = "encryption::environments_are_encrypted_with_the_key_that_a_variable_names";
const MARK: &[u8] = b"nobody may read this";

fn put_mark(kit: &Kit) {
    let txn = kit.begin(0);
    let main = txn.open(None, 0).unwrap();
    assert_eq!(txn.put(main, b"key", MARK, 0), 0);
    assert_eq!(txn.commit(), 0);
}

fn has_mark(path: &Path) -> bool {
    let content = fs::read(path).unwrap();
    content.windows(MARK.len()).any(|window| window == MARK)
}

#[test]
fn environments_are_encrypted_with_the_key_that_a_variable_names() {
    if env::var_os(KEY_FILE).is_none() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("x.key");
        EncryptionKey::create_file(&key).unwrap();
        let plain = Kit::new();
        put_mark(&plain);
        assert!(has_mark(&plain.path().join("data.mdb")));
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", TEST]).env(KEY_FILE, &key);
        let child = child.env(PLAIN, plain.path()).output().unwrap();
        assert!(child.status.success(), "{child:?}");
        return;
    }
    let mut kit = Kit::new();
    put_mark(&kit);
    kit.reopen(0);
    let data = kit.path().join("data.mdb");
    assert!(!has_mark(&data));
    assert!(matches!(
        teak::inspect(&data),
        Err(teak::Error::KeyNeeded(_))
    ));
    let txn = kit.begin(flags::RDONLY);
    let main = txn.open(None, 0).unwrap();
    assert_eq!(txn.get(main, b"key"), Ok(MARK));
    assert_eq!(txn.commit(), 0);
    let other = create();
    let plain = env::var_os(PLAIN).unwrap();
    assert_eq!(open(other, Path::new(&plain), 0), codes::INVALID);
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(other) };
}
