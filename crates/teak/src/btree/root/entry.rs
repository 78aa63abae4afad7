//! Roots as catalog entries: after the 64 bytes of a root come the names of comparisons, that of
//! keys first, each as its length in a byte and its bytes in UTF-8. A name is present if the order
//! is a comparison and the table was not dropped: the keys of a dropped table are not compared any
//! more. Then come the names of the types of keys and values, if the root says so.

use super::{RootFault, TreeRoot};
use crate::page::{
    PageDamage,
    comparison::{COMPARISON_NAME_MAX, Comparisons},
    key::KeyOrder,
    value::TREE_ROOT_LEN,
};
use crate::types::TypeNames;

/// The longest name of a type in bytes.
pub(crate) const TYPE_NAME_MAX: usize = 255;

/// The names in a catalog entry: those of comparisons, and those of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EntryNames<'b> {
    keys: Option<&'b str>,
    values: Option<&'b str>,
    pub(crate) types: TypeNames<'b>,
}

impl EntryNames<'_> {
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
    pub(crate) fn encode_entry(&self, types: TypeNames<'_>) -> Vec<u8> {
        assert_eq!(
            self.kind.typed,
            !types.is_empty(),
            "a root says whether the names of types follow it"
        );
        let mut bytes = self.encode().to_vec();
        let mut push = |name: &str| {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
        };
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
                push(comparison.name());
            }
        }
        if self.kind.typed {
            for name in [types.keys, types.values] {
                assert!(
                    name.len() <= TYPE_NAME_MAX,
                    "the length of a name fits into its byte"
                );
                push(name);
            }
        }
        bytes
    }

    /// Decodes a catalog entry. Comparisons are still to be resolved by their names.
    pub(crate) fn decode_entry(bytes: &[u8]) -> Result<(Self, EntryNames<'_>), RootFault> {
        let (root, mut names) = bytes
            .split_at_checked(TREE_ROOT_LEN)
            .unwrap_or((bytes, &[]));
        let root = Self::decode_any(root)?;
        // The rest of a nested tree may be fixed.
        if root.kind.fixed && !root.kind.dropped {
            return Err(RootFault::Unknown(root.unknown_kind()));
        }
        let mut name_of = |order| match order {
            Some(KeyOrder::Custom(_)) if !root.kind.dropped => {
                take_comparison_name(&mut names).map(Some)
            }
            _ => Ok(None),
        };
        let (keys, values) = (name_of(Some(root.order))?, name_of(root.kind.values)?);
        let types = match root.kind.typed {
            true => take_type_names(&mut names)?,
            false => TypeNames::default(),
        };
        let found = EntryNames {
            keys,
            values,
            types,
        };
        match names.is_empty() {
            true => Ok((root, found)),
            false => Err(PageDamage("the root of a tree has the wrong length").into()),
        }
    }
}

fn take_comparison_name<'b>(names: &mut &'b [u8]) -> Result<&'b str, PageDamage> {
    let name = take_name(names).filter(|name| (1..=COMPARISON_NAME_MAX).contains(&name.len()));
    name.ok_or(PageDamage("the name of a comparison is damaged"))
}

fn take_type_names<'b>(names: &mut &'b [u8]) -> Result<TypeNames<'b>, PageDamage> {
    let types = take_name(names)
        .zip(take_name(names))
        .map(|(keys, values)| TypeNames { keys, values });
    let types = types.filter(|types| !types.is_empty());
    types.ok_or(PageDamage("the name of a type is damaged"))
}

/// Takes the first of the names.
fn take_name<'b>(names: &mut &'b [u8]) -> Option<&'b str> {
    let (&len, after) = names.split_first()?;
    let (name, after) = after.split_at_checked(len.into())?;
    *names = after;
    std::str::from_utf8(name).ok()
}
