//! Changes of bytes, and the numbers of LevelDB's files.

use fastrand::Rng;

/// Numbers that checks of lengths should refuse.
const ODD_NUMBERS: &[u64] = &[
    0,
    1,
    7,
    127,
    128,
    255,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    1 << 56,
    u64::MAX,
];

/// Changes bytes in one of several ways.
pub(super) fn change(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.usize(0..=bytes.len());
    let len = rng.usize(0..=(bytes.len() - at).min(40));
    match rng.u8(0..8) {
        0 | 1 => flip(bytes, rng),
        2 => {
            bytes.drain(at..at + len);
        }
        3 => {
            let copy = bytes[at..at + len].to_vec();
            let to = rng.usize(0..=bytes.len());
            bytes.splice(to..to, copy);
        }
        4 => {
            let number = ODD_NUMBERS[rng.usize(..ODD_NUMBERS.len())];
            let mut encoded = Vec::new();
            put_varint(&mut encoded, number);
            bytes.splice(at..at + len.min(1), encoded);
        }
        5 => bytes.truncate(at),
        6 => bytes[at..at + len].fill([0, 0xff][rng.usize(..2)]),
        _ => {
            let new: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(len).collect();
            bytes.splice(at..at + len, new);
        }
    }
}

/// Flips a bit.
pub(super) fn flip(bytes: &mut [u8], rng: &mut Rng) {
    if !bytes.is_empty() {
        bytes[rng.usize(0..bytes.len())] ^= 1 << rng.u8(0..8);
    }
}

/// Writes a number in groups of seven bits.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number in groups of seven bits, and moves `bytes` after it.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The checksum as LevelDB stores it.
pub(super) fn stored_checksum(bytes: &[u8]) -> [u8; 4] {
    let checksum = crc32c::crc32c(bytes);
    checksum
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes()
}
