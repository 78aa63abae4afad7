//! Functions that derived codecs call.

use super::{Codec, EncodeAs, undecodable};
use crate::Result;

/// Appends the encoding of a field: after its length, unless it is the last one.
///
/// # Errors
///
/// [`Error::Encode`](crate::Error::Encode) if the field has no encoding.
#[doc(hidden)]
pub fn push_field<C: Codec>(
    field: &impl EncodeAs<C>,
    is_last: bool,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let encoded = field.encode_as()?;
    let encoded = encoded.as_ref();
    if !is_last {
        let mut len = encoded.len();
        while len >= 128 {
            bytes.push(len as u8 | 128);
            len >>= 7;
        }
        bytes.push(len as u8);
    }
    bytes.extend_from_slice(encoded);
    Ok(())
}

/// Takes a field off the rest of a value.
///
/// # Errors
///
/// [`Error::Decode`](crate::Error::Decode) if it is not the encoding of such a field.
#[doc(hidden)]
pub fn take_field<C: Codec>(is_last: bool, bytes: &mut &[u8]) -> Result<C::Owned> {
    let field = match is_last {
        true => Some(std::mem::take(bytes)),
        false => take_len(bytes).and_then(|len| bytes.split_off(..len)),
    };
    match field {
        Some(field) => C::decode(field).map(C::to_owned),
        None => Err(undecodable::<C>("the value ends within it")),
    }
}

/// Takes the length of a field off the rest of a value.
fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    let mut len = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = bytes.split_off_first()?;
        let part = usize::from(byte & 127);
        len |= part << shift;
        if byte & 128 == 0 {
            // Each length has one encoding: no zero at its end, no bits beyond the integer.
            let is_shortest = *byte != 0 || shift == 0;
            return (is_shortest && len >> shift == part).then_some(len);
        }
    }
    None
}

/// Takes the number of a variant off the bytes of an enum.
#[doc(hidden)]
pub fn take_variant(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

/// There is no variant of this number.
#[doc(hidden)]
#[cold]
pub fn no_variant<C: Codec>(number: Option<u8>) -> crate::Error {
    match number {
        Some(number) => undecodable::<C>(format_args!("it has no variant {number}")),
        None => undecodable::<C>("it has no bytes"),
    }
}

/// The length of the encodings of an enum, if those of all variants have one.
#[doc(hidden)]
#[must_use]
pub const fn len_of_variants(lens: &[Option<usize>]) -> Option<usize> {
    let mut common = None;
    let mut index = 0;
    while index < lens.len() {
        match (lens[index], common) {
            (Some(len), None) => common = Some(len),
            (Some(len), Some(other)) if len == other => {}
            _ => return None,
        }
        index += 1;
    }
    match common {
        Some(len) => len.checked_add(1),
        None => None,
    }
}
