//! The options of compressed databases, and of the memory for pages that are decoded.

#[cfg(feature = "compression")]
use super::Compression;
use super::Options;
use crate::instance::policies::CodecSettings;

impl Options {
    /// Compresses the pages and the large values of a new database. An existing one is what it is;
    /// [`ReadTxn::copy_dense_with`](crate::ReadTxn::copy_dense_with) makes a copy with another
    /// compression, or with none. See `docs/compression.md` for what it gains and costs.
    ///
    /// A compressed database has pages of 32 KiB unless [`page_size`](Options::page_size) is set, to
    /// at least 8 KiB. A page takes as many blocks of 4 KiB on disk as its compressed form needs,
    /// and the rest of it is a hole in the file: the file system must support holes.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("orders.teak");
    /// use teak::{Compression, Options};
    /// let database = Options::new().compression(Compression::Lz4).open(&path)?;
    /// assert_eq!(database.info().compression, Some(Compression::Lz4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "compression")]
    pub fn compression(mut self, compression: impl Into<Option<Compression>>) -> Self {
        self.settings.codecs.compression = compression.into();
        self
    }

    /// Sets how much memory the decoded pages of an encrypted or compressed database take in this
    /// process; 256 MiB by default.
    ///
    /// The limit is not strict. Pages that a transaction has read stay in memory until it ends,
    /// because its slices are borrowed from there.
    pub fn decoded_cache_bytes(mut self, bytes: u64) -> Self {
        self.settings.codecs.cache_bytes = bytes;
        self
    }

    /// The page size that was set.
    pub(in crate::api) fn page_size_set(&self) -> Option<usize> {
        self.settings.page_size
    }

    /// Sets or resets the page size.
    pub(in crate::api) fn with_page_size(mut self, bytes: Option<usize>) -> Self {
        self.settings.page_size = bytes;
        self
    }

    /// Encodes the file like another one.
    pub(crate) fn with_codecs_of(mut self, codecs: CodecSettings) -> Self {
        self.settings.codecs = codecs;
        self
    }

    /// How the pages of the file are encoded.
    pub(crate) fn codecs(&self) -> &CodecSettings {
        &self.settings.codecs
    }
}
