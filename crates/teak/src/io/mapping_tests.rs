use super::*;

fn mapping(file_len: u64) -> Mapping {
    Mapping::new(Arc::new(AddressRange::zeroed(8192).unwrap()), file_len)
}

#[test]
fn returns_bytes_inside_the_file() {
    let mapping = mapping(5000);
    assert_eq!(mapping.bytes_at_rest(0, 5000).unwrap().len(), 5000);
    assert_eq!(mapping.bytes_at_rest(4999, 1), Some(&[0][..]));
    assert_eq!(mapping.bytes_at_rest(5000, 0), Some(&[][..]));
}

#[test]
fn returns_nothing_outside() {
    let mapping = mapping(5000);
    for (offset, len) in [
        (5000, 1),
        (4999, 2),
        (0, 5001),
        (5001, 0),
        (u64::MAX, 1),
        (u64::MAX, usize::MAX),
        (1, usize::MAX),
    ] {
        assert_eq!(mapping.bytes_at_rest(offset, len), None, "{offset} {len}");
    }
    assert!(!mapping.copy(4999, &mut [0; 2]));
}

#[test]
fn follows_the_length_up_to_its_address_range() {
    let mapping = mapping(0);
    assert_eq!(mapping.bytes_at_rest(0, 1), None);
    mapping.set_file_len(1 << 40);
    assert!(mapping.bytes_at_rest(0, 8192).is_some());
    assert_eq!(mapping.bytes_at_rest(0, 8193), None);
    mapping.set_file_len(10);
    assert_eq!(mapping.bytes_at_rest(0, 11), None);
}

#[test]
fn hints_are_harmless_anywhere() {
    let mapping = mapping(5000);
    for offset in [0, 4999, 5000, 1 << 40, u64::MAX] {
        mapping.prefetch(offset, 2);
    }
}

#[test]
fn counts_of_its_arc_are_on_another_cache_line() {
    assert_eq!(align_of::<Mapping>(), 64);
}

#[test]
fn nothing_outside_of_the_file_is_prefaulted() {
    let mapping = mapping(5000);
    mapping.prefault(0, 5000, Content::Raw).unwrap();
    assert!(mapping.prefault(4999, 2, Content::Raw).is_err());
    assert!(mapping.prefault(u64::MAX, 1, Content::Raw).is_err());
}
