//! Opening files that are encrypted or compressed.

use super::encryption;
use crate::{
    Error, Result,
    instance::policies::CodecSettings,
    io::{Codecs, CodedStorage, Compression, PageCodec, Storage, file_reads, opened},
    record::{
        Record, SLOT_COUNT,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::{path::Path, sync::Arc};

/// Shows an encrypted or compressed file as its pages are. Returns any other file unchanged.
///
/// # Errors
///
/// - [`Error::WrongKey`] if the key does not open the file.
/// - [`Error::NotEncrypted`] if there is a key, and the file is not encrypted.
/// - Errors of the source of the key.
pub(crate) fn decoded(
    storage: Arc<dyn Storage>,
    path: &Path,
    settings: &CodecSettings,
) -> Result<Arc<dyn Storage>> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let mut head = vec![0; storage.len().min(PROBE_LEN as u64) as usize];
    file_reads::copy(&mapping, 0, &mut head)?;
    let Ok(page_size) = find_page_size(&head) else {
        return Ok(storage);
    };
    let encryption = encryption::codec_of(&head, path, settings.encryption.as_ref())?;
    let compression = compression_of(&head, page_size as usize, encryption.as_deref());
    if encryption.is_none() && compression.is_none() {
        return Ok(storage);
    }
    if let Some(feature) = compression.and_then(Compression::missing_feature) {
        let text = "compressed pages, which this program was built without; build it with the";
        return Err(Error::unknown_format(format!(
            "{text} feature `{feature}` of the crate `teak`"
        )));
    }
    let codecs = Codecs {
        encryption,
        compression,
    };
    let coded = CodedStorage::new(storage, codecs, (page_size as usize, settings.cache_bytes));
    let coded = coded.map_err(Error::io("reserving memory for decoded pages"))?;
    Ok(Arc::new(coded))
}

/// The compression that the records at the beginning of a file name.
fn compression_of(
    head: &[u8],
    page_size: usize,
    codec: Option<&dyn PageCodec>,
) -> Option<Compression> {
    (0..SLOT_COUNT)
        .zip(head.chunks(page_size))
        .find_map(|(slot, image)| {
            let record = Record::decode(&opened(codec, image.to_vec()), slot).ok()?;
            Compression::from_byte(record.compression)
        })
}
