//! Changes through a cursor, in its table and in the model.

use super::{
    super::{
        multi::oracle::Pair,
        oracle::{AnyModel, OracleTables},
        shape::{ModelKey, ModelValue},
        violation::{ModelResult, expect_refused, expect_same},
    },
    ModelCursor,
    positions::{compare, contains, next, prev, values, walk},
    steps::{CursorChange, CursorPosition, DELETE_SCOPES},
};
use std::cmp::Ordering;
use teak::{DeleteScope, Error, InsertMode, WriteTxn};

impl ModelCursor {
    /// Changes the table of a cursor, if it exists, and its model.
    pub(crate) fn change(
        &mut self,
        txn: &mut WriteTxn,
        tables: &mut OracleTables,
        change: &CursorChange,
    ) -> ModelResult {
        if self.model(tables).is_none() {
            return Ok(());
        }
        let model = tables.get_mut(&self.table).map(std::sync::Arc::make_mut);
        let Some(model) = model else {
            return Ok(());
        };
        let here = match &self.position {
            CursorPosition::At(pair) if contains(model, pair) => Some(pair.clone()),
            _ => None,
        };
        match change {
            CursorChange::Insert(pair, record) => self.insert(txn, model, (pair, record))?,
            CursorChange::InsertNew(pair, record) => {
                self.insert_new(txn, model, (pair, record))?;
            }
            CursorChange::Append(pair, record) => {
                let value = given(model, &pair.1, record);
                let appended = self.cursor.insert_as(txn, InsertMode::Last, &pair.0, value);
                let last = prev(model, None);
                self.arrive(model, (pair, record), last, appended)?;
            }
            CursorChange::AppendValue(pair, record) => {
                let (cursor, (key, value)) = (&mut self.cursor, pair);
                let appended = cursor.insert_as(txn, InsertMode::LastValue, key, value);
                let last = values(model, &pair.0).pop();
                let last = last.map(|value| (pair.0.clone(), value));
                self.arrive(model, (pair, record), last, appended)?;
            }
            CursorChange::RemoveScope(scope) => {
                let removed = self.cursor.remove_scope(txn, *scope);
                let Some(pairs) = self.scope(model, *scope) else {
                    return expect_refused!(
                        "a scope without a position",
                        removed,
                        Error::InvalidArgument(_)
                    );
                };
                expect_same("remove_scope", removed?, pairs.len() as u64)?;
                pairs.iter().for_each(|pair| take(model, pair));
            }
            CursorChange::Remove => {
                let is_removed = self.cursor.remove(txn)?;
                expect_same("removal by a cursor", is_removed, here.is_some())?;
                here.iter().for_each(|pair| take(model, pair));
            }
            CursorChange::RemoveAllValues => {
                let count = self.cursor.remove_scope(txn, DeleteScope::AllValues)?;
                let expected = match (model, &self.position) {
                    (AnyModel::Multi(table), CursorPosition::At((key, _))) => table.remove_key(key),
                    (AnyModel::Plain(table), CursorPosition::At((key, _))) => {
                        table.remove(key).into()
                    }
                    _ => 0,
                };
                expect_same("removal of all values", count, expected)?;
            }
            CursorChange::Update(value, record) => {
                self.update(txn, model, here, (value, record))?;
            }
        }
        let model = self.model(tables);
        model.map_or(Ok(()), |model| self.verify(&*txn, model))
    }

    fn insert(
        &mut self,
        txn: &mut WriteTxn,
        model: &mut AnyModel,
        (pair, record): (&Pair, &ModelValue),
    ) -> ModelResult {
        match model {
            AnyModel::Multi(table) => {
                let is_new = self.cursor.insert(txn, &pair.0, &pair.1)?;
                expect_same("insertion by a cursor", is_new, table.insert(pair))?;
            }
            AnyModel::Plain(table) => {
                let is_changed = self.cursor.insert(txn, &pair.0, record.bytes())?;
                expect_same("insertion by a cursor", is_changed, true)?;
                table.insert(&pair.0, *record);
            }
        }
        self.position = CursorPosition::At(pair.clone());
        Ok(())
    }

