//! Creating, renaming and dropping tables.

use super::{write::WriteTxn, write_reading::Catalog};
use crate::api::sealed::Sealed;
use crate::{
    Error, Result, TableTypes,
    api::{
        MultiTable, Table, codec::Codec, open_table::number_of, table_def::TableDef,
        table_options::TableOptions, table_types::refuse_other_types,
    },
    btree::{TableClass, TreeRoot},
    maintain::dropped,
    page::stamp::ExpirySettings,
    read::catalog,
    types::TypeNames,
    write::{expiring::ExpiringNames, transaction},
};

impl WriteTxn {
    /// Opens a table, or creates it with default options. [`TableDef`](crate::TableDef) creates it
    /// with others.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options, and [`Error::TableTypeMismatch`]
    /// with other types; [`Error::KeyTooLong`] if the name is longer than the longest key;
    /// [`Error::InvalidArgument`] if the keys do not sort
    /// in byte order; [`Error::ComparisonMissing`] or [`Error::ComparisonMismatch`].
    pub fn create_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
    ) -> Result<Table<K, V>> {
        TableDef::from_bytes(name.as_ref()).create(self)
    }

    /// Opens a multi-value table, or creates it with default options: values of any length, in byte
    /// order. [`MultiTableDef`](crate::MultiTableDef) creates it with others. Versions of Teak
    /// without such tables cannot open a database that has ever had one.
    ///
    /// ```
    /// # use teak::{Database, KeyOrder, MultiTableDef, TableOptions, ValueSize, codec::NativeU64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert(&mut txn, "teak", "a tree")?;
    /// let options = TableOptions::new()
    ///     .value_order(KeyOrder::Integer)
    ///     .value_size(ValueSize::Bytes(8));
    /// let postings = MultiTableDef::<&str, NativeU64>::new("postings").options(options);
    /// let postings = postings.create(&mut txn)?;
    /// postings.insert(&mut txn, "teak", 700_000)?;
    /// postings.insert(&mut txn, "teak", 3)?;
    /// let all: Vec<_> = postings.values(&txn, "teak")?.collect::<teak::Result<_>>()?;
    /// assert_eq!(all, [3, 700_000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options, and [`Error::TableTypeMismatch`]
    /// with other types; [`Error::KeyTooLong`] if the name is longer than the longest key;
    /// [`Error::InvalidArgument`] if the options are
    /// contradictory, or if the keys or values do not sort in the order of the table;
    /// [`Error::ComparisonMissing`] or [`Error::ComparisonMismatch`].
    pub fn create_multi_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        TableDef::from_bytes(name.as_ref()).create(self)
    }

    /// Opens or creates a table of any kind, and returns its root.
    pub(in crate::api) fn create(
        &mut self,
        name: &[u8],
        options: TableOptions,
        types: TypeNames<'_>,
    ) -> Result<TreeRoot> {
        if options.expiring {
            return self.create_expiring(name, options, types, &ExpirySettings::default());
        }
        self.check_name(name)?;
        let root = options.to_root()?;
        let len = usize::from(root.kind.value_size);
        let max = crate::page::max_key_len(self.engine().usable_page_len());
        if len > max {
            return Err(Error::ValueTooLong { len, max });
        }
        if let Some(root) = self.existing(name, options, types)? {
            return Ok(root);
        }
        let handle = self.engine().handle(name);
        self.whole_mut()?.create_table(handle, name, root, types)?;
        Ok(root)
    }

    /// Opens or creates an expiring table, and returns the root of its records. The settings are
    /// those of a new one.
    pub(in crate::api) fn create_expiring(
        &mut self,
        name: &[u8],
        options: TableOptions,
        types: TypeNames<'_>,
        settings: &ExpirySettings,
    ) -> Result<TreeRoot> {
        self.check_name(name)?;
        let root = options.to_root()?;
        self.check_index_name(name)?;
        if let Some(root) = self.existing(name, options, types)? {
            return Ok(root);
        }
        let table = ExpiringNames::new(self.engine(), name);
        self.whole_mut()?
            .create_expiring(&table, root, types, settings)?;
        Ok(root)
    }

    /// The root of a table, if it exists. It must have these options and types.
    fn existing(
        &self,
        name: &[u8],
        options: TableOptions,
        types: TypeNames<'_>,
    ) -> Result<Option<TreeRoot>> {
        match self.small() {
            Some(small) => existing(&Catalog(small), name, options, types),
            None => existing(self, name, options, types),
        }
    }

    /// Draws from the sequence of a table of any kind, and returns the first number.
    pub(in crate::api) fn draw_sequence(&mut self, name: &[u8], count: u64) -> Result<u64> {
        match number_of(self, name)? {
            Some(handle) => self.whole_mut()?.draw_sequence(handle, name, count),
            None => Err(transaction::not_found(name)),
        }
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        let max = crate::page::max_key_len(self.engine().usable_page_len());
        if name.len() > max {
            return Err(Error::KeyTooLong {
                len: name.len(),
                max,
            });
        }
        if dropped::is_reserved(name) {
            let text = "20-byte names that begin with a zero byte and \"dropped\" are reserved; choose another name";
            return Err(Error::InvalidArgument(text.into()));
        }
        if name.starts_with(catalog::EXPIRY_INDEX_START) {
            let text = "names that begin with \"expiry\" between two zero bytes are reserved; choose another name";
            return Err(Error::InvalidArgument(text.into()));
        }
        Ok(())
    }

    /// Refuses the name of an expiring table if that of its index is too long.
    fn check_index_name(&self, name: &[u8]) -> Result<()> {
        let max = crate::page::max_key_len(self.engine().usable_page_len());
        let (len, max) = (name.len(), max - catalog::EXPIRY_INDEX_START.len());
        match len > max {
            true => Err(Error::KeyTooLong { len, max }),
            false => Ok(()),
        }
    }

    /// Records other names of a table's types, which it is opened with from then on. Records do not
    /// change. Use it for a table that was created without types, or after its records were
    /// encoded in another way; empty names record nothing. Whether the new types sort in the order
    /// of the table is checked when it is opened.
    ///
    /// ```
    /// # use teak::{Database, Error, TableTypes, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("ages")?;
    /// let refused = txn.open_table::<&str, u64>("ages");
    /// assert!(matches!(refused, Err(Error::TableTypeMismatch { .. })));
    /// txn.set_table_types("ages", &TableTypes::new("str", "u64"))?;
    /// txn.open_table::<&str, u64>("ages")?;
    /// assert_eq!(txn.tables()?[0].types.to_string(), "str -> u64");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::InvalidArgument`] if a name has more than 255 bytes;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn set_table_types(&mut self, name: impl AsRef<[u8]>, types: &TableTypes) -> Result<()> {
        let name = name.as_ref();
        let handle = number_of(self, name)?.ok_or_else(|| transaction::not_found(name))?;
        self.whole_mut()?.set_types(handle, name, types.names())
    }

    /// Renames a table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::TableExists`] or [`Error::KeyTooLong`].
    pub fn rename_table(&mut self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<()> {
        let (old, new) = (old.as_ref(), new.as_ref());
        self.check_name(new)?;
        let old_handle = number_of(self, old)?.ok_or_else(|| transaction::not_found(old))?;
        let new_handle = self.engine().handle(new);
        if let Some(root) = self.root_of(old_handle, old)?
            && root.kind.class == TableClass::Expiring
        {
            self.check_index_name(new)?;
        }
        self.whole_mut()?
            .rename_table((old_handle, old), (new_handle, new))
    }

    /// Drops a table with all its records; returns whether there was one. The pages of a huge table
    /// are released in parts, by later commits;
    /// [`DatabaseStat::dropped_pages`](crate::DatabaseStat::dropped_pages) reports how many are
    /// left.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn drop_table(&mut self, name: impl AsRef<[u8]>) -> Result<bool> {
        let name = name.as_ref();
        self.whole()?.refuse_broken()?;
        match number_of(self, name)? {
            Some(handle) => self.whole_mut()?.drop_table(handle, name),
            None => Ok(false),
        }
    }
}

/// The root of a table, if it exists. It must have these options and types.
fn existing<T: Sealed>(
    txn: &T,
    name: &[u8],
    options: TableOptions,
    types: TypeNames<'_>,
) -> Result<Option<TreeRoot>> {
    let engine = txn.engine();
    let handle = engine.handle(name);
    let Some(root) = txn.root_of(handle, name)? else {
        return Ok(None);
    };
    options.refuse_others(name, TableOptions::of_root(&root))?;
    refuse_other_types(txn, &root, name, types)?;
    engine.refuse_disorder(txn.source(), &root, (handle, name))?;
    Ok(Some(*root))
}
