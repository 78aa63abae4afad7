//! Insertion: find the leaf, make the path to it changeable, put the record in.
//!
//! A page that a snapshot can see is copied first, and its parent points to the copy; so a path is
//! made changeable from the root down. What is already there is left alone: writing a value that
//! is there already copies nothing.

use super::{
    PageSink,
    cursor::record_at,
    lookup,
    mutable_tree::{Tree, value_pages},
    position::{Position, Step},
    rebalance, visit_leaf,
};
use crate::{
    Error, PageNumber, Result,
    page::{
        Damage,
        key::KeyOrder,
        leaf::{self, InPlace, Leaf},
        value::{StoredValue, VALUE_RUN_LEN, ValueKind},
    },
};
use std::mem;

/// What to do about a key that is there already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// Its value is replaced.
    Replace,
    /// It is left as it is.
    Keep,
}

/// What an insertion did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// The key was not there and is now.
    New,
    /// The key was there and has a new value.
    Replaced,
    /// The key was there, and nothing changed.
    Unchanged,
}

/// Room for the description of a value that is kept in a run.
pub(super) type RunBytes = [u8; VALUE_RUN_LEN];

impl<'t, S: PageSink> Tree<'t, S> {
    /// The last key; empty in an empty tree.
    pub(crate) fn last_key(&self) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        let mut position = Position::default();
        position.last(&*self.sink, self.root)?;
        record_at(&*self.sink, &position, &mut key)?;
        Ok(key)
    }

    /// Inserts a record. The key must not be longer than the longest that a page carries.
    pub(crate) fn insert(
        &mut self,
        key: &[u8],
        value: StoredValue<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        self.insert_near(&mut Vec::new(), key, value, existing)
    }

    /// The same for many records, one after the other: `near` is the path that this function or [`Self::remove_near`] left, if nothing else has
    /// changed the tree since, or empty. Keys that follow each other need no way down then, or a short one.
    pub(crate) fn insert_near(
        &mut self,
        near: &mut Vec<Step>,
        key: &[u8],
        value: StoredValue<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        let mut position = Position::on(mem::take(near));
        if self.root.is_empty() {
            self.plant(key, value)?;
            return Ok(Inserted::New);
        }
        if !position.descend_near(&*self.sink, self.root, key)? {
            *near = self.add(position.into_path(), key, value)?;
            return Ok(Inserted::New);
        }
        let (inserted, path) = match existing {
            Existing::Replace => self.replace(position, key, value)?,
            Existing::Keep => (Inserted::Unchanged, position.into_path()),
        };
        *near = path;
        Ok(inserted)
    }

    /// Adds a record where the path leads, which is its place. Returns the path to it, which is empty where leaves were laid out anew.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        path: Vec<Step>,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<Vec<Step>> {
        let mut path = self.own_path(path)?;
        let mut run = RunBytes::default();
        let kept = self.keep(key.len(), value, &mut run)?;
        self.root.records += 1;
        self.touch();
        match self.place(&path, key, kept)? {
            InPlace::Done => self.add_to_counts(&path, 1)?,
            InPlace::Rebuild => path.clear(),
        }
        Ok(path)
    }

    /// The first record of an empty tree.
    pub(super) fn plant(&mut self, key: &[u8], value: StoredValue<'_>) -> Result<()> {
        let mut run = RunBytes::default();
        let kept = self.keep(key.len(), value, &mut run)?;
        self.plant_kept(key, kept, 1)
    }

    /// The same for a value as the leaf keeps it, which stands for so many records.
    pub(super) fn plant_kept(
        &mut self,
        key: &[u8],
        kept: StoredValue<'_>,
        records: u64,
    ) -> Result<()> {
        let number = self.new_leaf()?;
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(number)?;
        leaf::init(page, number, birth, format, &[]);
        let done = leaf::insert(page, format.order, 0, key, kept);
        let done = done.map_err(|damage| damage.at(number, "insert"))?;
        assert_eq!(done, InPlace::Done, "an empty leaf holds every record");
        self.fix_key_len(key);
        self.root.page = number;
        self.root.depth = 1;
        self.root.records = records;
        self.touch();
        Ok(())
    }

    /// The first key of a table of integers decides how long they are.
    pub(super) fn fix_key_len(&mut self, key: &[u8]) {
        if self.root.order == KeyOrder::Integer {
            self.root.key_len = key.len() as u16;
        }
    }

    /// Gives the record at a position, which has this key, another value. Returns the path to it, too, which is empty where leaves were laid out anew.
    pub(super) fn replace(
        &mut self,
        position: Position,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<(Inserted, Vec<Step>)> {
        let (number, index) = position.record().expect("the key was found");
        let leaf = visit_leaf(&*self.sink, number, "insert")?;
        let node = leaf
            .node(index)
            .map_err(|damage| damage.at(number, "insert"))?;
        let old = node.value;
        let old_run = old.as_run().map_err(|damage| damage.at(number, "insert"))?;
        if self.is_same(number, old, value)? {
            return Ok((Inserted::Unchanged, position.into_path()));
        }
        let stored_key = self.stored_key(&leaf, index);
        let stored_key = stored_key.map_err(|damage| damage.at(number, "insert"))?;
        let key = stored_key.as_deref().unwrap_or(key);
        let mut path = self.own_path(position.into_path())?;
        let mut run = RunBytes::default();
        let kept = self.keep(key.len(), value, &mut run)?;
        self.touch();
        if self.put_value(&path, key, kept)? == InPlace::Rebuild {
            path.clear();
        }
        if let Some(run) = old_run {
            self.release_run(&run)?;
        }
        Ok((Inserted::Replaced, path))
    }

    /// The key of a record that is about to get another value, where the one that was looked for may be other bytes: the key
    /// stays as it is.
    #[inline]
    pub(super) fn stored_key(
        &self,
        leaf: &Leaf<'_>,
        index: usize,
    ) -> Result<Option<Vec<u8>>, Damage> {
        match self.root.order {
            KeyOrder::Custom(_) => leaf.key(index).map(Some),
            _ => Ok(None),
        }
    }

    /// Puts a value in the place of the one where the path leads. What that refers to is the caller's to release.
    #[inline(always)]
    pub(super) fn put_value(
        &mut self,
        path: &[Step],
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<InPlace> {
        let step = *path.last().expect("a path has a leaf");
        let damaged = |damage: Damage| damage.at(step.page, "insert");
        let page = self.sink.page_mut(step.page)?;
        if leaf::set_value(page, step.index, value).map_err(damaged)? == InPlace::Done {
            return Ok(InPlace::Done);
        }
        leaf::remove(page, step.index).map_err(damaged)?;
        self.place(path, key, value)
    }

    /// Whether the stored value has these bytes already.
    pub(super) fn is_same(
        &self,
        leaf: PageNumber,
        old: StoredValue<'_>,
        new: StoredValue<'_>,
    ) -> Result<bool> {
        match (old.kind, new.kind) {
            (ValueKind::Inline, ValueKind::Inline) | (ValueKind::Tree, ValueKind::Tree) => {
                Ok(old.bytes == new.bytes)
            }
            (ValueKind::Run, ValueKind::Inline) => {
                let run = old.as_run().map_err(|damage| damage.at(leaf, "insert"))?;
                if run.is_none_or(|run| run.len_bytes != new.bytes.len() as u64) {
                    return Ok(false);
                }
                match lookup::load(&*self.sink, leaf, old) {
                    Ok(old) => Ok(old == new.bytes),
                    // A damaged value may be replaced.
                    Err(Error::Corrupted { .. }) => Ok(false),
                    Err(error) => Err(error),
                }
            }
            _ => Ok(false),
        }
    }

    /// What a leaf keeps of a value: the value as it is given, or, if that is too large for a leaf,
    /// the description of the run that it is written to.
    #[inline(always)]
    pub(super) fn keep<'v>(
        &mut self,
        key_len: usize,
        value: StoredValue<'v>,
        run: &'v mut RunBytes,
    ) -> Result<StoredValue<'v>> {
        let (format, page_size) = (self.root.leaf_format(), self.sink.page_size());
        let is_small = format.stays_inline(page_size, key_len, value.bytes.len());
        if is_small || value.kind != ValueKind::Inline {
            return Ok(value);
        }
        self.keep_in_run(value.bytes, run)?;
        Ok(StoredValue {
            kind: ValueKind::Run,
            bytes: run,
        })
    }

    #[inline(never)]
    pub(super) fn keep_in_run(&mut self, value: &[u8], bytes: &mut RunBytes) -> Result<()> {
        let run = self.sink.store_value(value)?;
        self.root.value_pages += value_pages(&run, self.sink.page_size());
        *bytes = run.encode();
        Ok(())
    }

    /// Puts a record where the path leads, in place if the leaf has room for it: then the path leads to the record, and the counts above
    /// are yet to be corrected.
    pub(super) fn place(
        &mut self,
        path: &[Step],
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<InPlace> {
        let step = *path.last().expect("a path has a leaf");
        let order = self.root.order;
        let page = self.sink.page_mut(step.page)?;
        let done = leaf::insert(page, order, step.index, key, value);
        let done = done.map_err(|damage| damage.at(step.page, "insert"))?;
        match done {
            InPlace::Done => {}
            InPlace::Rebuild => rebalance::insert_anew(self, path, key, value)?,
        }
        Ok(done)
    }
}
