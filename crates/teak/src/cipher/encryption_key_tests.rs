use super::*;
use crate::Error;
use std::{fs, path::PathBuf};

fn bytes_of(key: &EncryptionKey) -> [u8; KEY_LEN] {
    match key.source() {
        KeySource::Bytes(bytes) => **bytes,
        _ => panic!("not a key of bytes: {key:?}"),
    }
}

/// A file that only its owner may read.
fn private_file(directory: &tempfile::TempDir, content: &[u8]) -> PathBuf {
    let path = directory.path().join("coins.key");
    let _ = fs::remove_file(&path);
    fs::write(&path, content).unwrap();
    set_mode(&path, 0o600);
    path
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) {}

#[test]
fn a_file_has_bytes_or_digits() {
    let directory = tempfile::tempdir().unwrap();
    let digits = "00ff7F80".repeat(8);
    let from_digits: [u8; 32] = std::array::from_fn(|i| [0, 0xff, 0x7f, 0x80][i % 4]);
    // A key may end with the bytes of a line break.
    let ends_with_break = [b'\n'; 32];
    for (content, expected) in [
        (vec![7; 32], [7; 32]),
        ([&[7; 32][..], b"\n"].concat(), [7; 32]),
        ([&[7; 32][..], b"\r\n"].concat(), [7; 32]),
        (ends_with_break.to_vec(), ends_with_break),
        ([&ends_with_break[..], b"\n"].concat(), ends_with_break),
        ([&[b'\r'; 32][..], b"\n"].concat(), [b'\r'; 32]),
        (digits.clone().into_bytes(), from_digits),
        (format!("{digits}\n").into_bytes(), from_digits),
        (format!("{digits}\r\n").into_bytes(), from_digits),
    ] {
        let key = EncryptionKey::from_file(private_file(&directory, &content)).unwrap();
        assert_eq!(bytes_of(&key), expected, "{content:?}");
    }
}

#[test]
fn other_files_are_refused_without_showing_their_content() {
    let directory = tempfile::tempdir().unwrap();
    for content in [
        "",
        "secret",
        "secretsecretsecretsecretsecretse\n\n\n",
        &"s".repeat(64),
        &"0".repeat(63),
        &"0".repeat(65),
        &"0".repeat(66),
        &"0".repeat(1 << 16),
        &"+0".repeat(32),
    ] {
        let path = private_file(&directory, content.as_bytes());
        let error = EncryptionKey::from_file(&path).unwrap_err();
        assert!(matches!(error, Error::KeyUnavailable { .. }), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("coins.key is not a key: a key has 32 bytes"),
            "{text}"
        );
        assert!(!text.contains("secret") && !text.contains("0000"), "{text}");
    }
    let missing = directory.path().join("missing.key");
    let error = EncryptionKey::from_file(missing).unwrap_err().to_string();
    assert!(error.contains("missing.key cannot be read: "), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = private_file(&directory, &[7; 32]);
    for mode in [0o400, 0o600, 0o700, 0o711] {
        set_mode(&path, mode);
        EncryptionKey::from_file(&path).unwrap();
    }
    for mode in [0o604, 0o602, 0o620, 0o644, 0o660, 0o666] {
        set_mode(&path, mode);
        let error = EncryptionKey::from_file(&path).unwrap_err().to_string();
        let expected = format!("can be read or changed by other users (mode {mode:03o})");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_created_file_is_private_and_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("coins.key");
    let key = EncryptionKey::create_file(&path).unwrap();
    let content = fs::read(&path).unwrap();
    assert_eq!(content.len(), 65);
    assert_eq!(
        bytes_of(&EncryptionKey::from_file(&path).unwrap()),
        bytes_of(&key)
    );
    let refused = EncryptionKey::create_file(&path);
    assert!(matches!(refused, Err(Error::AlreadyExists(_))));
    assert_eq!(fs::read(&path).unwrap(), content);
    let other = EncryptionKey::create_file(directory.path().join("other.key")).unwrap();
    assert_ne!(bytes_of(&other), bytes_of(&key));
    let refused = EncryptionKey::create_file(directory.path().join("none/coins.key"));
    assert!(matches!(refused, Err(Error::Io { .. })));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_passphrase_in_a_file_ends_before_the_line_break() {
    let directory = tempfile::tempdir().unwrap();
    let longest = "p".repeat(4096);
    for (content, expected) in [
        ("six words", "six words"),
        ("six words\n", "six words"),
        ("six words\r\n", "six words"),
        (" six\nwords\n\n", " six\nwords\n"),
        (&longest, &longest),
    ] {
        let path = private_file(&directory, content.as_bytes());
        let key = EncryptionKey::from_passphrase_file(path).unwrap();
        let KeySource::Passphrase(passphrase) = key.source() else {
            panic!("not a passphrase: {key:?}");
        };
        assert_eq!(&passphrase[..], expected.as_bytes());
    }
    let too_long = "secret".repeat(1000);
    for (content, reason) in [
        ("", "has no passphrase"),
        ("\n", "has no passphrase"),
        ("\r\n", "has no passphrase"),
        (&too_long, "is too long"),
    ] {
        let path = private_file(&directory, content.as_bytes());
        let error = EncryptionKey::from_passphrase_file(path).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn a_variable_has_digits() {
    let refused = |name: &str| EncryptionKey::from_env(name).unwrap_err().to_string();
    let error = refused("TEAK_TEST_KEY_THAT_IS_NOT_SET");
    assert!(
        error.contains("TEAK_TEST_KEY_THAT_IS_NOT_SET is not set"),
        "{error}"
    );
    // Every environment of a test has this variable, and it is no key.
    let error = refused("CARGO_MANIFEST_DIR");
    assert!(error.contains("CARGO_MANIFEST_DIR is not a key"), "{error}");
    assert!(!error.contains(env!("CARGO_MANIFEST_DIR")), "{error}");
    refused("");
    refused("a=b");
}

#[test]
fn debug_output_has_no_secrets() {
    for (key, expected) in [
        (
            EncryptionKey::from_bytes(*b"secret? secret! secret. secret: "),
            "32 bytes",
        ),
        (EncryptionKey::from_passphrase("secret"), "passphrase"),
        (
            EncryptionKey::from_callback(|_| Ok(*b"secret? secret! secret. secret: ")),
            "callback",
        ),
    ] {
        assert_eq!(format!("{key:?}"), format!("EncryptionKey({expected})"));
        assert_eq!(format!("{:?}", key.clone()), format!("{key:?}"));
    }
}
