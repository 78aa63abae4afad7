use super::*;

fn writable(file_len: u64) -> Arc<WritableMapping> {
    let claims = Arc::new(Claims::default());
    claims.set_file_len(file_len).unwrap();
    Arc::new(WritableMapping::new(
        Arc::new(AddressRange::zeroed(8192).unwrap()),
        claims,
    ))
}

#[test]
fn live_extents_do_not_overlap() {
    let mapping = writable(8192);
    let middle = mapping.extent_at_rest(1000, 1000).unwrap();
    for (offset, len) in [
        (1000, 1000),
        (0, 1001),
        (1999, 1),
        (1999, 5000),
        (0, 8192),
        (1500, 10),
    ] {
        assert!(
            mapping.extent_at_rest(offset, len).is_none(),
            "{offset} {len}"
        );
    }
    let below = mapping.extent_at_rest(0, 1000).unwrap();
    let above = mapping.extent_at_rest(2000, 6192).unwrap();
    drop((below, middle, above));
    assert!(mapping.extent_at_rest(0, 8192).is_some());
}

#[test]
fn extents_are_inside_file_and_address_range() {
    let mapping = writable(5000);
    for (offset, len) in [(0, 5001), (5000, 1), (0, 0), (u64::MAX, 1), (0, usize::MAX)] {
        assert!(
            mapping.extent_at_rest(offset, len).is_none(),
            "{offset} {len}"
        );
    }
    mapping.claims.set_file_len(1 << 40).unwrap();
    assert!(mapping.extent_at_rest(0, 8193).is_none());
    assert!(mapping.extent_at_rest(0, 8192).is_some());
}

#[test]
fn the_file_is_not_cut_short_under_an_extent() {
    let mapping = writable(8192);
    let extent = mapping.extent_at_rest(0, 4096).unwrap();
    assert_eq!(
        mapping.claims.set_file_len(4095).unwrap_err().kind(),
        io::ErrorKind::ResourceBusy
    );
    mapping.claims.set_file_len(4096).unwrap();
    assert!(mapping.extent_at_rest(4096, 1).is_none());
    drop(extent);
    mapping.claims.set_file_len(0).unwrap();
}

#[test]
fn mappings_of_one_file_share_claims() {
    let first = writable(8192);
    let second = Arc::new(WritableMapping::new(
        Arc::new(AddressRange::zeroed(8192).unwrap()),
        Arc::clone(&first.claims),
    ));
    let _extent = first.extent_at_rest(0, 100).unwrap();
    assert!(second.extent_at_rest(99, 1).is_none());
    assert!(second.extent_at_rest(100, 1).is_some());
}

#[test]
fn an_extent_can_move_to_another_thread() {
    let mapping = writable(8192);
    let mut extent = mapping.extent_at_rest(10, 3).unwrap();
    assert_eq!(extent.offset, 10);
    let extent = std::thread::spawn(move || {
        extent.copy_from_slice(b"abc");
        extent
    });
    assert_eq!(&extent.join().unwrap()[..], b"abc");
    assert_eq!(&mapping.extent_at_rest(9, 5).unwrap()[..], b"\0abc\0");
}
