//! Positions among the records of a table in the model. In a plain table, pairs have no values.

use super::super::{
    multi::oracle::Pair,
    oracle::AnyModel,
    shape::{ModelKey, ModelValue},
};
use std::{cmp::Ordering, iter, ops::Bound};

/// The record after a pair, or the first.
pub(super) fn next(model: &AnyModel, pair: Option<&Pair>) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.next(pair),
        AnyModel::Plain(table) => {
            let low = pair.map_or(Bound::Unbounded, |pair| Bound::Excluded(pair.0.clone()));
            let record = table.range(&(low, Bound::Unbounded)).next();
            record.map(|(key, _)| (key, Vec::new().into()))
        }
    }
}

/// The record before a pair, or the last.
pub(super) fn prev(model: &AnyModel, pair: Option<&Pair>) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.prev(pair),
        AnyModel::Plain(table) => {
            let high = pair.map_or(Bound::Unbounded, |pair| Bound::Excluded(pair.0.clone()));
            let record = table.range(&(Bound::Unbounded, high)).next_back();
            record.map(|(key, _)| (key, Vec::new().into()))
        }
    }
}

pub(super) fn contains(model: &AnyModel, pair: &Pair) -> bool {
    match model {
        AnyModel::Multi(table) => table.contains(pair),
        AnyModel::Plain(table) => table.get(&pair.0).is_some(),
    }
}

pub(super) fn at_or_after(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match contains(model, pair) {
        true => Some(pair.clone()),
        false => next(model, Some(pair)),
    }
}

/// The first pair of the first key that is not smaller.
pub(super) fn at_or_after_key(model: &AnyModel, key: &ModelKey) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => {
            let from = (Bound::Included(key.clone()), Bound::Unbounded);
            table.range(&from).next()
        }
        AnyModel::Plain(_) => at_or_after(model, &(key.clone(), Vec::new().into())),
    }
}

pub(super) fn first_after(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.first_after(&pair.0),
        AnyModel::Plain(_) => next(model, Some(pair)),
    }
}

pub(super) fn last_before(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.last_before(&pair.0),
        AnyModel::Plain(_) => prev(model, Some(pair)),
    }
}

pub(super) fn values(model: &AnyModel, key: &ModelKey) -> Vec<ModelKey> {
    match model {
        AnyModel::Multi(table) => table.values(key).collect(),
        AnyModel::Plain(table) => {
            let value = table.get(key).map(|_| Vec::new().into());
            value.into_iter().collect()
        }
    }
}

/// The record of a pair, or the last one before it.
pub(super) fn here_or_before(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match contains(model, pair) {
        true => Some(pair.clone()),
        false => prev(model, Some(pair)),
    }
}

/// The last record whose key is not greater.
pub(super) fn last_of_key_or_before(model: &AnyModel, key: &ModelKey) -> Option<Pair> {
    match values(model, key).pop() {
        Some(value) => Some((key.clone(), value)),
        None => last_before(model, &(key.clone(), Vec::new().into())),
    }
}

/// All records from one on, in either direction.
pub(super) fn walk(
    model: &AnyModel,
    from: Option<Pair>,
    is_back: bool,
) -> impl Iterator<Item = Pair> {
    iter::successors(from, move |pair| match is_back {
        true => prev(model, Some(pair)),
        false => next(model, Some(pair)),
    })
}

/// The value of a record.
pub(super) fn value_of<'m>(model: &'m AnyModel, pair: &'m Pair) -> &'m [u8] {
    match model {
        AnyModel::Multi(_) => &pair.1,
        AnyModel::Plain(table) => table
            .get(&pair.0)
            .map(ModelValue::bytes)
            .unwrap_or_default(),
    }
}

/// The relation between two records.
pub(super) fn compare(model: &AnyModel, one: &Pair, other: &Pair) -> Ordering {
    let is_before = |one: &Pair, other: &Pair| match model {
        AnyModel::Multi(table) => table.sorts_before(one, other),
        AnyModel::Plain(table) => table.sorts_before(&one.0, &other.0),
    };
    match (is_before(one, other), is_before(other, one)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}