    fn insert_new(
        &mut self,
        txn: &mut WriteTxn,
        model: &mut AnyModel,
        ((key, value), record): (&Pair, &ModelValue),
    ) -> ModelResult {
        let there = values(model, key).into_iter().next();
        let is_new =
            self.cursor
                .insert_as(txn, InsertMode::NewKey, key, given(model, value, record))?;
        expect_same("insert_new", is_new, there.is_none())?;
        let pair = (key.clone(), there.unwrap_or_else(|| value.clone()));
        if is_new {
            put(model, &pair, record);
        }
        self.position = CursorPosition::At(pair);
        Ok(())
    }

    /// Updates the record at the cursor: `old`, if it still exists.
    fn update(
        &mut self,
        txn: &mut WriteTxn,
        model: &mut AnyModel,
        old: Option<Pair>,
        (value, record): (&ModelKey, &ModelValue),
    ) -> ModelResult {
        let is_done = match model {
            AnyModel::Multi(_) => self.cursor.update(txn, value)?,
            AnyModel::Plain(_) => self.cursor.update(txn, record.bytes())?,
        };
        expect_same("update", is_done, old.is_some())?;
        match (model, old) {
            (AnyModel::Multi(table), Some(old)) => {
                let new = (old.0.clone(), value.clone());
                table.remove(&old);
                table.insert(&new);
                self.position = CursorPosition::At(new);
            }
            (AnyModel::Plain(table), Some(old)) => drop(table.insert(&old.0, *record)),
            (_, None) => {}
        }
        Ok(())
    }

    /// Checks an append at the cursor: it must succeed if no record follows, and be refused
    /// otherwise.
    fn arrive(
        &mut self,
        model: &mut AnyModel,
        (pair, record): (&Pair, &ModelValue),
        last: Option<Pair>,
        appended: teak::Result<bool>,
    ) -> ModelResult {
        if last.is_some_and(|last| compare(model, &last, pair).is_ge()) {
            return expect_refused!(
                "appending before the last record",
                appended,
                Error::NotSorted { .. }
            );
        }
        appended?;
        put(model, pair, record);
        self.position = CursorPosition::At(pair.clone());
        Ok(())
    }

    /// The records of a delete scope; `None` if it must be refused.
    fn scope(&self, model: &AnyModel, scope: DeleteScope) -> Option<Vec<Pair>> {
        let mut scopes = DELETE_SCOPES.iter();
        let index = scopes.position(|(other, _)| *other == scope)?;
        let (sides, is_of_key) = (DELETE_SCOPES[index].1, index >= 5);
        let side_of = |pair: &Pair| match &self.position {
            CursorPosition::At(here) => compare(model, pair, here),
            CursorPosition::BeforeFirst => Ordering::Greater,
            CursorPosition::AfterLast | CursorPosition::Nowhere => Ordering::Less,
        };
        let is_meant = |pair: &Pair| match &self.position {
            CursorPosition::At(here) => !is_of_key || here.0 == pair.0,
            _ => !is_of_key,
        };
        if self.position == CursorPosition::Nowhere && scope != DeleteScope::All && !is_of_key {
            return None;
        }
        let all = walk(model, next(model, None), false);
        let is_in = |pair: &Pair| is_meant(pair) && sides.contains(&side_of(pair));
        Some(all.filter(is_in).collect())
    }
}

/// The value that the engine returns for a record of such a table.
fn given<'v>(model: &AnyModel, value: &'v ModelKey, record: &ModelValue) -> &'v [u8] {
    match model {
        AnyModel::Multi(_) => value,
        AnyModel::Plain(_) => record.bytes(),
    }
}

fn put(model: &mut AnyModel, pair: &Pair, record: &ModelValue) {
    match model {
        AnyModel::Multi(table) => drop(table.insert(pair)),
        AnyModel::Plain(table) => drop(table.insert(&pair.0, *record)),
    }
}

fn take(model: &mut AnyModel, pair: &Pair) {
    match model {
        AnyModel::Multi(table) => drop(table.remove(pair)),
        AnyModel::Plain(table) => drop(table.remove(&pair.0)),
    }
}
