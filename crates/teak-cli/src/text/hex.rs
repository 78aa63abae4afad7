//! Bytes as pairs of hexadecimal digits.

use super::fault::LineFault;

const DIGITS: &[u8; 16] = b"0123456789abcdef";
const NOT_A_DIGIT: u8 = 0xff;
const VALUES: [u8; 256] = digit_values();

const fn digit_values() -> [u8; 256] {
    let mut values = [NOT_A_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        let letter = DIGITS[digit as usize];
        values[letter as usize] = digit;
        values[letter.to_ascii_uppercase() as usize] = digit;
        digit += 1;
    }
    values
}

/// Appends two lowercase digits for each of `bytes` to `text`.
pub(crate) fn encode(bytes: &[u8], text: &mut Vec<u8>) {
    text.reserve(bytes.len() * 2);
    for byte in bytes {
        text.extend(pair(*byte));
    }
}

/// The two lowercase digits of `byte`.
pub(super) fn pair(byte: u8) -> [u8; 2] {
    [
        DIGITS[usize::from(byte >> 4)],
        DIGITS[usize::from(byte & 15)],
    ]
}

/// Decodes the hexadecimal digits of `text` (upper or lower case) and appends them to `bytes`.
pub(crate) fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), LineFault> {
    bytes.reserve(text.len() / 2);
    let (pairs, rest) = text.as_chunks::<2>();
    for (index, pair) in pairs.iter().enumerate() {
        bytes.push(decode_pair(*pair).map_err(|offset| digit_expected(index * 2 + offset))?);
    }
    match rest {
        [] => Ok(()),
        [last] if VALUES[usize::from(*last)] == NOT_A_DIGIT => Err(digit_expected(text.len() - 1)),
        _ => Err(LineFault {
            position: text.len(),
            expected: "an even number of hexadecimal digits",
        }),
    }
}

/// The byte of two digits, or the index of the one that is not a digit.
pub(super) fn decode_pair([high, low]: [u8; 2]) -> Result<u8, usize> {
    let (high, low) = (VALUES[usize::from(high)], VALUES[usize::from(low)]);
    match (high, low) {
        (NOT_A_DIGIT, _) => Err(0),
        (_, NOT_A_DIGIT) => Err(1),
        _ => Ok(high << 4 | low),
    }
}

fn digit_expected(position: usize) -> LineFault {
    LineFault {
        position,
        expected: "a hexadecimal digit",
    }
}
