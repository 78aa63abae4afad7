//! Consecutive little-endian fields.

/// Writes fields to bytes.
pub(super) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    /// Creates a writer with room for `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(len),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn put(&mut self, field: &[u8]) {
        debug_assert!(
            field.len() <= self.bytes.capacity() - self.bytes.len(),
            "the announced length has room for every field"
        );
        self.bytes.extend_from_slice(field);
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Returns the bytes, padded with zeros to this length.
    pub(super) fn finish(mut self, len: usize) -> Vec<u8> {
        assert!(len >= self.bytes.len(), "padding drops no field");
        self.bytes.resize(len, 0);
        self.bytes
    }
}

/// Reads fields from bytes. The caller has checked that there are enough of them; past the end all
/// fields are zero.
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn skip(&mut self, len: usize) {
        self.bytes = self.bytes.get(len..).unwrap_or_default();
    }

    pub(super) fn array<const LEN: usize>(&mut self) -> [u8; LEN] {
        let field = self.bytes.first_chunk().copied().unwrap_or([0; LEN]);
        self.skip(LEN);
        field
    }

    pub(super) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}
