//! Every change of encrypted bytes is detected, and so is every other context.

use super::{
    super::{aead::Unauthentic, record_cipher::key_block_of},
    round_trip_tests::value_pages,
    *,
};
use crate::Error;

/// Calls `check` with each bit of `bytes` flipped in turn.
fn with_each_bit_flipped(bytes: &[u8], mut check: impl FnMut(usize, &[u8])) {
    let mut changed = bytes.to_vec();
    for bit in 0..bytes.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        check(bit, &changed);
        changed[bit / 8] ^= 1 << (bit % 8);
    }
}

fn sealed_page(cipher: &PageCipher, number: u32, birth: u64) -> Vec<u8> {
    let mut page = content(4096);
    cipher.seal_page(number, birth, &mut page);
    page
}

#[test]
fn each_flipped_bit_of_a_page_is_detected() {
    for cipher in CIPHERS {
        let cipher = fixed_cipher(cipher, DATABASE_ID);
        let page = sealed_page(&cipher, 7, 8);
        let mut copy = page.clone();
        with_each_bit_flipped(&page, |bit, changed| {
            copy.copy_from_slice(changed);
            assert_eq!(
                cipher.open_page(7, &mut copy),
                Err(Unauthentic),
                "bit {bit}"
            );
            assert_eq!(copy, changed, "a page that is refused does not change");
        });
    }
}

#[test]
fn a_page_in_another_context_is_detected() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let page = sealed_page(&cipher, 7, 8);
        let open =
            |cipher: &PageCipher, number, page: &[u8]| cipher.open_page(number, &mut page.to_vec());
        assert_eq!(open(&cipher, 7, &page), Ok(8));
        assert_eq!(open(&cipher, 6, &page), Err(Unauthentic), "another place");
        let mut younger = page.clone();
        younger[4096 - 36] = 9;
        assert_eq!(
            open(&cipher, 7, &younger),
            Err(Unauthentic),
            "another birth"
        );
        let mut of_other_key = page.clone();
        of_other_key[4096 - 40] = 1;
        assert_eq!(open(&cipher, 7, &of_other_key), Err(Unauthentic));
        of_other_key[4096 - 40] = 3;
        assert_eq!(open(&cipher, 7, &of_other_key), Err(Unauthentic));
        let other = fixed_cipher(kind, [1; 16]);
        assert_eq!(open(&other, 7, &page), Err(Unauthentic), "another database");
        for len in [0, 1, 39, 40, 512, 4095] {
            assert_eq!(open(&cipher, 7, &page[..len]), Err(Unauthentic), "cut off");
            assert_eq!(open(&cipher, 7, &page[4096 - len..]), Err(Unauthentic));
        }
        assert_eq!(
            open(&cipher, 7, &[0; 4096]),
            Err(Unauthentic),
            "never written"
        );
        // Two versions of one page with their trailers swapped.
        let mut second = sealed_page(&cipher, 7, 8);
        second[4056..].copy_from_slice(&page[4056..]);
        assert_eq!(
            open(&cipher, 7, &second),
            Err(Unauthentic),
            "swapped trailers"
        );
    }
    let [aes, chacha] = CIPHERS.map(|kind| fixed_cipher(kind, DATABASE_ID));
    let mut page = sealed_page(&aes, 7, 8);
    assert_eq!(chacha.open_page(7, &mut page), Err(Unauthentic));
}

#[test]
fn a_page_is_no_value_and_no_entry() {
    // 4,056 bytes as a value have a trailer of 40 bytes, too.
    let cipher = fixed_cipher(Cipher::Aes256Gcm, DATABASE_ID);
    let page = sealed_page(&cipher, 7, 8);
    let (content, trailer) = page.split_at(4056);
    let value = [
        content,
        &trailer[24..],
        &trailer[4..12],
        &trailer[..4],
        &trailer[12..24],
    ];
    let mut value = value.concat();
    assert_eq!(cipher.open_value(7, 4056, &mut value), Err(Unauthentic));
    let nonce = [&7_u32.to_le_bytes(), &trailer[4..24]].concat();
    let mut entry = [content, &nonce, &trailer[24..]].concat();
    assert_eq!(cipher.open_bytes(0, 0, &mut entry), Err(Unauthentic));
}

#[test]
fn flipped_bits_of_a_value_are_detected() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let mut pages = value_pages(300, 512);
        cipher.seal_value(7, 8, 300, &mut pages);
        with_each_bit_flipped(&pages, |bit, changed| {
            let opened = cipher.open_value(7, 300, &mut changed.to_vec());
            // The bytes between the value and its trailer have no meaning.
            let is_used = !(300..512 - 40).contains(&(bit / 8));
            assert_eq!(opened, if is_used { Err(Unauthentic) } else { Ok(8) });
        });
    }
}

