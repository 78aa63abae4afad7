//! The value that the main database shows for a named one: LMDB's 48 bytes, of which only the flags
//! have a meaning.

use crate::flags;
use std::ffi::c_uint;
use teak::{Comparison, KeyOrder, TableOptions, ValueSize};

/// The length of LMDB's description of a database.
const LEN: usize = 48;
/// Where its flags are, two bytes.
const FLAGS: usize = 4;
/// Where the number of its root is, eight bytes: none.
const ROOT: usize = 40;

/// The description of a database with these flags.
pub(crate) fn of_flags(database_flags: c_uint) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let flags = (database_flags & flags::PERSISTENT) as u16;
    bytes[FLAGS..FLAGS + 2].copy_from_slice(&flags.to_ne_bytes());
    bytes[ROOT..].fill(0xff);
    bytes
}

/// The flags in a description, if it is one.
pub(crate) fn flags_in(bytes: &[u8]) -> Option<c_uint> {
    let bytes: &[u8; LEN] = bytes.try_into().ok()?;
    let flags = u16::from_ne_bytes([bytes[FLAGS], bytes[FLAGS + 1]]);
    Some(c_uint::from(flags) & flags::PERSISTENT)
}

/// The table options for a database with these flags. Keys are stored whole, since clients get
/// pointers to them.
pub(crate) fn options_of(database_flags: c_uint) -> TableOptions {
    let has = |flag: c_uint| database_flags & flag != 0;
    let order = if has(flags::REVERSEKEY) {
        KeyOrder::ReverseBytes
    } else if has(flags::INTEGERKEY) {
        KeyOrder::Integer
    } else {
        KeyOrder::Bytes
    };
    let options = TableOptions::new().order(order).share_prefixes(false);
    if !has(flags::DUPSORT) {
        return options;
    }
    let value_order = if has(flags::INTEGERDUP) {
        KeyOrder::Integer
    } else if has(flags::REVERSEDUP) {
        KeyOrder::ReverseBytes
    } else {
        KeyOrder::Bytes
    };
    let size = match has(flags::DUPFIXED) || has(flags::INTEGERDUP) {
        true => ValueSize::AsFirst,
        false => ValueSize::Any,
    };
    options.value_order(value_order).value_size(size)
}

/// Like [`options_of`], in orders of the client's.
pub(crate) fn options_in(
    database_flags: c_uint,
    keys: Option<&'static Comparison>,
    values: Option<&'static Comparison>,
) -> TableOptions {
    let mut options = options_of(database_flags);
    if let Some(keys) = keys {
        options = options.order(KeyOrder::Custom(keys));
    }
    if let Some(values) = values {
        options = options.value_order(KeyOrder::Custom(values));
    }
    options
}

/// The flags of a database, as far as its table's options tell them.
pub(crate) fn flags_of(options: &TableOptions) -> c_uint {
    let mut found = match options.order {
        KeyOrder::ReverseBytes => flags::REVERSEKEY,
        KeyOrder::Integer => flags::INTEGERKEY,
        _ => 0,
    };
    if options.is_multi() {
        found |= flags::DUPSORT;
    }
    found |= match options.value_order {
        Some(KeyOrder::ReverseBytes) => flags::REVERSEDUP,
        Some(KeyOrder::Integer) => flags::INTEGERDUP,
        _ => 0,
    };
    if options
        .value_size
        .is_some_and(|size| size != ValueSize::Any)
    {
        found |= flags::DUPFIXED;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{flags, flags_in, flags_of, of_flags, options_of};

    #[test]
    fn flags_survive_their_description_and_their_table() {
        for flags in 0..=flags::PERSISTENT {
            let flags = flags & flags::PERSISTENT;
            assert_eq!(flags_in(&of_flags(flags)), Some(flags));
            let exclusive = flags & flags::REVERSEKEY == 0 || flags & flags::INTEGERKEY == 0;
            let of_values = flags::DUPFIXED | flags::INTEGERDUP | flags::REVERSEDUP;
            let has_no_values = flags & flags::DUPSORT == 0;
            let is_integer = flags & flags::INTEGERDUP != 0;
            let is_odd = has_no_values && flags & of_values != 0
                || is_integer && (flags & flags::REVERSEDUP != 0 || flags & flags::DUPFIXED == 0);
            if exclusive && !is_odd {
                assert_eq!(flags_of(&options_of(flags)), flags);
            }
        }
        assert_eq!(flags_in(b"an ordinary value"), None);
    }
}
