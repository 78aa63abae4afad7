//! Signals of accesses to mapped files that fail.

use std::{io, ptr, sync::OnceLock};

/// A signal that reports such an access.
#[derive(Clone, Copy, Debug)]
pub(in crate::io::sys) struct Signal {
    pub(in crate::io::sys) number: i32,
    /// The codes of accesses, among other reasons for the signal.
    pub(in crate::io::sys) codes: &'static [i32],
}

struct Handler {
    signals: &'static [Signal],
    absorb: fn(usize) -> bool,
    /// The previous handlers, for signals that do not concern a mapped file.
    before: Vec<libc::sigaction>,
}

static HANDLER: OnceLock<Handler> = OnceLock::new();

/// Installs a handler for the whole process. It asks `absorb` whether the access to an address can
/// be repeated, and otherwise does what would have happened without it. Called once.
pub(in crate::io::sys) fn catch_signals(
    signals: &'static [Signal],
    absorb: fn(usize) -> bool,
) -> io::Result<()> {
    assert!(
        signals.iter().all(|signal| !signal.codes.is_empty()),
        "each signal has codes of accesses"
    );
    let before = signals.iter().map(|signal| handler_of(signal.number));
    let handler = Handler {
        signals,
        absorb,
        before: before.collect::<io::Result<_>>()?,
    };
    let is_first = HANDLER.set(handler).is_ok();
    assert!(is_first, "the handler is installed once");
    signals.iter().try_for_each(|signal| install(signal.number))
}

fn handler_of(number: i32) -> io::Result<libc::sigaction> {
    // SAFETY: a plain structure for which zeros are valid, and which is valid for the call.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(number, ptr::null(), &mut before) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn install(number: i32) -> io::Result<()> {
    // SAFETY: a plain structure for which zeros are valid, and which is valid for the call. The
    // handler is one for `SA_SIGINFO`. It runs on the alternate stack if the thread has one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        match libc::sigaction(number, &action, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Does only what is allowed in a signal handler: atomic operations, and system calls that leave
/// `errno` alone.
extern "C" fn on_signal(number: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(handler) = HANDLER.get() else { return };
    let known = handler
        .signals
        .iter()
        .position(|signal| signal.number == number);
    let Some(index) = known else { return };
    // SAFETY: the system calls a handler for `SA_SIGINFO` with valid information.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_access = handler.signals[index].codes.contains(&code);
    if !is_access || !(handler.absorb)(address) {
        pass_on(&handler.before[index], number, info, context, is_access);
    }
}

/// Does what would have happened without this handler.
fn pass_on(
    before: &libc::sigaction,
    number: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    is_access: bool,
) {
    // SAFETY: the previous handler is called in the way that it requested. The default action is
    // installed by a call that handlers may make.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_IGN if !is_access => {}
            libc::SIG_IGN | libc::SIG_DFL => {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(number, &default, ptr::null_mut());
                // A faulting access is repeated when the handler returns.
                if !is_access {
                    libc::raise(number);
                }
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(number, info, context);
            }
            handler => {
                let handler: extern "C" fn(i32) = std::mem::transmute(handler);
                handler(number);
            }
        }
    }
}
