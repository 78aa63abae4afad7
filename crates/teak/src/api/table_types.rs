//! The names of a table's types: recorded when it is created, compared when it is opened.

use super::{codec::Codec, sealed::Sealed};
use crate::{Error, Result, btree::TreeRoot, read::catalog, types::TypeNames};
use std::borrow::Cow;

/// The names of the codecs of a table handle.
pub(super) struct CodecNames {
    keys: Cow<'static, str>,
    values: Cow<'static, str>,
}

impl CodecNames {
    pub(super) fn of<K: Codec, V: Codec>() -> Self {
        Self {
            keys: K::name(),
            values: V::name(),
        }
    }

    pub(super) fn names(&self) -> TypeNames<'_> {
        TypeNames {
            keys: &self.keys,
            values: &self.values,
        }
    }
}

/// Refuses a table that other names are recorded with.
pub(super) fn refuse_other_types<T: Sealed + ?Sized>(
    txn: &T,
    root: &TreeRoot,
    name: &[u8],
    asked: TypeNames<'_>,
) -> Result<()> {
    if !root.kind.typed || asked.is_empty() {
        return Ok(());
    }
    let stored = txn.types_of(name)?;
    match stored.agree_with(&asked) {
        true => Ok(()),
        false => Err(Error::TableTypeMismatch {
            name: catalog::printable(name),
            stored: Box::new(stored.into()),
            asked: Box::new(asked.into()),
        }),
    }
}
