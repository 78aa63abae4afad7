//! Roots as catalog entries: after the 64 bytes of a root come the names of comparisons, that of
//! keys first, each as its length in a byte and its bytes in UTF-8. A name is present if the order
//! is a comparison and the table was not dropped: the keys of a dropped table are not compared any
//! more.

use super::{RootFault, TreeRoot};
use crate::page::{
    PageDamage,
    comparison::{COMPARISON_NAME_MAX, Comparisons},
    key::KeyOrder,
    value::TREE_ROOT_LEN,
};

/// The names of the comparisons of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ComparisonNames<'b> {
    keys: Option<&'b str>,
    values: Option<&'b str>,
}

impl ComparisonNames<'_> {
    /// Sets the comparisons of the table; returns the names of those that are missing.
    pub(crate) fn resolve(&self, root: &mut TreeRoot, comparisons: &Comparisons) -> Vec<String> {
        let mut missing = Vec::new();
        let mut find = |name: &str| {
            let found = comparisons.named(name).map(KeyOrder::Custom);
            if found.is_none() {
                missing.push(name.to_owned());
            }
            found
        };
        if let Some(order) = self.keys.and_then(&mut find) {
            root.order = order;
        }
        if let Some(order) = self.values.and_then(&mut find) {
            root.kind.values = Some(order);
        }
        missing
    }
}

impl TreeRoot {
    /// Encodes the catalog entry.
    pub(crate) fn encode_entry(&self) -> Vec<u8> {
        let mut bytes = self.encode().to_vec();
        let orders = match self.kind.dropped {
            true => [None; 2],
            false => [Some(self.order), self.kind.values],
        };
        for order in orders.into_iter().flatten() {
            if let KeyOrder::Custom(comparison) = order {
                // The name of a comparison that is not known here is not known either.
                assert!(
                    order.is_resolved(),
                    "a table that is written has its comparisons"
                );
                bytes.push(comparison.name().len() as u8);
                bytes.extend_from_slice(comparison.name().as_bytes());
            }
        }
        bytes
    }

    /// Decodes a catalog entry. Comparisons are still to be resolved by their names.
    pub(crate) fn decode_entry(bytes: &[u8]) -> Result<(Self, ComparisonNames<'_>), RootFault> {
        let (root, mut names) = bytes
            .split_at_checked(TREE_ROOT_LEN)
            .unwrap_or((bytes, &[]));
        let root = Self::decode_any(root)?;
        // The rest of a nested tree may be fixed.
        if root.kind.fixed && !root.kind.dropped {
            return Err(RootFault::Unknown(root.unknown_kind()));
        }
        let mut name_of = |order| match order {
            Some(KeyOrder::Custom(_)) if !root.kind.dropped => take_name(&mut names).map(Some),
            _ => Ok(None),
        };
        let found = ComparisonNames {
            keys: name_of(Some(root.order))?,
            values: name_of(root.kind.values)?,
        };
        match names.is_empty() {
            true => Ok((root, found)),
            false => Err(PageDamage("the root of a tree has the wrong length").into()),
        }
    }
}

/// Takes the first of the names.
fn take_name<'b>(names: &mut &'b [u8]) -> Result<&'b str, PageDamage> {
    let damage = PageDamage("the name of a comparison is damaged");
    let (&len, after) = names.split_first().ok_or(damage)?;
    let (name, after) = after.split_at_checked(len.into()).ok_or(damage)?;
    *names = after;
    match std::str::from_utf8(name) {
        Ok(name) if (1..=COMPARISON_NAME_MAX).contains(&name.len()) => Ok(name),
        _ => Err(damage),
    }
}
