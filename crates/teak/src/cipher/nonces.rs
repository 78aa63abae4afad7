//! The second halves of nonces: numbers that no other encryption with the same key used.
//!
//! See the head of the module `cipher` for the proof.

use super::{
    aead::{PREFIX_LEN, SUFFIX_LEN},
    system::random,
};
use crate::error::Result;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The greatest number of encryptions by one instance. A machine that encrypts 2^30 times a second
/// reaches it after 272 years.
const NUMBER_MAX: u64 = 1 << 63;

/// The nonces of one instance of the cipher.
pub(super) struct Nonces {
    /// The suffix of the first encryption, 96 random bits.
    start: u128,
    /// How many suffixes were used.
    used: AtomicU64,
    /// The first half of nonces that are not bound to a page, random.
    prefix: [u8; PREFIX_LEN],
}

/// Consecutive suffixes, of which each is used once.
#[derive(Clone, Copy)]
pub(super) struct Suffixes {
    first: u128,
}

impl Nonces {
    /// Nonces from a random start.
    pub(super) fn random() -> Result<Self> {
        Ok(Self::beginning_with(random()?, random()?))
    }

    /// Nonces from a given start, for tests that compare bytes.
    pub(super) fn beginning_with(start: [u8; SUFFIX_LEN], prefix: [u8; PREFIX_LEN]) -> Self {
        Self {
            start: number_of(&start),
            used: AtomicU64::new(0),
            prefix,
        }
    }

    /// Takes `count` suffixes that this instance has not used before.
    pub(super) fn take(&self, count: u64) -> Suffixes {
        let index = self.used.fetch_add(count, Relaxed);
        assert!(
            index < NUMBER_MAX && count < NUMBER_MAX,
            "an instance encrypts less than 2^63 times, so that it uses no nonce twice"
        );
        Suffixes {
            first: self.start + u128::from(index),
        }
    }

    pub(super) fn prefix(&self) -> &[u8; PREFIX_LEN] {
        &self.prefix
    }
}

impl Suffixes {
    /// The suffixes from this one on, as read from a file.
    pub(super) fn from(first: &[u8; SUFFIX_LEN]) -> Self {
        Self {
            first: number_of(first),
        }
    }

    /// The suffix at `index`, modulo 2^96.
    pub(super) fn at(self, index: u64) -> [u8; SUFFIX_LEN] {
        let number = self.first + u128::from(index);
        let mut suffix = [0; SUFFIX_LEN];
        suffix.copy_from_slice(&number.to_le_bytes()[..SUFFIX_LEN]);
        suffix
    }
}

fn number_of(suffix: &[u8; SUFFIX_LEN]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..SUFFIX_LEN].copy_from_slice(suffix);
    u128::from_le_bytes(bytes)
}
