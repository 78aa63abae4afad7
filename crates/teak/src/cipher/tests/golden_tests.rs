//! The encrypted forms stay what they are. A database that an older version wrote stays readable.
//!
//! If a test fails because a new form was added, add lines to `golden.txt`, and let those that are
//! there be.

use super::{round_trip_tests::value_pages, *};

const GOLDEN: &str = include_str!("golden.txt");

/// The bytes that `golden.txt` has for a form and a cipher.
pub(in super::super) fn golden(form: &str, cipher: Cipher) -> Vec<u8> {
    let begin = format!("{form} {cipher:?} ");
    let line = GOLDEN.lines().find_map(|line| line.strip_prefix(&begin));
    hex(line.unwrap_or_else(|| panic!("golden.txt has no line for {begin}")))
}

/// Compares, and prints the line that would be right.
#[track_caller]
pub(in super::super) fn assert_golden(form: &str, cipher: Cipher, bytes: &[u8]) {
    let is_golden = golden(form, cipher) == bytes;
    assert!(is_golden, "{form} {cipher:?} {}", hex_of(bytes));
}

#[test]
fn pages_stay_readable() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let mut page = content(256);
        cipher.seal_page(0x0102_0304, 0x0a0b_0c0d, &mut page);
        assert_golden("page", kind, &page);
        let mut stored = golden("page", kind);
        assert_eq!(cipher.open_page(0x0102_0304, &mut stored), Ok(0x0a0b_0c0d));
        assert_eq!(stored[..216], content(256)[..216]);
    }
}

#[test]
fn values_stay_readable() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let mut pages = value_pages(4100, 512);
        cipher.seal_value(0x0102_0304, 0x0a0b_0c0d, 4100, &mut pages);
        // The second chunk, and the trailer of both.
        assert_golden("value", kind, &pages[4096..]);
        assert_eq!(
            cipher.open_value(0x0102_0304, 4100, &mut pages),
            Ok(0x0a0b_0c0d)
        );
        assert_eq!(pages[..4100], content(4100));
    }
}

#[test]
fn entries_stay_readable() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let mut entry = b"an entry".to_vec();
        cipher.seal_bytes(3, 0x0102_0304, &mut entry);
        assert_golden("entry", kind, &entry);
        let mut stored = golden("entry", kind);
        assert_eq!(cipher.open_bytes(3, 0x0102_0304, &mut stored), Ok(()));
        assert_eq!(stored, b"an entry");
    }
}

#[test]
fn records_stay_readable() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let key_block = golden("keys", kind);
        let image = record_image(100, DATABASE_ID);
        let sealed = cipher.seal_record(key_block[..].try_into().unwrap(), &image);
        assert_golden("record", kind, &sealed);
        assert_eq!(cipher.open_record(&golden("record", kind)), Ok(image));
    }
}
