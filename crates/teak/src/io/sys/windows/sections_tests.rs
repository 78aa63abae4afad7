use super::{
    MappedPart, Shown, are_shown, file_over, is_shown, ranges_mut, release, reserve, show,
    zeros_over,
};
use crate::io::sys::windows::section::Section;
use crate::io::sys::{Access, FileAt, raw, system_page_len};
use std::{
    fs::File,
    io::Write,
    ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

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
    let mut ranges = ranges_mut();
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
    let mut ranges = ranges_mut();
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

/// The fault was that the last page, which the file does not fill, could never be mapped again.
#[test]
fn a_file_that_ends_inside_a_page_is_mapped_again_after_zeros() {
    let (page_len, tail) = (system_page_len(), 100);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![1; page_len]).unwrap();
    file.write_all(&vec![2; tail]).unwrap();
    let len = page_len + tail;
    let base = reserve(None, 4 * page_len, 0, Access::ReadOnly);
    let base = base.unwrap().addr();
    show(base, Section::of_file(&file).unwrap(), len).unwrap();
    let read = |at: usize| {
        // SAFETY: something is shown in both pages.
        unsafe { *((base + at) as *const u8) }
    };
    for page in [1, 0] {
        assert!(put_zeros(base, page));
        assert_eq!(read(page * page_len), 0);
        assert_eq!(read((1 - page) * page_len), 2 - page as u8);
        // SAFETY: the file is open, and nobody else reads there.
        unsafe { file_over(base, 2 * page_len, raw(&file), 0, Access::ReadOnly) }.unwrap();
        assert_eq!([0, page_len, len - 1, len].map(read), [1, 2, 2, 0]);
    }
    release(base);
}

#[test]
fn bytes_are_shown_if_all_of_their_pages_are() {
    let (_file, base) = mapped();
    let len = PAGES * system_page_len();
    assert!(put_zeros(base, 3));
    assert!(are_shown(base, len) && are_shown(page_at(base, 3), 1));
    assert!(!are_shown(base, len + 1), "the file is over");
    assert!(!are_shown(ptr::from_ref(&len).addr(), 1), "it is elsewhere");
    release(base);
}

/// The fault was error 998 of a call that read mapped bytes while some of them were replaced.
#[test]
fn mapped_bytes_are_written_while_they_are_replaced() {
    let (file, base) = mapped();
    let len = PAGES * system_page_len();
    let (target, is_over) = (tempfile::tempfile().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                assert!(put_zeros(base, 3));
                // SAFETY: the file is open. The other thread allows any content.
                unsafe { file_over(base, len, raw(&file), 0, Access::ReadOnly) }.unwrap();
            }
        });
        for _ in 0..2000 {
            // SAFETY: only the system reads these bytes, and any content will do.
            let bytes = unsafe { slice::from_raw_parts(base as *const u8, len) };
            let written = target.write_all_at(bytes, 0);
            is_over.store(written.is_err(), Relaxed);
            written.unwrap();
        }
        is_over.store(true, Relaxed);
    });
    release(base);
}
