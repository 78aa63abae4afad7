//! Copies of an environment.

use crate::{
    codes::{CallResult, Code},
    environment::OpenEnvironment,
    files::{Files, of_io},
    flags,
    system::{self, FileHandle},
};
use std::{
    ffi::{CStr, c_uint},
    fs::{self, File, OpenOptions},
    io,
    ops::ControlFlow,
    path::Path,
};
use teak::ReadTxn;

/// Copies to the data file of another environment, which must not exist.
pub(crate) fn to_path(opened: &OpenEnvironment, path: &CStr, asked: c_uint) -> CallResult {
    let is_dense = is_dense(asked)?;
    let target = Files::new(path, opened.flags())?.data;
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
    descriptor: FileHandle,
    asked: c_uint,
) -> CallResult {
    let is_dense = is_dense(asked)?;
    // SAFETY: the client promises that the descriptor is open.
    let out = unsafe { system::file_of(descriptor) };
    let mut out = out.ok_or(Code(libc::EBADF))?;
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
