//! Writing of numbers and byte strings.

/// Appends a number in groups of seven bits, the lowest first.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a byte string after its length.
pub(super) fn push_string(bytes: &mut Vec<u8>, string: &[u8]) {
    push_varint(bytes, string.len() as u64);
    bytes.extend_from_slice(string);
}
