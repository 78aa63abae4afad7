//! Tests of the module as a whole.

pub(super) mod golden_tests;
mod known_answer_tests;
mod round_trip_tests;
mod tamper_tests;

use super::{
    aead::NONCE_LEN,
    algorithm::Cipher,
    data_key::DataKey,
    encryption_key::EncryptionKey,
    key_block::{KEY_BLOCK_LEN, KeyBlock},
    nonces::Nonces,
    page_cipher::PageCipher,
};
use crate::types::Checksum;

pub(super) const CIPHERS: [Cipher; 2] = [Cipher::Aes256Gcm, Cipher::XChaCha20Poly1305];

pub(super) const DATABASE_ID: [u8; 16] = *b"a database's id.";

/// The bytes that hexadecimal digits stand for. Spaces do not count.
pub(super) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let value = |c: char| c.to_digit(16).expect("a hexadecimal digit") as u8;
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| value(pair[0]) << 4 | value(pair[1]))
        .collect()
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A cipher whose output is always the same.
pub(super) fn fixed_cipher(cipher: Cipher, database_id: [u8; 16]) -> PageCipher {
    PageCipher {
        database_id,
        current: DataKey::new(2, cipher, &[0x22; 32], &database_id),
        previous: Some(DataKey::new(1, cipher, &[0x11; 32], &database_id)),
        nonces: Nonces::beginning_with([0xfe; 12], [0x33; 12]),
    }
}

/// Bytes without a pattern that repeats within a page.
pub(super) fn content(len: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

pub(super) fn key() -> EncryptionKey {
    EncryptionKey::from_bytes([5; 32])
}

/// The image of a record as far as encryption looks at it.
pub(super) fn record_image(length: usize, database_id: [u8; 16]) -> Vec<u8> {
    let mut image = content(length);
    image[..8].copy_from_slice(b"TeakRec\x01");
    image[16..20].copy_from_slice(&(length as u32).to_le_bytes());
    image[56..72].copy_from_slice(&database_id);
    let checksum = Checksum::of(&image[16..]);
    image[8..16].copy_from_slice(&checksum.0.to_le_bytes());
    image.resize(length.next_multiple_of(512), 0);
    image
}

pub(super) fn new_database(cipher: Cipher) -> (KeyBlock, PageCipher) {
    KeyBlock::create(cipher, &key(), DATABASE_ID).expect("a database")
}