#[test]
fn a_value_in_another_context_is_detected() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let value_len = 3 * 4096 + 100;
        let mut pages = value_pages(value_len, 4096);
        cipher.seal_value(7, 8, value_len, &mut pages);
        let open = |cipher: &PageCipher, start, len, pages: &[u8]| {
            cipher.open_value(start, len, &mut pages.to_vec())
        };
        assert_eq!(open(&cipher, 7, value_len, &pages), Ok(8));
        assert_eq!(open(&cipher, 8, value_len, &pages), Err(Unauthentic));
        for len in [0, 1, value_len - 1, value_len + 1, pages.len(), usize::MAX] {
            assert_eq!(open(&cipher, 7, len, &pages), Err(Unauthentic), "{len}");
        }
        let other = fixed_cipher(kind, [1; 16]);
        assert_eq!(open(&other, 7, value_len, &pages), Err(Unauthentic));
        assert_eq!(
            open(&cipher, 7, value_len, &pages[4096..]),
            Err(Unauthentic)
        );
        assert_eq!(open(&cipher, 7, value_len, &pages[..200]), Err(Unauthentic));
        assert_eq!(open(&cipher, 7, value_len, &[]), Err(Unauthentic));
        // Chunks that change places, with their MACs.
        let macs = pages.len() - 24 - 4 * 16;
        let mut swapped = pages.clone();
        let (a, b) = swapped.split_at_mut(4096);
        a.swap_with_slice(&mut b[..4096]);
        let (a, b) = swapped[macs..].split_at_mut(16);
        a.swap_with_slice(&mut b[..16]);
        assert_eq!(open(&cipher, 7, value_len, &swapped), Err(Unauthentic));
        // An older version of the value in the same pages.
        let mut older = value_pages(value_len, 4096);
        cipher.seal_value(7, 8, value_len, &mut older);
        older[..4096].copy_from_slice(&pages[..4096]);
        assert_eq!(open(&cipher, 7, value_len, &older), Err(Unauthentic));
    }
}

#[test]
fn each_flipped_bit_of_a_record_is_detected() {
    for kind in CIPHERS {
        let (block, _) = new_database(kind);
        let (block, cipher) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
        let image = record_image(470, DATABASE_ID);
        let sealed = cipher.seal_record(&block.encode(), &image);
        let sealed_len = 470 + 232;
        with_each_bit_flipped(&sealed[..sealed_len], |bit, changed| {
            let opened = cipher.open_record(changed);
            // Magic and checksum are compared before a record is decrypted.
            let is_authenticated = bit / 8 >= 16;
            assert_eq!(opened.is_err(), is_authenticated, "bit {bit}");
        });
    }
}

#[test]
fn a_record_in_another_context_is_detected() {
    for kind in CIPHERS {
        let (block, cipher) = new_database(kind);
        let image = record_image(470, DATABASE_ID);
        let sealed = cipher.seal_record(&block.encode(), &image);
        for len in 0..470 + 232 {
            assert_eq!(cipher.open_record(&sealed[..len]), Err(Unauthentic));
        }
        let (_, other) = new_database(kind);
        assert_eq!(other.open_record(&sealed), Err(Unauthentic));
        let short = record_image(150, DATABASE_ID);
        assert_eq!(
            cipher.open_record(&short),
            Err(Unauthentic),
            "a plain record"
        );
        assert_eq!(
            cipher.open_record(&image),
            Err(Unauthentic),
            "a plain record"
        );
        assert_eq!(key_block_of(&short), None);
        // A key block of the same data key, from before or after the key was changed.
        let rewrapped = block.rewrap(&key(), &key(), DATABASE_ID).unwrap();
        let mut mixed = sealed.clone();
        mixed[72..72 + KEY_BLOCK_LEN].copy_from_slice(&rewrapped.encode());
        assert_eq!(cipher.open_record(&mixed), Err(Unauthentic));
    }
}

#[test]
fn each_flipped_bit_of_a_key_block_is_detected() {
    for kind in CIPHERS {
        let (block, _) = new_database(kind);
        let (two_keys, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
        for block in [block, two_keys] {
            with_each_bit_flipped(&block.encode(), |bit, changed| {
                let opened = KeyBlock::decode(changed).map(|block| block.open(&key(), DATABASE_ID));
                let is_detected = matches!(opened, Err(_) | Ok(Err(Error::WrongKey { .. })));
                assert!(is_detected, "bit {bit}: {opened:?}");
            });
        }
    }
}

#[test]
fn entries_in_another_context_are_detected() {
    for kind in CIPHERS {
        let cipher = fixed_cipher(kind, DATABASE_ID);
        let mut entry = b"an entry of the log".to_vec();
        cipher.seal_bytes(1, 4096, &mut entry);
        let open = |cipher: &PageCipher, kind, position, bytes: &[u8]| {
            let mut copy = bytes.to_vec();
            let opened = cipher.open_bytes(kind, position, &mut copy);
            assert!(
                opened.is_ok() || copy == bytes,
                "what is refused does not change"
            );
            opened
        };
        assert_eq!(open(&cipher, 1, 4096, &entry), Ok(()));
        assert_eq!(open(&cipher, 2, 4096, &entry), Err(Unauthentic));
        assert_eq!(open(&cipher, 1, 4097, &entry), Err(Unauthentic));
        let other = fixed_cipher(kind, [1; 16]);
        assert_eq!(open(&other, 1, 4096, &entry), Err(Unauthentic));
        for len in 0..entry.len() {
            assert_eq!(open(&cipher, 1, 4096, &entry[..len]), Err(Unauthentic));
        }
        with_each_bit_flipped(&entry, |bit, changed| {
            assert_eq!(
                open(&cipher, 1, 4096, changed),
                Err(Unauthentic),
                "bit {bit}"
            );
        });
    }
}
