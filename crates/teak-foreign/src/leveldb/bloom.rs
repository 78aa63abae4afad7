//! Bloom filters as LevelDB's own filter policy makes them.

/// The name under which a table has its filters.
pub(super) const FILTER_NAME: &[u8] = b"filter.leveldb.BuiltinBloomFilter2";
/// A filter is for the blocks that begin in so many bytes of a table: 2 to the power of this.
const RANGE_LOG: u8 = 11;
const HASH_SEED: u32 = 0xbc9f_1d34;

/// The filters of a table.
#[derive(Debug)]
pub(super) struct FilterWriter {
    bits_per_key: usize,
    /// The hashes of the keys of the range that is being filled.
    hashes: Vec<u32>,
    filters: Vec<u8>,
    offsets: Vec<u32>,
}

impl FilterWriter {
    pub(super) fn new(bits_per_key: usize) -> Self {
        Self {
            bits_per_key,
            hashes: Vec::new(),
            filters: Vec::new(),
            offsets: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, key: &[u8]) {
        self.hashes.push(hash(key));
    }

    /// Begins a block at `offset` of the table: keys that are added belong to it.
    pub(super) fn begin_block(&mut self, offset: u64) {
        while (self.offsets.len() as u64) < offset >> RANGE_LOG {
            self.end_filter();
        }
    }

    /// The content of the filter block.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if !self.hashes.is_empty() {
            self.end_filter();
        }
        let mut block = self.filters;
        let offsets_at = block.len() as u32;
        for offset in self.offsets.iter().chain([&offsets_at]) {
            block.extend_from_slice(&offset.to_le_bytes());
        }
        block.push(RANGE_LOG);
        block
    }

    /// Ends the filter of a range. It is empty if no block begins there.
    fn end_filter(&mut self) {
        self.offsets.push(self.filters.len() as u32);
        if self.hashes.is_empty() {
            return;
        }
        // The number of bits per key times the logarithm of 2.
        let probes = (self.bits_per_key * 69 / 100).clamp(1, 30);
        let bytes = (self.hashes.len() * self.bits_per_key).max(64).div_ceil(8);
        let start = self.filters.len();
        self.filters.resize(start + bytes, 0);
        let filter = &mut self.filters[start..];
        for mut hash in self.hashes.drain(..) {
            let delta = hash.rotate_right(17);
            for _ in 0..probes {
                let bit = hash as usize % (bytes * 8);
                filter[bit / 8] |= 1 << (bit % 8);
                hash = hash.wrapping_add(delta);
            }
        }
        self.filters.push(probes as u8);
    }
}

/// LevelDB's hash of a key, which resembles Murmur.
fn hash(key: &[u8]) -> u32 {
    const MULTIPLIER: u32 = 0xc6a4_a793;
    let mut hash = HASH_SEED ^ (key.len() as u32).wrapping_mul(MULTIPLIER);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word));
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 16;
    }
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        hash = hash.wrapping_add(u32::from_le_bytes(word));
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 24;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// Values of LevelDB's own tests.
    #[test]
    fn hashes_are_those_of_leveldb() {
        assert_eq!(hash(&[]), 0xbc9f_1d34);
        assert_eq!(hash(&[0x62]), 0xef13_45c4);
        assert_eq!(hash(&[0xc3, 0x97]), 0x5b66_3814);
        assert_eq!(hash(&[0xe2, 0x99, 0xa5]), 0x323c_078f);
        assert_eq!(hash(&[0xe1, 0x80, 0xb9, 0x32]), 0xed21_633a);
    }
}
