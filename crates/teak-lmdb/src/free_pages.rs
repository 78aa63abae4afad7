//! The free pages as LMDB shows them: records of page numbers, each with its count first.

use crate::codes::CallResult;
use std::rc::Rc;
use teak::{Database, PageUse};

/// A single record, whose key is the number of the last commit, and a position.
#[derive(Clone, Debug)]
pub(crate) struct FreePages {
    record: Rc<(Vec<u8>, Vec<u8>)>,
    is_on_record: bool,
}

/// The numbers of the free pages.
pub(crate) fn numbers(database: &Database) -> CallResult<Vec<u64>> {
    let uses = database.page_kinds()?;
    let is_free = |used: &PageUse| matches!(used, PageUse::Free | PageUse::Pending);
    let free = uses.iter().enumerate().filter(|(_, used)| is_free(used));
    Ok(free.map(|(number, _)| number as u64).rev().collect())
}

impl FreePages {
    /// The pages that are free in the state `transaction`.
    pub(crate) fn new(database: &Database, transaction: u64) -> CallResult<Self> {
        let numbers = numbers(database)?;
        let count = numbers.len() as u64;
        let all = [count].into_iter().chain(numbers);
        let value = all.flat_map(u64::to_ne_bytes).collect();
        Ok(Self {
            record: Rc::new((transaction.to_ne_bytes().to_vec(), value)),
            is_on_record: false,
        })
    }

    pub(crate) fn is_on_record(&self) -> bool {
        self.is_on_record
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.record.0
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.record.1
    }

    pub(crate) fn first(&mut self) -> CallResult<bool> {
        self.is_on_record = true;
        Ok(true)
    }

    pub(crate) fn last(&mut self) -> CallResult<bool> {
        self.first()
    }

    pub(crate) fn next(&mut self) -> CallResult<bool> {
        self.is_on_record = false;
        Ok(false)
    }

    pub(crate) fn prev(&mut self) -> CallResult<bool> {
        self.next()
    }

    pub(crate) fn seek_exact(&mut self, key: &[u8]) -> CallResult<bool> {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let (sought, own) = (number(key), number(&self.record.0));
        self.is_on_record = sought <= own;
        Ok(sought == own)
    }
}
