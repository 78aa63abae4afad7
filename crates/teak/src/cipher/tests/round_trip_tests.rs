//! Everything that is encrypted can be decrypted.

use super::{
    super::{page_cipher::PAGE_TRAILER_LEN, record_cipher::key_block_of},
    *,
};
use proptest::prelude::*;
use std::collections::HashSet;

/// A value, and pages that it fills, with old bytes after it.
pub(super) fn value_pages(value_len: usize, page_len: usize) -> Vec<u8> {
    let trailer_len = PageCipher::value_trailer_len(value_len as u64) as usize;
    let mut pages = content(value_len);
    pages.resize((value_len + trailer_len).next_multiple_of(page_len), 0xee);
    pages
}

#[test]
fn pages_are_decrypted() {
    for cipher in CIPHERS {
        let (_, pages) = new_database(cipher);
        for page_len in [PAGE_TRAILER_LEN, 4096, 65536] {
            let plain = content(page_len);
            let mut page = plain.clone();
            pages.seal_page(u32::MAX, 1 << 62, &mut page);
            let content_len = page_len - PAGE_TRAILER_LEN;
            assert!(content_len == 0 || page[..content_len] != plain[..content_len]);
            assert_eq!(page[content_len..][..4], 1_u32.to_le_bytes(), "the key");
            let sealed = page.clone();
            assert_eq!(pages.open_page(u32::MAX, &mut page), Ok(1 << 62));
            assert_eq!(page[..content_len], plain[..content_len]);
            assert_eq!(page[content_len..], sealed[content_len..]);
        }
    }
}

#[test]
fn a_page_is_never_encrypted_to_the_same_bytes() {
    let (_, pages) = new_database(Cipher::Aes256Gcm);
    let sealed = (0..1000).map(|_| {
        let mut page = vec![0; 512];
        pages.seal_page(7, 8, &mut page);
        page
    });
    assert_eq!(sealed.collect::<HashSet<_>>().len(), 1000);
}

#[test]
fn instances_use_different_nonces() {
    let (block, first) = new_database(Cipher::Aes256Gcm);
    let second = block.open(&key(), DATABASE_ID).unwrap();
    let [a, b] = [first, second].map(|cipher| {
        let mut page = vec![0; 512];
        cipher.seal_page(7, 8, &mut page);
        let mut entry = Vec::new();
        cipher.seal_bytes(1, 2, &mut entry);
        (page[512 - 28..512 - 16].to_vec(), entry[..12].to_vec())
    });
    assert_ne!(a.0, b.0, "suffixes of pages");
    assert_ne!(a.1, b.1, "first halves of other nonces");
}

#[test]
fn bytes_after_a_value_become_zero() {
    let (_, cipher) = new_database(Cipher::Aes256Gcm);
    let mut pages = value_pages(5000, 4096);
    cipher.seal_value(9, 1, 5000, &mut pages);
    assert_eq!(pages[5000..8192 - 32 - 24], [0; 8192 - 32 - 24 - 5000]);
}

#[test]
fn values_with_whole_chunks_and_full_pages_are_decrypted() {
    let trailer_len = |len| PageCipher::value_trailer_len(len);
    assert_eq!(
        [1, 4096, 4097, 8192].map(trailer_len),
        [40, 40, 56, 56],
        "a MAC for each chunk that is begun"
    );
    for cipher in CIPHERS {
        let (_, cipher) = new_database(cipher);
        for value_len in [1, 4056, 4057, 4096, 8136, 8192, 300 * 4096] {
            let mut pages = value_pages(value_len, 4096);
            cipher.seal_value(9, 77, value_len, &mut pages);
            assert_eq!(cipher.open_value(9, value_len, &mut pages), Ok(77));
            assert_eq!(pages[..value_len], content(value_len), "{value_len}");
        }
    }
}

