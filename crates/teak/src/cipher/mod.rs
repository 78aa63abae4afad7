//! Encryption at rest: ciphers, keys, and the encrypted forms of pages, values, records and logs.
//!
//! `docs/encryption.md` says what encryption protects against. This is how, and why it is sound.
//! Only standard constructions are used, from the crates of RustCrypto.
//!
//! # Keys
//!
//! ```text
//! key of the application ─(Argon2id, if it is a passphrase)─► master key
//! master key ─(HKDF-SHA256: salt, cipher, database id)─► wrapping key
//! wrapping key ─(decrypts the key block)─► data keys: 32 random bytes each, one or two
//! data key ─(HKDF-SHA256: purpose, cipher, database id)─► subkeys of pages, values, records, logs
//! ```
//!
//! The key of the application changes by wrapping the data keys again. A data key changes by making
//! a second one current; the previous one stays until nothing is encrypted with it.
//!
//! Each encryption also authenticates its *associated data*: a byte for the purpose, the database
//! id, and for values the length and the chunk's index, for logs the kind and the position. So
//! nothing that is authentic in one context is authentic in another.
//!
//! # Nonces
//!
//! A nonce has 24 bytes. Two encryptions with the same key must not have the same nonce.
//!
//! | of | first half, 12 bytes | second half, 12 bytes |
//! |---|---|---|
//! | a page | page number 4, birth 8 | suffix |
//! | a chunk of a value | first page 4, birth 8 | suffix of the value plus the chunk's index |
//! | a record, an entry of a log | 12 random bytes of the instance | suffix |
//! | a wrapped data key | random | random |
//!
//! Page number and birth do not identify a page's content: a transaction may write a page twice,
//! and after a crash, or in a copy, another transaction with the same id may write it. The suffix
//! makes the difference. An *instance* is one [`PageCipher`]. It draws a start S of 96 random bits.
//! Its encryption number i has the suffix S + i modulo 2^96; a value takes one number for each of
//! its chunks.
//!
//! 1. *Within an instance* no suffix repeats: the numbers differ, and are below 2^64, far less than
//!    2^96. (`nonces.rs` asserts it.)
//! 2. *Between two instances* the starts are independent. So the difference of two suffixes is
//!    uniform, and one encryption of each has the same suffix with probability 2^-96. The whole
//!    nonce is equal only if page number and birth are, too. The expected number of repeated nonces
//!    is therefore 2^-96 times the number of pairs of encryptions, by different instances, of one
//!    page number with one birth. Suppose that a million copies of a database each write the same
//!    2^32 pages with the same births: these are 2^39 pairs for each page, and the probability that
//!    any nonce repeats is at most 2^(39 + 32 - 96) = 2^-25. In ordinary operation only commits
//!    that a crash has undone repeat births, and the probability is far below.
//! 3. Records and logs have a random first half instead, so two encryptions by different instances
//!    have the same nonce with probability 2^-192.
//!
//! The purposes have keys of their own, so these cases cannot meet. A repeated nonce would show the
//! difference of two contents. With AES-GCM it would also allow forgeries, but only for that page
//! number and birth, because each first half of a nonce has a key of its own (XAES, `aead.rs`).
//!
//! One case is out of reach: if the memory of a running process is copied and both continue, as
//! when a snapshot of a virtual machine is resumed twice, both continue one instance. A forked
//! child cannot use the handles of its parent.
//!
//! # Limits of the ciphers
//!
//! GCM keys encrypt one page or value each, so the limits on messages per key do not matter. A
//! forgery of a page of 4 KiB succeeds with a probability of at most 2^-119 for each try with GCM
//! (258 blocks), and 2^-94 with Poly1305. Neither cipher commits to its key: somebody who knows two
//! keys can make bytes that both open. The key id of a page is therefore no proof of anything, and
//! nothing relies on it.

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

pub(crate) use key_block::{KEY_BLOCK_LEN, KeyBlock};
pub(crate) use page_cipher::{LOG_OVERHEAD_LEN, PAGE_TRAILER_LEN, PageCipher};
pub(crate) use record_cipher::{RECORD_OVERHEAD_LEN, key_block_of};

#[cfg(test)]
mod tests;
