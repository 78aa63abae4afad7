//! Copies of an environment.

use crate::{
    codes::{CallResult, Code},
    environment::OpenEnvironment,
    files::{Files, of_io},
    flags,
};
use std::{
    ffi::{CStr, c_int, c_uint},
    fs::{self, File, OpenOptions},
    io,
    mem::ManuallyDrop,
    ops::ControlFlow,
    os::fd::FromRawFd,
    path::Path,
};
use teak::ReadTxn;

/// Copies to the data file of another environment, which must not exist.
pub(crate) fn to_path(opened: &OpenEnvironment, path: &CStr, asked: c_uint) -> CallResult {
    let is_dense = is_dense(asked)?;
    let target = Files::new(path, opened.flags()).data;
    let txn = opened.database.begin_read()?;
    if is_dense {
        return dense(&txn, &target);
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .open(&target)
        .map_err(of_io)?;
    let copied = exact(&txn, &mut file).and_then(|()| file.sync_all().map_err(of_io));
    if copied.is_err() {
        // Removes an incomplete copy.
        let _ = fs::remove_file(&target);
    }
    copied
}

/// Copies to a descriptor of the client's.
pub(crate) fn to_descriptor(
    opened: &OpenEnvironment,
    descriptor: c_int,
    asked: c_uint,
) -> CallResult {
    let is_dense = is_dense(asked)?;
    if descriptor < 0 {
        return Err(Code(libc::EBADF));
    }
    // SAFETY: the client promises that the descriptor is open, and `ManuallyDrop` keeps it from
    // being closed.
    let mut out = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let txn = opened.database.begin_read()?;
    if !is_dense {
        return exact(&txn, &mut out);
    }
    // Pages are built from the leaves up and the first pages last, so this needs a file.
    let directory = tempfile::tempdir().map_err(of_io)?;
    let copy = directory.path().join("copy");
    dense(&txn, &copy)?;
    let mut copy = File::open(&copy).map_err(of_io)?;
    io::copy(&mut copy, &mut *out).map(drop).map_err(of_io)
}

fn is_dense(asked: c_uint) -> CallResult<bool> {
    match asked & !flags::CP_COMPACT {
        0 => Ok(asked != 0),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

fn exact(txn: &ReadTxn, out: &mut File) -> CallResult {
    txn.write_backup(out, None, &mut |_| ControlFlow::Continue(()))?;
    Ok(())
}

fn dense(txn: &ReadTxn, target: &Path) -> CallResult {
    txn.copy_dense(target, &mut |_| ControlFlow::Continue(()))?;
    Ok(())
}