#[test]
fn records_have_clear_fields_for_programs_without_a_key() {
    for cipher in CIPHERS {
        let (block, cipher) = new_database(cipher);
        for length in [72, 432, 512, 4096 - 232] {
            let image = record_image(length, DATABASE_ID);
            let sealed = cipher.seal_record(&block.encode(), &image);
            let sealed_len = length + 232;
            assert_eq!(sealed.len(), sealed_len.next_multiple_of(512));
            assert_eq!(sealed[..8], image[..8]);
            assert_eq!(sealed[16..20], (sealed_len as u32).to_le_bytes());
            assert_eq!(sealed[20..72], image[20..72]);
            let checksum = Checksum::of(&sealed[16..sealed_len]);
            assert_eq!(sealed[8..16], checksum.0.to_le_bytes());
            assert_eq!(key_block_of(&sealed), Some(block.encode()));
            assert_eq!(cipher.open_record(&sealed), Ok(image));
        }
    }
}

#[test]
fn pages_of_the_previous_data_key_are_readable_until_it_is_dropped() {
    for cipher in CIPHERS {
        let (block, old) = new_database(cipher);
        let mut page = content(4096);
        old.seal_page(4, 1, &mut page);
        let mut entry = b"entry".to_vec();
        old.seal_bytes(1, 1, &mut entry);
        let record = record_image(500, DATABASE_ID);
        let old_record = old.seal_record(&block.encode(), &record);

        let (block, both) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
        assert_eq!(block.current_id(), 2);
        assert_eq!(both.open_page(4, &mut page.clone()), Ok(1));
        both.open_bytes(1, 1, &mut entry.clone()).unwrap();
        assert_eq!(both.open_record(&old_record), Ok(record.clone()));
        let new_record = both.seal_record(&block.encode(), &record);
        assert!(old.open_record(&new_record).is_err());

        let last = block.without_previous_data_key();
        let last = last.open(&key(), DATABASE_ID).unwrap();
        assert!(last.open_page(4, &mut page).is_err());
        assert!(last.open_bytes(1, 1, &mut entry).is_err());
        let mut page = content(4096);
        both.seal_page(4, 2, &mut page);
        assert_eq!(last.open_page(4, &mut page), Ok(2));
        assert_eq!(last.open_record(&new_record), Ok(record));
    }
}

proptest! {
    #[test]
    fn pages_of_any_length_are_decrypted(
        number: u32,
        birth: u64,
        plain in prop::collection::vec(any::<u8>(), PAGE_TRAILER_LEN..9000),
        cipher in prop::sample::select(&CIPHERS),
    ) {
        let cipher = fixed_cipher(cipher, DATABASE_ID);
        let mut page = plain.clone();
        cipher.seal_page(number, birth, &mut page);
        prop_assert_eq!(cipher.open_page(number, &mut page), Ok(birth));
        let content_len = plain.len() - PAGE_TRAILER_LEN;
        prop_assert_eq!(&page[..content_len], &plain[..content_len]);
    }

    #[test]
    fn values_of_any_length_are_decrypted(
        start: u32,
        birth: u64,
        value_len in 1..40_000_usize,
        cipher in prop::sample::select(&CIPHERS),
    ) {
        let cipher = fixed_cipher(cipher, DATABASE_ID);
        let mut pages = value_pages(value_len, 4096);
        cipher.seal_value(start, birth, value_len, &mut pages);
        prop_assert_eq!(cipher.open_value(start, value_len, &mut pages), Ok(birth));
        prop_assert_eq!(&pages[..value_len], content(value_len));
    }

    #[test]
    fn entries_of_any_length_are_decrypted(
        kind: u8,
        position: u64,
        plain in prop::collection::vec(any::<u8>(), 0..5000),
        cipher in prop::sample::select(&CIPHERS),
    ) {
        let cipher = fixed_cipher(cipher, DATABASE_ID);
        let mut bytes = plain.clone();
        cipher.seal_bytes(kind, position, &mut bytes);
        prop_assert_eq!(bytes.len(), plain.len() + 40);
        prop_assert_eq!(cipher.open_bytes(kind, position, &mut bytes), Ok(()));
        prop_assert_eq!(bytes, plain);
    }

    #[test]
    fn records_of_any_length_are_decrypted(
        length in 72..4000_usize,
        cipher in prop::sample::select(&CIPHERS),
    ) {
        let (block, cipher) = new_database(cipher);
        let image = record_image(length, DATABASE_ID);
        let sealed = cipher.seal_record(&block.encode(), &image);
        prop_assert_eq!(cipher.open_record(&sealed), Ok(image));
    }
}
