use super::*;
use crate::io::sys::FileSharing;

fn file_of(bytes: u64) -> Arc<LockedFile> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    Arc::new(LockedFile::new(file, Access::ReadWrite, FileSharing::Exclusive).unwrap())
}

#[test]
fn takes_the_requested_length() {
    let range = AddressRange::map(&file_of(10), 10, 1 << 30, Access::ReadOnly).unwrap();
    assert_eq!(range.len(), 1 << 30);
}

/// Where files that are mapped for writing become as long as the mapping, it would fill the disk.
#[cfg(unix)]
#[test]
fn halves_when_addresses_are_short() {
    let range = AddressRange::map(&file_of(10), 10, u64::MAX, Access::ReadWrite).unwrap();
    assert!(range.len() >= 1 << 20, "{}", range.len());
    assert!(range.len() < 1 << 60, "{}", range.len());
}

#[test]
fn gives_up_below_the_need() {
    assert!(AddressRange::map(&file_of(10), 1 << 62, u64::MAX, Access::ReadOnly).is_err());
}

#[test]
fn nothing_still_maps_a_page() {
    let range = AddressRange::map(&file_of(0), 0, 0, Access::ReadOnly).unwrap();
    assert_eq!(range.len(), system_page_len() as u64);
}

#[test]
fn advice_outside_is_ignored() {
    let range = AddressRange::map(&file_of(10), 10, 1 << 20, Access::ReadOnly).unwrap();
    range.advise(5, 1, Advice::Normal);
    range.advise(1 << 20, 1, Advice::Normal);
    range.advise(u64::MAX, u64::MAX, Advice::Normal);
    AddressRange::zeroed(100)
        .unwrap()
        .advise(0, 100, Advice::Normal);
}

#[test]
fn heap_memory_is_zero_and_starts_a_page() {
    let range = AddressRange::zeroed(1 << 20).unwrap();
    assert_eq!(range.base().as_ptr() as usize % 4096, 0);
    // SAFETY: inside the range, which no other code uses.
    let bytes = unsafe { std::slice::from_raw_parts(range.base().as_ptr(), 1 << 20) };
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[cfg(unix)] // Elsewhere no mapped file becomes shorter.
#[test]
fn populating_reports_unreadable_pages() {
    let page = system_page_len() as u64;
    let file = file_of(3 * page);
    let range = AddressRange::map(&file, 3 * page, 1 << 20, Access::ReadOnly).unwrap();
    range.populate(0, 3 * page as usize).unwrap();
    range.populate(page + 900, 100).unwrap();
    file.set_len(page).unwrap();
    range.populate(0, page as usize).unwrap();
    assert!(range.populate(page, page as usize).is_err());
    assert!(range.populate(0, 2 * page as usize).is_err());
    AddressRange::zeroed(1 << 12)
        .unwrap()
        .populate(0, 1 << 12)
        .unwrap();
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

#[test]
fn heap_memory_that_the_system_does_not_have_is_an_error() {
    for len in [usize::MAX, usize::MAX / 2, isize::MAX as usize - 8192] {
        let refused = AddressRange::zeroed(len).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::OutOfMemory, "{len}");
    }
}
