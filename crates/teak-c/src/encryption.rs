//! Keys of encrypted databases.

use crate::{
    failure::Failure,
    ffi::{Grows, path, teak_slice},
};
use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    ptr,
};
use teak::{Cipher, Database, EncryptionKey, KeyRequest, Options};

/// The cipher of an encrypted database.
#[repr(C)]
pub enum teak_cipher {
    /// In teak_encryption: the default. In teak_db_stat: the database is not encrypted.
    TEAK_CIPHER_NONE = 0,
    /// AES-256-GCM with a key for each nonce: the fastest choice on processors with instructions
    /// for AES. The default of new databases.
    TEAK_CIPHER_AES_256_GCM = 1,
    /// XChaCha20-Poly1305: faster on other processors.
    TEAK_CIPHER_XCHACHA20_POLY1305 = 2,
}

/// The bytes of a key.
pub const TEAK_KEY_LEN: usize = 32;

/// Writes the key of a database to `key`, which has room for TEAK_KEY_LEN bytes, and returns 0. Any
/// other number means that there is no key. `database_id` has 16 bytes, which the database and its
/// copies have in common. It is called while a database is being opened or copied, and must not
/// call this library.
pub type teak_key_function = Option<
    unsafe extern "C" fn(user: *mut c_void, database_id: teak_slice, key: *mut c_void) -> c_int,
>;

