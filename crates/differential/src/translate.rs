//! The translation table: LMDB's calls for operations, and the meaning of codes and errors.

use crate::{
    kind::{BytesForm, Kind, Order},
    lmdb::code::{LmdbCode, text},
    operation::{Answer, CursorMove, PutMode},
};
use lmdb_master_sys as ffi;
use std::ffi::c_uint;

/// The flags that LMDB creates a table with.
pub(crate) fn table_flags(kind: &Kind) -> c_uint {
    let keys = match kind.keys.order {
        Order::Bytes => 0,
        Order::Reverse => ffi::MDB_REVERSEKEY,
        Order::Integer => ffi::MDB_INTEGERKEY,
        Order::ByLen => 0,
    };
    keys | kind.values.map_or(0, value_flags)
}

fn value_flags(values: BytesForm) -> c_uint {
    let order = match values.order {
        Order::Bytes => 0,
        Order::Reverse => ffi::MDB_REVERSEDUP,
        Order::Integer => ffi::MDB_INTEGERDUP,
        Order::ByLen => 0,
    };
    let size = match values.size {
        None => 0,
        Some(_) => ffi::MDB_DUPFIXED,
    };
    ffi::MDB_DUPSORT | order | size
}

/// The flags that LMDB puts with.
pub(crate) fn put_flags(mode: PutMode) -> c_uint {
    match mode {
        PutMode::Upsert => 0,
        PutMode::NewKey => ffi::MDB_NOOVERWRITE,
        PutMode::NewPair => ffi::MDB_NODUPDATA,
        PutMode::Append => ffi::MDB_APPEND,
        PutMode::AppendValue => ffi::MDB_APPENDDUP,
        PutMode::Reserve => ffi::MDB_RESERVE,
        PutMode::Current => ffi::MDB_CURRENT,
    }
}

/// LMDB's operation for a movement; `None` for counting.
pub(crate) fn cursor_operation(to: &CursorMove) -> Option<ffi::MDB_cursor_op> {
    Some(match to {
        CursorMove::First => ffi::MDB_FIRST,
        CursorMove::Last => ffi::MDB_LAST,
        CursorMove::Next => ffi::MDB_NEXT,
        CursorMove::Prev => ffi::MDB_PREV,
        CursorMove::NextKey => ffi::MDB_NEXT_NODUP,
        CursorMove::PrevKey => ffi::MDB_PREV_NODUP,
        CursorMove::NextValue => ffi::MDB_NEXT_DUP,
        CursorMove::PrevValue => ffi::MDB_PREV_DUP,
        CursorMove::FirstValue => ffi::MDB_FIRST_DUP,
        CursorMove::LastValue => ffi::MDB_LAST_DUP,
        CursorMove::Set(_) => ffi::MDB_SET,
        CursorMove::SetKey(_) => ffi::MDB_SET_KEY,
        CursorMove::SetRange(_) => ffi::MDB_SET_RANGE,
        CursorMove::GetBoth(..) => ffi::MDB_GET_BOTH,
        CursorMove::GetBothRange(..) => ffi::MDB_GET_BOTH_RANGE,
        CursorMove::Current => ffi::MDB_GET_CURRENT,
        CursorMove::Count => return None,
    })
}

/// The meaning of a code of LMDB.
pub(crate) fn of_code(code: LmdbCode) -> Answer {
    match code {
        ffi::MDB_NOTFOUND => Answer::NotFound,
        ffi::MDB_KEYEXIST => Answer::Exists(None),
        ffi::MDB_BAD_VALSIZE => Answer::BadSize,
        code => Answer::Unexpected(text(code)),
    }
}

/// The meaning of a code from a cursor.
pub(crate) fn of_cursor_code(code: LmdbCode) -> Answer {
    match code {
        libc::EINVAL => Answer::NotPlaced,
        code => of_code(code),
    }
}

/// The meaning of an error of a put, which includes the existing value.
pub(crate) fn of_put_code(mode: PutMode, (code, existing): (LmdbCode, Vec<u8>)) -> Answer {
    match (code, mode) {
        (ffi::MDB_KEYEXIST, PutMode::Append | PutMode::AppendValue) => Answer::NotLast,
        (ffi::MDB_KEYEXIST, PutMode::NewKey) => Answer::Exists(Some(existing)),
        (libc::EINVAL, PutMode::Current) => Answer::NotPlaced,
        _ => of_code(code),
    }
}

