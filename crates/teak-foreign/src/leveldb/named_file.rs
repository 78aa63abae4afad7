//! A file of the directory.

use crate::{Error, Result, files::read_exact_at};
use std::{
    cell::Cell,
    fs::File,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

/// The number of bytes read of all files in a pass.
#[derive(Clone, Default, Debug)]
pub(super) struct ReadBytes(Rc<Cell<u64>>);

impl ReadBytes {
    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// The error of an operation on a file.
pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path, source }
}

/// An open file, and its path for errors.
#[derive(Debug)]
pub(super) struct NamedFile {
    path: PathBuf,
    file: File,
    /// The number of its bytes that count.
    pub(super) len: u64,
    read_bytes: ReadBytes,
}

impl NamedFile {
    /// Opens a file with its length.
    pub(super) fn open(path: PathBuf, read_bytes: &ReadBytes) -> Result<Self> {
        let file = File::open(&path).map_err(failed(&path))?;
        let len = file.metadata().map_err(failed(&path))?.len();
        Ok(Self {
            path,
            file,
            len,
            read_bytes: read_bytes.clone(),
        })
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read = read_exact_at(&self.file, buffer, offset);
        read.map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(offset, "the file became shorter"),
            _ => failed(&self.path)(source),
        })?;
        let read_bytes = &self.read_bytes.0;
        read_bytes.set(read_bytes.get() + buffer.len() as u64);
        Ok(())
    }

    /// A damage at `offset`.
    pub(super) fn damaged(&self, offset: u64, detail: impl Into<String>) -> Error {
        Error::DamagedFile {
            path: self.path.clone(),
            offset,
            detail: detail.into(),
        }
    }
}
