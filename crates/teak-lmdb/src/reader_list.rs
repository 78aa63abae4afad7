//! `mdb_reader_list` and `mdb_reader_check`.

use crate::{
    border::{answer, caught, live},
    codes::{CallResult, Code},
    environment::Environment,
    flags,
    readers::ListedReader,
};
use std::{
    ffi::{CString, c_char, c_int, c_void},
    process,
};

/// A client's function that receives lines.
pub type MessageFunction = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// Calls `function` with a line for each reader. Stops when it returns a negative number.
///
/// # Safety
///
/// `environment` is a handle, and `function` can be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_list(
    environment: *mut Environment,
    function: Option<MessageFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let lines = match (unsafe { live(environment) }, function) {
        (Ok(environment), Some(_)) => caught(|| lines(environment)),
        _ => return -1,
    };
    let (Ok(lines), Some(function)) = (lines, function) else {
        return -1;
    };
    let mut answered = 0;
    for line in lines {
        // SAFETY: the caller's promise; the line is a string.
        answered = unsafe { function(line.as_ptr(), context) };
        if answered < 0 {
            break;
        }
    }
    answered
}

/// The lines of all readers: those of this environment come from its slots, those of other
/// processes from the engine.
fn lines(environment: &Environment) -> CallResult<Vec<CString>> {
    let opened = environment.opened().ok();
    let Some(opened) = opened.filter(|opened| !opened.has(flags::NOLOCK)) else {
        return Ok(vec![c"(no reader locks)\n".to_owned()]);
    };
    let own = process::id();
    let mut lines: Vec<_> = opened
        .reader_slots
        .listed()
        .map(|listed| line(own, listed))
        .collect();
    for reader in opened.database.readers()? {
        let other = reader.process.unwrap_or(0);
        if other != own {
            let listed = ListedReader {
                thread: reader.thread as usize,
                state: Some(reader.transaction.0),
            };
            lines.push(line(other, listed));
        }
    }
    match lines.is_empty() {
        true => lines.push("(no active readers)\n".into()),
        false => lines.insert(0, "    pid     thread     txnid\n".into()),
    }
    let lines = lines
        .into_iter()
        .map(CString::new)
        .collect::<Result<_, _>>();
    lines.map_err(|_| Code::INVALID_ARGUMENT)
}

fn line(process: u32, ListedReader { thread, state }: ListedReader) -> String {
    match state {
        Some(state) => format!("{process:>10} {thread:x} {state}\n"),
        None => format!("{process:>10} {thread:x} -\n"),
    }
}

/// Checks for readers of dead processes. Finds none, since the engine removes them itself.
///
/// # Safety
///
/// `environment` is a handle, and `dead` is null or points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_check(
    environment: *mut Environment,
    dead: *mut c_int,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        unsafe { live(environment) }?;
        // SAFETY: the caller's promise.
        if let Some(dead) = unsafe { dead.as_mut() } {
            *dead = 0;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{ListedReader, line};

    #[test]
    fn a_line_has_process_thread_and_state() {
        let listed = |state| ListedReader { thread: 8, state };
        assert_eq!(line(5, listed(Some(12))), "         5 8 12\n");
        assert_eq!(line(5, listed(None)), "         5 8 -\n");
    }
}
