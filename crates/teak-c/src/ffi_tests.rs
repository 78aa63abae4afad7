//! Tests of the conversions at the border.

use super::{Grows, array, caught, teak_slice};
use crate::{options::teak_options, teak_code};
use std::{mem::size_of, ptr};

fn code<T>(result: Result<T, crate::failure::Failure>) -> teak_code {
    result.err().expect("a refusal").code
}

#[test]
fn a_panic_is_an_error_with_its_text() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let failure = caught::<()>(|| panic!("so {}", 1)).expect_err("a panic");
    std::panic::set_hook(hook);
    assert_eq!(failure.code, teak_code::TEAK_PANIC);
}

#[test]
fn impossible_slices_are_refused() {
    let len = 4;
    let nowhere = teak_slice {
        data: ptr::null(),
        len,
    };
    // SAFETY: the null pointer is compared, not read.
    let nowhere = unsafe { nowhere.bytes() };
    assert_eq!(code(nowhere), teak_code::TEAK_INVALID_ARGUMENT);
    let len = usize::MAX;
    let endless = teak_slice {
        data: (&raw const len).cast(),
        len,
    };
    // SAFETY: the length is refused.
    let endless = unsafe { endless.bytes() };
    assert_eq!(code(endless), teak_code::TEAK_INVALID_ARGUMENT);
    // SAFETY: the alignment is refused.
    let crooked = unsafe { array(ptr::without_provenance::<u64>(9), 1) };
    assert_eq!(code(crooked), teak_code::TEAK_INVALID_ARGUMENT);
    let nothing = teak_slice {
        data: ptr::null(),
        len: 0,
    };
    // SAFETY: there are no bytes.
    assert_eq!(unsafe { nothing.bytes() }.unwrap(), b"");
}

/// Options in a longer and a shorter structure.
#[repr(C)]
struct Other {
    options: teak_options,
    more: u64,
}

fn other(size: usize, more: u64) -> Other {
    // SAFETY: any bytes are a value.
    let mut options: teak_options = unsafe { std::mem::zeroed() };
    options.size = size;
    options.page_size = 8192;
    options.read_ahead = 1;
    Other { options, more }
}

#[test]
fn known_fields_of_structures_of_other_versions_are_read() {
    // SAFETY: as many bytes are valid as the size says.
    let read = |other: &Other| unsafe { teak_options::read_from(ptr::from_ref(other).cast()) };
    let longer = size_of::<Other>();
    assert_eq!(read(&other(longer, 0)).unwrap().read_ahead, 1);
    assert_eq!(code(read(&other(longer, 1))), teak_code::TEAK_TOO_NEW);
    let shorter = read(&other(16, 1)).unwrap();
    assert_eq!((shorter.page_size, shorter.read_ahead), (8192, 0));
    for size in [0, 7, usize::MAX] {
        assert_eq!(
            code(read(&other(size, 0))),
            teak_code::TEAK_INVALID_ARGUMENT
        );
    }
}

#[test]
fn results_are_written_up_to_the_size_of_the_structure() {
    let reported = other(0, 0).options;
    for size in [0, 8, 12, 24, size_of::<teak_options>(), usize::MAX] {
        let mut room = other(size, 0xaa);
        room.options.page_size = 1;
        room.options.read_ahead = 2;
        // SAFETY: as many bytes are valid as the size says.
        unsafe { reported.write_to(&raw mut room.options) };
        assert_eq!(room.options.size, size);
        assert_eq!(room.options.page_size, if size < 12 { 1 } else { 8192 });
        assert_eq!(room.options.read_ahead, if size < 100 { 2 } else { 1 });
        assert_eq!(room.more, 0xaa);
    }
    // SAFETY: nothing is written through a null pointer.
    unsafe { reported.write_to(ptr::null_mut()) };
}
