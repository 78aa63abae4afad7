use super::*;

/// Assembles a key of a page with this prefix, followed by `after` in the page.
fn assemble(buffer: &mut KeyBuffer, key: &[u8], prefix_len: usize, after: &[u8]) {
    let (prefix, rest) = key.split_at(prefix_len);
    let mut head = [0; 4];
    let head_len = rest.len().min(4);
    head[..head_len].copy_from_slice(&rest[..head_len]);
    let stored = &rest[head_len..];
    let tail = [stored, after].concat();
    buffer.set_prefix(prefix);
    buffer.set_rest((head, stored), &tail, rest.len(), true);
}

#[test]
fn keys_of_every_length_are_assembled_and_checked() {
    let mut buffer = KeyBuffer::default();
    let ascii: Vec<u8> = (0..60).map(|i| b'a' + i % 26).collect();
    for len in 0..=ascii.len() {
        for prefix_len in 0..=len {
            for after in [&[0xff; 16][..], &[], &[b'x'; 3]] {
                assemble(&mut buffer, &ascii[..len], prefix_len, after);
                assert_eq!(buffer.bytes(), &ascii[..len]);
                assert_eq!(
                    CursorKey::in_buffer(&buffer).text().unwrap().as_bytes(),
                    &ascii[..len]
                );
                let is_fast = len - prefix_len <= 20 && after.len() == 16;
                assert!(buffer.is_ascii || !is_fast, "a short key is checked");
            }
        }
    }
}

#[test]
fn bytes_that_are_not_text_are_found_at_any_offset() {
    let mut buffer = KeyBuffer::default();
    for at in 0..30 {
        for prefix_len in 0..=30 {
            let mut key = [b'k'; 30];
            key[at] = 0xc3;
            assemble(&mut buffer, &key, prefix_len, &[b'x'; 16]);
            assert_eq!(CursorKey::in_buffer(&buffer).bytes(), key);
            assert!(
                CursorKey::in_buffer(&buffer).text().is_err(),
                "{at} of {prefix_len}"
            );
        }
    }
}

#[test]
fn text_that_is_not_ascii_is_read() {
    let mut buffer = KeyBuffer::default();
    let key = "Gebäude-Ä-01";
    for prefix_len in 0..=key.len() {
        assemble(&mut buffer, key.as_bytes(), prefix_len, &[0xff; 16]);
        assert_eq!(
            CursorKey::in_buffer(&buffer).text(),
            Ok(key),
            "{prefix_len}"
        );
    }
}

#[test]
fn a_key_that_was_not_checked_is_not_taken_for_one_that_was() {
    let mut buffer = KeyBuffer::default();
    assemble(&mut buffer, b"text", 1, &[0; 16]);
    assert!(buffer.is_ascii);
    buffer.set_rest((*b"\xff\xff\xff\xff", b""), &[0; 16], 4, false);
    assert!(CursorKey::in_buffer(&buffer).text().is_err());
}

#[test]
fn lengths_that_contradict_each_other_leave_nothing_unchecked() {
    let mut buffer = KeyBuffer::default();
    assemble(&mut buffer, &[0xff; 30], 2, &[0xff; 16]);
    buffer.set_prefix(b"ab");
    buffer.set_rest((*b"cdef", b""), &[b'x'; 16], 20, true);
    assert!(CursorKey::in_buffer(&buffer).bytes().len() == 22 && !buffer.is_ascii);
}
