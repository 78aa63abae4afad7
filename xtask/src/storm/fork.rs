//! A worker forks, and its child uses inherited handles: that must fail without other effects.

#![allow(unsafe_code)]

use super::tables::NAMES;
use crate::{Result, campaign::database::existing};
use rustix::process::{Pid, WaitOptions, waitpid};
use teak::{Database, ReadTxn, Table, Transaction};

/// A child that takes longer counts as hung.
const SECONDS_MAX: u32 = 10;

/// Exit codes of the child.
const REFUSED: i32 = 0;
const READ_BEGUN: i32 = 10;
const WRITE_BEGUN: i32 = 11;
const READ_ON: i32 = 12;

/// Forks, and waits for the child.
pub(super) fn fork(database: &Database) -> Result {
    let txn = database.begin_read()?;
    let Some(table) = existing(txn.open_table::<u64, u64>(NAMES[0]))? else {
        return Ok(());
    };
    // SAFETY: the child has one thread only, and locks of other threads may stay locked in it. It
    // calls the functions of the engine that must refuse at once, and then `_exit`, so that nothing
    // of the parent is dropped or flushed. If it waits for a lock, the alarm ends it.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: has no preconditions.
        unsafe { libc::alarm(SECONDS_MAX) };
        let code = use_inherited(database, &txn, &table);
        // SAFETY: has no preconditions.
        unsafe { libc::_exit(code) };
    }
    match u32::try_from(pid) {
        Ok(_) => expect_success(Pid::from_raw(pid)),
        Err(_) => Err(std::io::Error::last_os_error().into()),
    }
}

fn use_inherited(database: &Database, txn: &ReadTxn, table: &Table<u64, u64>) -> i32 {
    if database.begin_read().is_ok() {
        return READ_BEGUN;
    }
    if table.get(txn, 0).is_ok() {
        return READ_ON;
    }
    if database.begin_write().is_ok() {
        return WRITE_BEGUN;
    }
    REFUSED
}

fn expect_success(pid: Option<Pid>) -> Result {
    let Some((_, status)) = waitpid(pid, WaitOptions::empty())? else {
        bail!("the child of a fork was not waited for");
    };
    let text = match status.exit_status() {
        Some(REFUSED) => return Ok(()),
        Some(READ_BEGUN) => "began to read".to_owned(),
        Some(WRITE_BEGUN) => "began to write".to_owned(),
        Some(READ_ON) => "read with a transaction of its parent".to_owned(),
        Some(code) => format!("ended with code {code}"),
        None => format!("ended by signal {:?}", status.terminating_signal()),
    };
    Err(failure!("the child of a fork {text}"))
}