/// The meaning of an error of Teak.
pub(crate) fn of_error(error: &teak::Error) -> Answer {
    match error {
        teak::Error::TableNotFound(_) => Answer::NoTable,
        teak::Error::NotSorted { .. } => Answer::NotLast,
        teak::Error::KeyTooLong { .. } | teak::Error::ValueTooLong { .. } => Answer::BadSize,
        error => Answer::Unexpected(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::KINDS;
    use std::collections::HashSet;

    #[test]
    fn kinds_differ_in_their_flags_sizes_or_comparisons() {
        let sizes = |kind: &Kind| (kind.keys.size, kind.values.and_then(|values| values.size));
        let compared = |form: BytesForm| form.order == Order::ByLen;
        let comparisons = |kind: &Kind| (compared(kind.keys), kind.values.is_some_and(compared));
        let all: HashSet<_> = KINDS
            .iter()
            .map(|k| (table_flags(k), sizes(k), comparisons(k)))
            .collect();
        assert_eq!(all.len(), KINDS.len());
        let reverse = KINDS.iter().find(|k| k.name == "multi, reverse fixed 12");
        let expected = ffi::MDB_DUPSORT | ffi::MDB_DUPFIXED | ffi::MDB_REVERSEDUP;
        assert_eq!(reverse.map(table_flags), Some(expected));
    }

    #[test]
    fn tables_with_packed_values_use_all_nineteen_cursor_operations() {
        let (key, value) = (Vec::new, Vec::new);
        let moves = [
            CursorMove::First,
            CursorMove::Last,
            CursorMove::Next,
            CursorMove::Prev,
            CursorMove::NextKey,
            CursorMove::PrevKey,
            CursorMove::NextValue,
            CursorMove::PrevValue,
            CursorMove::FirstValue,
            CursorMove::LastValue,
            CursorMove::Set(key()),
            CursorMove::SetKey(key()),
            CursorMove::SetRange(key()),
            CursorMove::GetBoth(key(), value()),
            CursorMove::GetBothRange(key(), value()),
            CursorMove::Current,
        ];
        let packed = [
            ffi::MDB_GET_MULTIPLE,
            ffi::MDB_NEXT_MULTIPLE,
            ffi::MDB_PREV_MULTIPLE,
        ];
        let named = moves.iter().filter_map(cursor_operation);
        let all: HashSet<_> = named.chain(packed).collect();
        assert_eq!(all, (0..=ffi::MDB_PREV_MULTIPLE).collect());
        assert_eq!(cursor_operation(&CursorMove::Count), None);
    }

    #[test]
    fn the_meaning_of_a_code_depends_on_the_operation() {
        let there = || (ffi::MDB_KEYEXIST, vec![7]);
        assert_eq!(of_put_code(PutMode::Append, there()), Answer::NotLast);
        assert_eq!(
            of_put_code(PutMode::NewKey, there()),
            Answer::Exists(Some(vec![7]))
        );
        assert_eq!(of_put_code(PutMode::NewPair, there()), Answer::Exists(None));
        assert_eq!(of_cursor_code(libc::EINVAL), Answer::NotPlaced);
        assert!(matches!(of_code(libc::EINVAL), Answer::Unexpected(_)));
        assert!(matches!(of_code(ffi::MDB_CORRUPTED), Answer::Unexpected(_)));
    }

    #[test]
    fn errors_of_teak_and_codes_of_lmdb_have_equal_meanings() {
        let too_long = teak::Error::KeyTooLong { len: 9, max: 8 };
        assert_eq!(of_error(&too_long), of_code(ffi::MDB_BAD_VALSIZE));
        let not_sorted = teak::Error::NotSorted { index: 0 };
        let there = (ffi::MDB_KEYEXIST, Vec::new());
        assert_eq!(of_error(&not_sorted), of_put_code(PutMode::Append, there));
        let broken = teak::Error::TransactionBroken;
        assert!(matches!(of_error(&broken), Answer::Unexpected(_)));
    }
}
