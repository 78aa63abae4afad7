//! Operations of an episode on the set of tables.

use super::{ModelEpisode, ModelWriter, no_such_table};
use crate::model::{
    multi::oracle::MultiKind,
    oracle::{AnyModel, AnyTableKind, TableKind},
    reading::ReadSource,
    reads,
    violation::{ModelResult, expect_error, expect_refused, expect_same},
};
use std::sync::Arc;
use teak::{
    Error, MultiTableDef, TableDef, TableTypes, Transaction,
    codec::{Raw, Str},
};

impl ModelEpisode {
    pub(super) fn create_table(&mut self, name: &[u8], kind: &AnyTableKind) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let is_refused = |error: &Error| matches!(error, Error::TableMismatch { .. });
        let description = "a table with other options";
        match kind {
            AnyTableKind::Plain(kind) => {
                TableDef::<Raw, Raw>::from_bytes(name)
                    .options(kind.options())
                    .create(txn)?;
                let other = TableKind {
                    share_prefixes: !kind.share_prefixes,
                    ..kind.clone()
                };
                let result = TableDef::<Raw, Raw>::from_bytes(name)
                    .options(other.options())
                    .create(txn);
                expect_error(description, result, is_refused)?;
                let result = txn.open_multi_table::<Raw, Raw>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
            AnyTableKind::Multi(kind) => {
                MultiTableDef::<Raw, Raw>::from_bytes(name)
                    .options(kind.options())
                    .create(txn)?;
                let other = MultiKind {
                    counted: !kind.counted,
                    ..kind.clone()
                };
                let result = MultiTableDef::<Raw, Raw>::from_bytes(name)
                    .options(other.options())
                    .create(txn);
                expect_error(description, result, is_refused)?;
                let result = txn.open_table::<Raw, Raw>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
        }
        if !tables.contains_key(name) {
            tables.insert(name.to_vec(), Arc::new(AnyModel::new(kind)));
        }
        Ok(())
    }

    pub(super) fn drop_table(&mut self, name: &[u8]) -> ModelResult {
        self.handles.remove(name);
        let ModelWriter {
            txn,
            tables,
            is_recast,
            ..
        } = self.writing()?;
        *is_recast = true;
        expect_same(
            "drop_table",
            txn.drop_table(name)?,
            tables.remove(name).is_some(),
        )?;
        let result = txn.open_table::<Raw, Raw>(name);
        expect_refused!("a dropped table", result, Error::TableNotFound(_))
    }

    pub(super) fn rename_table(&mut self, from: &[u8], to: &[u8]) -> ModelResult {
        self.handles.remove(from);
        self.handles.remove(to);
        let ModelWriter {
            txn,
            tables,
            is_recast,
            ..
        } = self.writing()?;
        *is_recast = true;
        let result = txn.rename_table(from, to);
        match tables.get(from) {
            None => expect_refused!("renaming no table", result, Error::TableNotFound(_)),
            Some(_) if tables.contains_key(to) => {
                expect_refused!(
                    "renaming to a name that is taken",
                    result,
                    Error::TableExists(_)
                )
            }
            Some(table) => {
                let table = table.clone();
                tables.remove(from);
                tables.insert(to.to_vec(), table);
                Ok(result?)
            }
        }
    }

    pub(super) fn set_types(&mut self, name: &[u8], types: &TableTypes) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        txn.set_table_types(name, types)?;
        let model = tables.get_mut(name).map(Arc::make_mut);
        *model.ok_or_else(no_such_table)?.types_mut() = types.clone();
        if types.keys.is_empty() {
            return Ok(());
        }
        let result = txn.open_table::<Str, Raw>(name);
        let is_refused = |error: &Error| {
            matches!(
                error,
                Error::TableTypeMismatch { .. } | Error::TableMismatch { .. }
            )
        };
        expect_error("a table of other types", result, is_refused)
    }

    pub(super) fn list_tables(&self, source: ReadSource) -> ModelResult {
        with_state!(self, source, |txn, tables| reads::list_tables(txn, tables))
    }
}
