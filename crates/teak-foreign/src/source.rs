//! The source of a file's bytes.

use crate::files::read_exact_at;
use std::{fs::File, io};

/// Bytes that can be read at any offset.
pub trait Source {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] if there are too few bytes; errors of the system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The length of the file in bytes.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn len_bytes(&self) -> io::Result<u64>;
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        read_exact_at(self, buffer, offset)
    }

    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(buffer.len()));
        let bytes = match (start, end) {
            (Some(start), Some(end)) => self.get(start..end),
            _ => None,
        };
        match bytes {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}
