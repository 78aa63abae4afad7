use super::*;

fn file_of(bytes: u64) -> Arc<LockedFile> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    Arc::new(LockedFile::new(file, crate::io::file::FileSharing::Exclusive).unwrap())
}

#[test]
fn takes_the_requested_length() {
    let range = AddressRange::map(&file_of(10), 10, 1 << 30, Protection::Read).unwrap();
    assert_eq!(range.len(), 1 << 30);
}

#[test]
fn halves_when_addresses_are_short() {
    let range = AddressRange::map(&file_of(10), 10, u64::MAX, Protection::ReadWrite).unwrap();
    assert!(range.len() >= 1 << 20, "{}", range.len());
    assert!(range.len() < 1 << 60, "{}", range.len());
}

#[test]
fn gives_up_below_the_need() {
    assert!(AddressRange::map(&file_of(10), 1 << 62, u64::MAX, Protection::Read).is_err());
}

#[test]
fn nothing_still_maps_a_page() {
    let range = AddressRange::map(&file_of(0), 0, 0, Protection::Read).unwrap();
    assert_eq!(range.len(), rustix::param::page_size() as u64);
}

#[test]
fn advice_outside_is_ignored() {
    let range = AddressRange::map(&file_of(10), 10, 1 << 20, Protection::Read).unwrap();
    range.advise(5, 1, Advice::WillNeed);
    range.advise(1 << 20, 1, Advice::WillNeed);
    range.advise(u64::MAX, u64::MAX, Advice::WillNeed);
    AddressRange::zeroed(100).advise(0, 100, Advice::WillNeed);
}

#[test]
fn heap_memory_is_zero_and_starts_a_page() {
    let range = AddressRange::zeroed(1 << 20);
    assert_eq!(range.base().as_ptr() as usize % 4096, 0);
    // SAFETY: inside the range, which no other code uses.
    let bytes = unsafe { std::slice::from_raw_parts(range.base().as_ptr(), 1 << 20) };
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn populating_reports_unreadable_pages() {
    let file = file_of(3 << 12);
    let range = AddressRange::map(&file, 3 << 12, 1 << 20, Protection::Read).unwrap();
    range.populate(0, 3 << 12).unwrap();
    range.populate(5000, 100).unwrap();
    file.set_len(1 << 12).unwrap();
    range.populate(0, 1 << 12).unwrap();
    assert!(range.populate(1 << 12, 1 << 12).is_err());
    assert!(range.populate(0, 2 << 12).is_err());
    AddressRange::zeroed(1 << 12).populate(0, 1 << 12).unwrap();
}

/// The fallback if the system cannot populate memory.
#[test]
fn reading_through_reports_unreadable_pages() {
    let file = file_of(10_000);
    read_through(&file, 0, 10_000).unwrap();
    read_through(&file, 9_999, 1).unwrap();
    let error = read_through(&file, 9_999, 2).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}
