//! Authenticated encryption with keys of 256 bits and nonces of 192 bits, in place.
//!
//! XChaCha20-Poly1305 is used unchanged. AES-256-GCM has nonces of only 96 bits, so it is used as
//! XAES-256-GCM (C2SP, Valsorda): the first half of the nonce derives a key for AES-256-GCM by
//! CMAC, as NIST SP 800-108 has it, and the second half is its nonce.
//!
//! The derivation costs two blocks of AES, because all inputs of CMAC have one block:
//!
//! ```text
//! K1 = AES(K, 0) doubled in GF(2^128)
//! derived key = AES(K, 00 01 'X' 00 || N[0..12] xor K1) || AES(K, 00 02 'X' 00 || N[0..12] xor K1)
//! ```

use super::algorithm::Cipher;
use aes::{
    Aes256Enc, Block,
    cipher::{BlockCipherEncrypt, KeyInit, consts::U12},
};
use aes_gcm::{AesGcm, aead::AeadInOut};
use chacha20poly1305::XChaCha20Poly1305;
use zeroize::{Zeroize, Zeroizing};

pub(super) const KEY_LEN: usize = 32;
pub(super) const NONCE_LEN: usize = 24;
pub(super) const PREFIX_LEN: usize = 12;
pub(super) const SUFFIX_LEN: usize = 12;
/// Length of the message authentication code (MAC) that detects changes.
pub(super) const MAC_LEN: usize = 16;

const _: () = assert!(
    PREFIX_LEN + SUFFIX_LEN == NONCE_LEN,
    "a nonce has two halves"
);

/// Why bytes could not be decrypted: they are not what was encrypted with this key, this nonce and
/// these associated data. There is no way to learn more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unauthentic;

impl Unauthentic {
    /// For [`Error::corrupted`](crate::Error), after "page 7 is damaged (".
    pub(crate) const TEXT: &str =
        "it is not authentic: damaged, or changed by somebody without the key";
}

impl std::fmt::Display for Unauthentic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Self::TEXT)
    }
}

/// A key of one of the ciphers. Memory is overwritten when it is dropped.
pub(super) enum AeadKey {
    Xaes(Box<XaesKey>),
    XChaCha(Box<XChaCha20Poly1305>),
}

/// The prepared key of XAES-256-GCM.
pub(super) struct XaesKey {
    cipher: Aes256Enc,
    /// K1 of CMAC.
    whitening: Zeroizing<[u8; 16]>,
}

/// A key for all nonces that begin with one prefix.
// Pages are encrypted one by one, without memory from the heap.
#[allow(clippy::large_enum_variant)]
pub(super) enum PrefixKey<'k> {
    Gcm(AesGcm<Aes256Enc, U12>),
    XChaCha(&'k XChaCha20Poly1305, [u8; PREFIX_LEN]),
}

impl AeadKey {
    pub(super) fn new(cipher: Cipher, key: &[u8; KEY_LEN]) -> Self {
        match cipher {
            Cipher::Aes256Gcm => Self::Xaes(Box::new(XaesKey::new(key))),
            Cipher::XChaCha20Poly1305 => {
                Self::XChaCha(Box::new(XChaCha20Poly1305::new(key.into())))
            }
        }
    }

    /// The key for nonces with this prefix.
    pub(super) fn with_prefix(&self, prefix: &[u8; PREFIX_LEN]) -> PrefixKey<'_> {
        match self {
            Self::Xaes(key) => PrefixKey::Gcm(key.derive(prefix)),
            Self::XChaCha(key) => PrefixKey::XChaCha(key, *prefix),
        }
    }

    /// Encrypts `bytes` in place, and returns the MAC of them and of `associated`.
    pub(super) fn seal(
        &self,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        bytes: &mut [u8],
    ) -> [u8; MAC_LEN] {
        let (prefix, suffix) = halves(nonce);
        self.with_prefix(&prefix).seal(&suffix, associated, bytes)
    }

    /// Decrypts `bytes` in place. If they are not authentic, they do not change.
    pub(super) fn open(
        &self,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        bytes: &mut [u8],
        mac: &[u8; MAC_LEN],
    ) -> Result<(), Unauthentic> {
        let (prefix, suffix) = halves(nonce);
        self.with_prefix(&prefix)
            .open(&suffix, associated, bytes, mac)
    }
}

