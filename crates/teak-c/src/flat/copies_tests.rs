use super::{LENGTHS, Packed, unpacked};
use crate::failure::Failure;

#[test]
fn records_of_all_lengths_are_copied() {
    let bytes: Vec<u8> = (0..80).collect();
    for key_len in 0..40 {
        for value_len in 0..40 {
            let (key, value) = (&bytes[..key_len], &bytes[40..40 + value_len]);
            let mut buffer = vec![0xff; 2 * (LENGTHS + key_len + value_len)];
            let mut packed = Packed::new(&mut buffer);
            assert!(packed.add(key, value));
            assert!(packed.add(key, value));
            assert!(!packed.add(key, value), "the buffer is full");
            assert_eq!((packed.count, packed.missing), (2, None));
            let records: Vec<_> = unpacked(packed.buffer).collect();
            assert_eq!(records, [(key, value); 2]);
        }
    }
}

#[test]
fn a_first_record_without_room_reports_its_length() {
    let mut buffer = [0; 9];
    let mut packed = Packed::new(&mut buffer);
    assert!(!packed.add(b"a", b"b"));
    assert_eq!(packed.missing, Some(10));
}

#[test]
fn records_outside_are_cut_off() {
    let keys: Vec<[u8; 1]> = (0..9).map(|key| [key]).collect();
    for count in 0..=keys.len() {
        for end in 0..=count {
            let mut buffer = [0; 200];
            let mut packed = Packed::new(&mut buffer);
            for key in &keys[..count] {
                assert!(packed.add(key, b"value"));
            }
            let is_outside = |key: &[u8]| Ok::<_, Failure>(usize::from(key[0]) >= end);
            assert_eq!(packed.cut(is_outside).unwrap(), end < count);
            assert_eq!(packed.count, end);
            assert_eq!(packed.used, end * (LENGTHS + 6));
        }
    }
}
