use super::handle_faults;
use rustix::mm::{MapFlags, ProtFlags};
use std::{
    env,
    fs::File,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    ptr,
};

const ROLE: &str = "TEAK_TEST_SIGNAL";
const FOREIGN: i32 = 42;

/// The exit status of a process that performs one role of the test below.
fn fate(role: &str) -> ExitStatus {
    let mut process = Command::new(env::current_exe().unwrap());
    let arguments = ["io::faults::tests::signals_of_others", "--exact"];
    process
        .args(arguments)
        .env(ROLE, role)
        .output()
        .unwrap()
        .status
}

extern "C" fn leave(_signal: i32) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(FOREIGN) }
}

fn install_foreign_handler() {
    let handler: extern "C" fn(i32) = leave;
    // SAFETY: the handler does nothing but end the process.
    unsafe { libc::signal(libc::SIGBUS, handler as usize) };
}

/// Reads a mapped file after its end.
fn touch_nothing() {
    let file: File = tempfile::tempfile().unwrap();
    // SAFETY: the system chooses the address; reading there is a signal, as is wanted here.
    unsafe {
        let flags = MapFlags::SHARED;
        let start = rustix::mm::mmap(ptr::null_mut(), 4096, ProtFlags::READ, flags, &file, 0);
        start.unwrap().cast::<u8>().read_volatile();
    }
}

fn raise() {
    // SAFETY: a signal to this process.
    unsafe { libc::raise(libc::SIGBUS) };
}

#[test]
fn signals_of_others() {
    let Ok(role) = env::var(ROLE) else {
        let died = |role| assert_eq!(fate(role).signal(), Some(libc::SIGBUS), "{role}");
        died("touch");
        let was_handled = |role| assert_eq!(fate(role).code(), Some(FOREIGN), "{role}");
        was_handled("foreign, touch");
        was_handled("foreign, raise");
        return;
    };
    if role.starts_with("foreign") {
        install_foreign_handler();
    }
    handle_faults().unwrap();
    match role.ends_with("touch") {
        true => touch_nothing(),
        false => raise(),
    }
}
