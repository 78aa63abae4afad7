use super::{
    MappedPart, RANGES, Section, Shown, file_over, is_shown, release, reserve, show, zeros_over,
};
use crate::io::{
    mutex::lock,
    sys::{Access, raw, system_page_len},
};
use std::{fs::File, io::Write, ptr, sync::Arc};

const PAGES: usize = 8;

/// A file of pages with their numbers, and where it is mapped.
fn mapped() -> (File, usize) {
    let mut file = tempfile::tempfile().unwrap();
    for page in 1..=PAGES {
        file.write_all(&vec![page as u8; system_page_len()])
            .unwrap();
    }
    let len = PAGES * system_page_len();
    let base = reserve(None, 2 * len, 0, Access::ReadOnly).unwrap().addr();
    show(base, Section::of_file(&file).unwrap(), len).unwrap();
    (file, base)
}

fn page_at(base: usize, page: usize) -> usize {
    base + page * system_page_len()
}

/// The first byte of each page.
fn read(base: usize) -> [u8; PAGES] {
    // SAFETY: the tests have shown something in all pages.
    std::array::from_fn(|page| unsafe { *(page_at(base, page) as *const u8) })
}

/// Puts zeros in place of a page.
fn put_zeros(base: usize, page: usize) -> bool {
    // SAFETY: nobody else reads there.
    unsafe { zeros_over(page_at(base, page), system_page_len(), Access::ReadOnly) }
}

#[test]
fn zeros_replace_a_page_until_the_file_does() {
    let (file, base) = mapped();
    assert!(put_zeros(base, 3) && put_zeros(base, 7) && put_zeros(base, 3));
    assert_eq!(read(base), [1, 2, 3, 0, 5, 6, 7, 0]);
    let (start, len) = (page_at(base, 3), 5 * system_page_len());
    // SAFETY: the file is open, and nobody else reads there.
    unsafe { file_over(start, len, raw(&file), 0, Access::ReadOnly) }.unwrap();
    assert_eq!(read(base), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(
        !put_zeros(base, PAGES),
        "nothing is shown after the end of the file"
    );
    release(base);
}

/// Bug: the handler took a page that showed nothing for one that was just being replaced, and
/// repeated the access for ever.
#[test]
fn a_view_that_cannot_be_put_back_leaves_pages_that_show_nothing() {
    let (file, base) = mapped();
    let mut ranges = lock(&RANGES);
    let parts = &mut ranges.get_mut(&base).unwrap().parts;
    let unusable = Shown::File(Arc::new(Section(ptr::null_mut())));
    let MappedPart { shown, .. } = parts.get_mut(&0).unwrap();
    let usable = std::mem::replace(shown, unusable);
    drop(ranges);
    assert!(!put_zeros(base, 3));
    assert_eq!(is_shown(base, Access::ReadOnly), Some(false));
    assert_eq!(is_shown(page_at(base, PAGES), Access::ReadOnly), None);
    assert!(put_zeros(base, 3), "they can have zeros later");
    assert_eq!(is_shown(page_at(base, 3), Access::ReadOnly), Some(true));
    let len = PAGES * system_page_len();
    // SAFETY: the file is open, and nobody else reads there.
    unsafe { file_over(base, len, raw(&file), 0, Access::ReadOnly) }.unwrap();
    assert_eq!(read(base), [1, 2, 3, 4, 5, 6, 7, 8]);
    drop(usable);
    release(base);
}

#[test]
fn zeros_stay_where_the_file_cannot_be_mapped() {
    let (_file, base) = mapped();
    assert!(put_zeros(base, 3));
    let unusable = Section(ptr::null_mut());
    let mut ranges = lock(&RANGES);
    let range = ranges.get_mut(&base).unwrap();
    let len = PAGES * system_page_len();
    assert!(range.put_views(base, 0, len, unusable).is_err());
    drop(ranges);
    assert_eq!(read(base), [1, 2, 3, 0, 5, 6, 7, 8]);
    release(base);
}

#[test]
fn a_section_makes_no_file_shorter() {
    let (file, base) = mapped();
    let len = (PAGES * system_page_len()) as u64;
    release(base);
    for wanted in [len / 2, len, 2 * len] {
        drop(Section::of_len(&file, wanted).unwrap());
        assert_eq!(file.metadata().unwrap().len(), wanted.max(len));
    }
}