/// The key of an encrypted database, and how a new one is encrypted. Zero is the default of every
/// field except size. Exactly one source of the key is set: key, key_file, key_env, passphrase,
/// passphrase_file or on_key. The library overwrites its copies of the key when the database is
/// closed; the caller overwrites its own.
///
/// ```c
/// char key_file[4096];
/// snprintf(key_file, sizeof key_file, "%s.key", path);
/// check(teak_key_create(key_file, &error));
/// teak_encryption encryption = {.size = sizeof encryption, .key_file = key_file};
/// teak_options options = {.size = sizeof options, .encryption = &encryption};
/// teak_db db;
/// check(teak_db_open(path, &options, &db, &error));
/// check(teak_db_close(db, &error));
/// assert(teak_db_open(path, NULL, &db, &error) == TEAK_KEY_NEEDED);
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct teak_encryption {
    /// sizeof(teak_encryption).
    pub size: usize,
    /// A key of TEAK_KEY_LEN bytes. They must be random, or come from a function that derives keys.
    pub key: teak_slice,
    /// The path of a file with a key, as teak_key_create makes one, or with its bytes. On Unix only
    /// its owner may have access to it.
    pub key_file: *const c_char,
    /// The name of an environment variable with a key: 64 hexadecimal digits.
    pub key_env: *const c_char,
    /// A passphrase. Opening takes about a second then, and 64 MiB of memory.
    pub passphrase: teak_slice,
    /// The path of a file with a passphrase. On Unix only its owner may have access to it.
    pub passphrase_file: *const c_char,
    /// Returns the key.
    pub on_key: teak_key_function,
    /// Passed to on_key, or NULL. Both must stay valid while the process has the database open.
    pub key_user: *mut c_void,
    /// The cipher of a new database: a teak_cipher. An existing database keeps its cipher.
    pub cipher: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_encryption {
    const NAME: &'static str = "teak_encryption";
}

impl teak_encryption {
    /// Adds the key and the cipher to options.
    ///
    /// # Safety
    ///
    /// The pointers are null or valid, and the function matches its type.
    unsafe fn add_to(self, options: Options) -> Result<Options, Failure> {
        // SAFETY: the caller's promise.
        let options = options.encryption_key(unsafe { self.key() }?);
        match self.cipher {
            0 => Ok(options),
            1 => Ok(options.cipher(Cipher::Aes256Gcm)),
            2 => Ok(options.cipher(Cipher::XChaCha20Poly1305)),
            other => {
                let text = format!("cipher cannot be {other}; teak.h lists the values");
                Err(Failure::invalid_argument(text))
            }
        }
    }

    /// # Safety
    ///
    /// The pointers are null or valid, and the function matches its type.
    pub(crate) unsafe fn key(self) -> Result<EncryptionKey, Failure> {
        self.refuse_other_than_one_source()?;
        // SAFETY: the caller's promise.
        unsafe {
            if self.key.len != 0 {
                return key_of_bytes(self.key.bytes()?);
            }
            if !self.key_file.is_null() {
                return Ok(EncryptionKey::from_file(path(self.key_file)?)?);
            }
            if !self.key_env.is_null() {
                return Ok(EncryptionKey::from_env(variable(self.key_env)?)?);
            }
            if !self.passphrase_file.is_null() {
                let path = path(self.passphrase_file)?;
                return Ok(EncryptionKey::from_passphrase_file(path)?);
            }
            if self.passphrase.len != 0 {
                return Ok(EncryptionKey::from_passphrase(self.passphrase.bytes()?));
            }
        }
        Ok(self.key_of_callback())
    }

    fn refuse_other_than_one_source(&self) -> Result<(), Failure> {
        let sources = [
            self.key.len != 0,
            !self.key_file.is_null(),
            !self.key_env.is_null(),
            self.passphrase.len != 0,
            !self.passphrase_file.is_null(),
            self.on_key.is_some(),
        ];
        match sources.into_iter().filter(|is_set| *is_set).count() {
            1 => Ok(()),
            count => Err(Failure::invalid_argument(format!(
                "a teak_encryption has {count} sources of the key; set exactly one"
            ))),
        }
    }

    fn key_of_callback(&self) -> EncryptionKey {
        let (ask, user) = (self.on_key, self.key_user as usize);
        EncryptionKey::from_callback(move |request: &KeyRequest| {
            let ask = ask.ok_or("there is no function for it")?;
            let mut key = [0; TEAK_KEY_LEN];
            let id = teak_slice::new(&request.database_id);
            // SAFETY: it is C's function, called with the arguments that C asked for.
            match unsafe { ask(user as *mut c_void, id, ptr::from_mut(&mut key).cast()) } {
                0 => Ok(key),
                other => Err(format!("the function for the key returned {other}").into()),
            }
        })
    }
}

fn key_of_bytes(bytes: &[u8]) -> Result<EncryptionKey, Failure> {
    let key: [u8; TEAK_KEY_LEN] = bytes.try_into().map_err(|_| {
        let len = bytes.len();
        Failure::invalid_argument(format!("a key has {TEAK_KEY_LEN} bytes, not {len}"))
    })?;
    Ok(EncryptionKey::from_bytes(key))
}

/// The name of an environment variable.
///
/// # Safety
///
/// `name` points to a zero-terminated string that is valid for `'v`.
unsafe fn variable<'v>(name: *const c_char) -> Result<&'v OsStr, Failure> {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_str();
    let text = "the name of the environment variable is not UTF-8";
    name.map(OsStr::new)
        .map_err(|_| Failure::invalid_argument(text))
}

/// Adds an encryption to options, unless it is null.
///
/// # Safety
///
/// `encryption` is null or valid, with all its pointers.
pub(crate) unsafe fn with_encryption(
    options: Options,
    encryption: *const teak_encryption,
) -> Result<Options, Failure> {
    if encryption.is_null() {
        return Ok(options);
    }
    // SAFETY: the caller's promise.
    unsafe { teak_encryption::read_from(encryption)?.add_to(options) }
}

/// The options of a copy, which is compressed like the database. Its default cipher is also that of
/// the database.
///
/// # Safety
///
/// `encryption` is null or valid, with all its pointers.
pub(crate) unsafe fn for_copy(
    database: &Database,
    encryption: *const teak_encryption,
) -> Result<Options, Failure> {
    let options = Options::new().compression(database.info().compression);
    if encryption.is_null() {
        return Ok(options);
    }
    // SAFETY: the caller's promise.
    let mut encryption = unsafe { teak_encryption::read_from(encryption)? };
    if encryption.cipher == 0 {
        encryption.cipher = cipher_number(database.info().cipher) as u32;
    }
    // SAFETY: the caller's promise.
    unsafe { encryption.add_to(options) }
}

/// The number of a cipher.
pub(crate) fn cipher_number(cipher: Option<Cipher>) -> u64 {
    match cipher {
        None => 0,
        Some(Cipher::XChaCha20Poly1305) => 2,
        Some(_) => 1,
    }
}
