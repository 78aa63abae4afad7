//! How a range of pairs divides into whole keys, and some values of the keys at its two ends.

use super::{PairRef, cursor::PairBound};
use crate::btree::TreeRoot;
use std::{cmp::Ordering, ops::Bound};

/// A key and, unless all its values are meant or keys have one value, one of the values.
pub(crate) type PairStart = (Vec<u8>, Option<Vec<u8>>);

/// The bound of a range, copied.
pub(crate) type OwnedPairBound = Bound<PairStart>;

/// Bounds of keys or of values.
pub(crate) type Span<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Some values of a key.
pub(crate) type ValuesPart<'b> = (&'b [u8], Span<'b>);

/// The parts of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeParts<'b> {
    /// It is empty, whatever the tree holds.
    Empty,
    /// Some values of one key.
    OneKey(ValuesPart<'b>),
    /// All values of some keys, and some of the keys around them.
    Keys {
        whole: Span<'b>,
        first: Option<ValuesPart<'b>>,
        last: Option<ValuesPart<'b>>,
    },
}

impl<'b> RangeParts<'b> {
    /// Divides a range of a tree with this root.
    pub(crate) fn of(root: &TreeRoot, low: PairBound<'b>, high: PairBound<'b>) -> Self {
        let part = |bound| key_of(bound).filter(|_| is_pair(bound));
        let first = part(low).map(|key| (key, (values(low), Bound::Unbounded)));
        let last = part(high).map(|key| (key, (Bound::Unbounded, values(high))));
        if let (Some(key), Some(high_key)) = (key_of(low), key_of(high))
            && (first.is_some() || last.is_some())
        {
            // An excluded key is past all its values.
            let is_past = |bound| matches!(bound, Bound::Excluded((_, None)));
            match root.order.compare(key, high_key) {
                Ordering::Less => {}
                Ordering::Equal if !is_past(low) && !is_past(high) => {
                    return Self::OneKey((key, (values(low), values(high))));
                }
                _ => return Self::Empty,
            }
        }
        let whole = (whole_keys(low), whole_keys(high));
        Self::Keys { whole, first, last }
    }

    /// The bounds of the keys, if the range has all values of each.
    pub(super) fn whole_keys(&self) -> Option<Span<'b>> {
        match self {
            Self::Keys {
                whole,
                first: None,
                last: None,
            } => Some(*whole),
            _ => None,
        }
    }
}

/// Borrows a bound.
pub(crate) fn as_slices(bound: &OwnedPairBound) -> PairBound<'_> {
    bound
        .as_ref()
        .map(|(key, value)| (&key[..], value.as_deref()))
}

/// Copies a bound.
pub(crate) fn to_owned(bound: PairBound<'_>) -> OwnedPairBound {
    bound.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
}

/// Whether a range with these bounds is empty, whatever the tree holds.
pub(crate) fn is_void(root: &TreeRoot, low: PairBound<'_>, high: PairBound<'_>) -> bool {
    let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) =
        (low, high)
    else {
        return false;
    };
    // A bound that is only a key covers all its values.
    let by_value = || match (a.1, b.1) {
        (Some(a), Some(b)) => root.value_order().compare(a, b),
        (Some(_), None) if matches!(high, Bound::Included(_)) => Ordering::Less,
        (None, Some(_)) if matches!(low, Bound::Included(_)) => Ordering::Less,
        _ => Ordering::Equal,
    };
    match root.order.compare(a.0, b.0).then_with(by_value) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => !matches!((low, high), (Bound::Included(_), Bound::Included(_))),
    }
}

/// Whether a stored pair is between two bounds.
pub(super) fn contains(
    root: &TreeRoot,
    (low, high): (PairBound<'_>, PairBound<'_>),
    pair: PairRef<'_>,
) -> bool {
    let compared = |(key, value): (&[u8], Option<&[u8]>)| {
        let by_value = |value| root.value_order().stored_to(pair.1, value);
        let by_key = root.order.stored_to(pair.0, key);
        by_key.then_with(|| value.map_or(Ordering::Equal, by_value))
    };
    let is_after_start = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => compared(low).is_ge(),
        Bound::Excluded(low) => compared(low).is_gt(),
    };
    is_after_start
        && match high {
            Bound::Unbounded => true,
            Bound::Included(high) => compared(high).is_le(),
            Bound::Excluded(high) => compared(high).is_lt(),
        }
}

fn key_of(bound: PairBound<'_>) -> Option<&[u8]> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included((key, _)) | Bound::Excluded((key, _)) => Some(key),
    }
}

/// Whether a bound is among the values of its key.
fn is_pair(bound: PairBound<'_>) -> bool {
    values(bound) != Bound::Unbounded
}

/// The bound for keys whose values are all on one side of it.
fn whole_keys(bound: PairBound<'_>) -> Bound<&[u8]> {
    match bound {
        Bound::Included((key, Some(_))) => Bound::Excluded(key),
        bound => bound.map(|(key, _)| key),
    }
}

/// The bound for all keys that have values on one side of it.
pub(crate) fn touched_keys(bound: PairBound<'_>) -> Bound<&[u8]> {
    match bound {
        Bound::Excluded((key, Some(_))) => Bound::Included(key),
        bound => bound.map(|(key, _)| key),
    }
}

/// The bound among the values of its key.
fn values(bound: PairBound<'_>) -> Bound<&[u8]> {
    match bound {
        Bound::Included((_, Some(value))) => Bound::Included(value),
        Bound::Excluded((_, Some(value))) => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}
