use super::*;

fn file_of(bytes: u64) -> Arc<LockedFile> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    Arc::new(LockedFile::new(file, crate::store::Access::ReadWrite).unwrap())
}

#[test]
fn takes_what_is_wanted() {
    let stretch = Stretch::map(&file_of(10), 10, 1 << 30, Protection::Read).unwrap();
    assert_eq!(stretch.len(), 1 << 30);
}

#[test]
fn halves_when_addresses_are_short() {
    let stretch = Stretch::map(&file_of(10), 10, u64::MAX, Protection::ReadWrite).unwrap();
    assert!(stretch.len() >= 1 << 20, "{}", stretch.len());
    assert!(stretch.len() < 1 << 60, "{}", stretch.len());
}

#[test]
fn gives_up_below_the_need() {
    assert!(Stretch::map(&file_of(10), 1 << 62, u64::MAX, Protection::Read).is_err());
}

#[test]
fn nothing_still_maps_a_page() {
    let stretch = Stretch::map(&file_of(0), 0, 0, Protection::Read).unwrap();
    assert_eq!(stretch.len(), rustix::param::page_size() as u64);
}

#[test]
fn advice_outside_is_ignored() {
    let stretch = Stretch::map(&file_of(10), 10, 1 << 20, Protection::Read).unwrap();
    stretch.advise(5, 1, Advice::WillNeed);
    stretch.advise(1 << 20, 1, Advice::WillNeed);
    stretch.advise(u64::MAX, u64::MAX, Advice::WillNeed);
    Stretch::zeroed(100).advise(0, 100, Advice::WillNeed);
}

#[test]
fn heap_memory_is_zero_and_starts_a_page() {
    let stretch = Stretch::zeroed(1 << 20);
    assert_eq!(stretch.base().as_ptr() as usize % 4096, 0);
    // SAFETY: inside the stretch, which nobody else uses.
    let bytes = unsafe { std::slice::from_raw_parts(stretch.base().as_ptr(), 1 << 20) };
    assert!(bytes.iter().all(|byte| *byte == 0));
}
