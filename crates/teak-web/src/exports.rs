//! The functions that the module exports, and the one that it imports.

use crate::{Answers, RecordsFrom};
use std::{alloc::Layout, cell::RefCell, io, slice};
use teak::ReadAt;

#[link(wasm_import_module = "teak")]
unsafe extern "C" {
    /// Reads `len` bytes of the file from `offset` on to `out`. Returns 0, or another number after
    /// an error.
    fn read_at(offset: f64, out: *mut u8, len: usize) -> i32;
}

#[derive(Default)]
struct Module {
    answers: Option<Answers>,
    answer: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

/// The file that the page reads.
struct PageFile {
    len: u64,
}

impl ReadAt for PageFile {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        // SAFETY: the function writes at most `len` bytes to `out`.
        match unsafe { read_at(offset as f64, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(io::Error::other("the page could not read the file")),
        }
    }
}

/// Notes an answer, or an error.
fn answer<E: ToString>(answered: Result<impl Into<Vec<u8>>, E>) -> i32 {
    let (answer, status) = match answered {
        Ok(answer) => (answer.into(), 0),
        Err(error) => (error.to_string().into(), 1),
    };
    MODULE.with_borrow_mut(|module| module.answer = answer);
    status
}

fn open(opened: teak::Result<Answers>) -> i32 {
    answer(opened.map(|opened| {
        MODULE.with_borrow_mut(|module| module.answers = Some(opened));
        "{}"
    }))
}

fn ask<A: Into<Vec<u8>>>(question: impl FnOnce(&Answers) -> teak::Result<A>) -> i32 {
    let asked = MODULE.with_borrow(|module| match &module.answers {
        Some(answers) => question(answers)
            .map(Into::into)
            .map_err(|error| error.to_string()),
        None => Err("no database is open".to_owned()),
    });
    answer::<String>(asked.map(|answer: Vec<u8>| answer))
}

/// # Safety
///
/// The bytes must be there.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    match len {
        0 => &[],
        // SAFETY: what the caller promises.
        _ => unsafe { slice::from_raw_parts(start, len) },
    }
}

/// Memory for arguments.
#[unsafe(no_mangle)]
pub extern "C" fn teak_allocate(len: usize) -> *mut u8 {
    match Layout::array::<u8>(len.max(1)) {
        // SAFETY: the layout is not of size 0.
        Ok(layout) => unsafe { std::alloc::alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Gives memory back.
///
/// # Safety
///
/// It must be from [`teak_allocate`], with this length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_release(start: *mut u8, len: usize) {
    if let Ok(layout) = Layout::array::<u8>(len.max(1)) {
        // SAFETY: what the caller promises.
        unsafe { std::alloc::dealloc(start, layout) };
    }
}

/// Where the last answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn teak_answer() -> *const u8 {
    MODULE.with_borrow(|module| module.answer.as_ptr())
}

/// Length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn teak_answer_len() -> usize {
    MODULE.with_borrow(|module| module.answer.len())
}

/// Opens a file in memory.
///
/// # Safety
///
/// The bytes must be there. They may be given back after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_open_bytes(start: *const u8, len: usize) -> i32 {
    // SAFETY: what the caller promises.
    open(Answers::of_bytes(unsafe { bytes(start, len) }))
}

/// Opens the file that the imported function reads.
#[unsafe(no_mangle)]
pub extern "C" fn teak_open_source(len: f64) -> i32 {
    open(Answers::of_source(PageFile { len: len as u64 }))
}

/// Closes the database.
#[unsafe(no_mangle)]
pub extern "C" fn teak_close() {
    MODULE.with_borrow_mut(|module| module.answers = None);
}

/// The tables.
#[unsafe(no_mangle)]
pub extern "C" fn teak_tables() -> i32 {
    ask(Answers::tables)
}

/// Records of a table: from its start (`from` 0), a key (1) or a pair (2) on.
///
/// # Safety
///
/// The bytes of all parts must be there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_records(
    table: *const u8,
    table_len: usize,
    from: u32,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
    limit: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    let [table, key, value] = unsafe {
        [
            bytes(table, table_len),
            bytes(key, key_len),
            bytes(value, value_len),
        ]
    };
    let from = match from {
        0 => RecordsFrom::Start,
        1 => RecordsFrom::Key(key),
        _ => RecordsFrom::Pair(key, value),
    };
    ask(|answers| answers.records(table, from, limit))
}

/// The value of a key as bytes, after one byte that is 1 if there is one.
///
/// # Safety
///
/// The bytes of all parts must be there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_value(
    table: *const u8,
    table_len: usize,
    key: *const u8,
    key_len: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    let [table, key] = unsafe { [bytes(table, table_len), bytes(key, key_len)] };
    ask(|answers| {
        let value = answers.value(table, key)?;
        Ok(match value {
            Some(value) => [&[1], &value[..]].concat(),
            None => vec![0],
        })
    })
}

/// Checks everything.
#[unsafe(no_mangle)]
pub extern "C" fn teak_check() -> i32 {
    ask(Answers::check)
}