impl PrefixKey<'_> {
    /// Encrypts `bytes` in place, and returns the MAC of them and of `associated`.
    pub(super) fn seal(
        &self,
        suffix: &[u8; SUFFIX_LEN],
        associated: &[u8],
        bytes: &mut [u8],
    ) -> [u8; MAC_LEN] {
        let mac = match self {
            Self::Gcm(key) => key.encrypt_inout_detached(suffix.into(), associated, bytes.into()),
            Self::XChaCha(key, prefix) => {
                let nonce = joined(prefix, suffix);
                key.encrypt_inout_detached((&nonce).into(), associated, bytes.into())
            }
        };
        mac.expect("less than 64 GiB are encrypted at once").into()
    }

    /// Decrypts `bytes` in place. If they are not authentic, they do not change.
    pub(super) fn open(
        &self,
        suffix: &[u8; SUFFIX_LEN],
        associated: &[u8],
        bytes: &mut [u8],
        mac: &[u8; MAC_LEN],
    ) -> Result<(), Unauthentic> {
        let opened = match self {
            Self::Gcm(key) => {
                key.decrypt_inout_detached(suffix.into(), associated, bytes.into(), mac.into())
            }
            Self::XChaCha(key, prefix) => {
                let nonce = joined(prefix, suffix);
                key.decrypt_inout_detached((&nonce).into(), associated, bytes.into(), mac.into())
            }
        };
        opened.map_err(|_| Unauthentic)
    }
}

impl XaesKey {
    fn new(key: &[u8; KEY_LEN]) -> Self {
        let cipher = Aes256Enc::new(key.into());
        let mut block = Block::default();
        cipher.encrypt_block(&mut block);
        let whitening = Zeroizing::new(doubled(block.into()));
        block.as_mut_slice().zeroize();
        Self { cipher, whitening }
    }

    /// The key of AES-256-GCM for nonces with this prefix.
    fn derive(&self, prefix: &[u8; PREFIX_LEN]) -> AesGcm<Aes256Enc, U12> {
        let mut blocks = [1, 2].map(|counter| {
            let mut block = [0; 16];
            block[..4].copy_from_slice(&[0, counter, b'X', 0]);
            block[4..].copy_from_slice(prefix);
            let pairs = block.iter_mut().zip(self.whitening.iter());
            pairs.for_each(|(byte, white)| *byte ^= white);
            Block::from(block)
        });
        self.cipher.encrypt_blocks(&mut blocks);
        let mut key = [0; KEY_LEN];
        key[..16].copy_from_slice(&blocks[0]);
        key[16..].copy_from_slice(&blocks[1]);
        let derived = Aes256Enc::new((&key).into());
        key.zeroize();
        blocks
            .iter_mut()
            .for_each(|block| block.as_mut_slice().zeroize());
        AesGcm::from(derived)
    }
}

/// Multiplies by x in GF(2^128), with the order of bits of CMAC.
fn doubled(block: [u8; 16]) -> [u8; 16] {
    let number = u128::from_be_bytes(block);
    // Without a branch on secret bits.
    let reduction = (number >> 127) * 0x87;
    (number << 1 ^ reduction).to_be_bytes()
}

pub(super) fn joined(prefix: &[u8; PREFIX_LEN], suffix: &[u8; SUFFIX_LEN]) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[..PREFIX_LEN].copy_from_slice(prefix);
    nonce[PREFIX_LEN..].copy_from_slice(suffix);
    nonce
}

fn halves(nonce: &[u8; NONCE_LEN]) -> ([u8; PREFIX_LEN], [u8; SUFFIX_LEN]) {
    let (prefix, suffix) = nonce.split_at(PREFIX_LEN);
    let half = "a nonce has two halves of 12 bytes";
    (
        prefix.try_into().expect(half),
        suffix.try_into().expect(half),
    )
}
