//! Encrypted files, in a program without the feature `encryption`.

use crate::{Error, Result, instance::policies::EncryptionSettings, io::PageCodec, record::Record};
use std::{path::Path, sync::Arc};

/// Nothing can be decrypted.
pub(crate) fn codec_of(
    _head: &[u8],
    _path: &Path,
    _encryption: Option<&EncryptionSettings>,
) -> Result<Option<Arc<dyn PageCodec>>> {
    Ok(None)
}

/// The bytes of the first record of a new database.
pub(crate) fn first_record(
    record: &mut Record,
    _encryption: Option<&EncryptionSettings>,
) -> Result<Vec<u8>> {
    Ok(record.encode(record.page_size as usize))
}

/// The error for an encrypted file.
pub(crate) fn key_needed(path: &Path) -> Error {
    Error::EncryptionNotBuilt(path.to_path_buf())
}
