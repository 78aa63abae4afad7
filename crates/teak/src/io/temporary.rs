//! Temporary files, whose parts are encoded if the database has a codec.

use super::{
    file::temporary_file,
    page_codec::{EntryKind, PageCodec},
};
use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, Write},
    path::Path,
    sync::Arc,
};

/// The most bytes that are encoded together. Callers write through a buffer.
const PART_LEN_MAX: usize = 1 << 20;

/// A file without a name, which is written once, and then read.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    file: File,
    codec: Option<Arc<dyn PageCodec>>,
    /// The number of the next part.
    part: u64,
    /// The part that was read last, and how much of it was returned.
    decoded: Vec<u8>,
    returned: usize,
}

impl TemporaryFile {
    /// Creates a file in a directory.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn create(directory: &Path, codec: Option<Arc<dyn PageCodec>>) -> io::Result<Self> {
        Ok(Self {
            file: temporary_file(directory)?,
            codec,
            part: 0,
            decoded: Vec::new(),
            returned: 0,
        })
    }

    /// Begins to read what was written.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        self.part = 0;
        self.file.rewind()
    }

    /// Reads and decodes the next part; `false` if there is none.
    fn read_part(&mut self, codec: &dyn PageCodec) -> io::Result<bool> {
        let mut len = [0; 4];
        match self.file.read_exact(&mut len) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let changed = || io::Error::new(ErrorKind::InvalidData, "somebody has changed the file");
        let len = u32::from_le_bytes(len) as usize;
        if len > PART_LEN_MAX + codec.entry_added_len() {
            return Err(changed());
        }
        let mut sealed = vec![0; len];
        self.file.read_exact(&mut sealed)?;
        let opened = codec.open_entry(EntryKind::Temporary, self.part, &sealed);
        self.decoded = opened.ok_or_else(changed)?;
        self.returned = 0;
        self.part += 1;
        Ok(true)
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(codec) = &self.codec else {
            return self.file.write(bytes);
        };
        let bytes = &bytes[..bytes.len().min(PART_LEN_MAX)];
        let sealed = codec.seal_entry(EntryKind::Temporary, self.part, bytes);
        debug_assert_eq!(
            sealed.len(),
            bytes.len() + codec.entry_added_len(),
            "an entry becomes longer by what the codec says"
        );
        self.file.write_all(&(sealed.len() as u32).to_le_bytes())?;
        self.file.write_all(&sealed)?;
        self.part += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for TemporaryFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(codec) = self.codec.clone() else {
            return self.file.read(out);
        };
        if self.returned == self.decoded.len() && !self.read_part(&*codec)? {
            return Ok(0);
        }
        debug_assert!(
            self.returned <= self.decoded.len(),
            "no more is returned than was decoded"
        );
        let rest = &self.decoded[self.returned..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.returned += len;
        Ok(len)
    }
}
