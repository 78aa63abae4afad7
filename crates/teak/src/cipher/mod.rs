//! Encryption at rest: ciphers, keys, and the encrypted forms of pages, values, records and logs.

mod aead;
mod algorithm;
mod data_key;
mod encryption_key;
mod key_block;
mod key_derivation;
mod key_file;
mod nonces;
mod page_cipher;
mod record_cipher;
mod system;

pub use algorithm::Cipher;
pub use encryption_key::{EncryptionKey, KeyRequest};

pub(crate) use aead::Unauthentic;
pub(crate) use key_block::{KEY_BLOCK_LEN, KeyBlock};
pub(crate) use page_cipher::{PAGE_TRAILER_LEN, PageCipher};
pub(crate) use record_cipher::{RECORD_OVERHEAD_LEN, key_block_of};

#[cfg(test)]
mod tests;
