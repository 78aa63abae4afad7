//! Ctrl-C and `SIGTERM` during an operation that can be cancelled: the operation ends with an
//! error, and leaves no incomplete file. The second one ends the program at once, as usual.

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::{
    io,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Notes signals while it exists, unless there is nothing to remove after one: an operation that
/// reads or writes a pipe may wait there, and a signal that is only noted would not end it.
pub(crate) struct Interruption {
    is_asked: Arc<AtomicBool>,
    /// Whether a signal ends the program.
    ends_program: Arc<AtomicBool>,
}

impl Interruption {
    /// Begins to note signals, unless the operation has a pipe. Those that cannot be noted end the
    /// program.
    pub(crate) fn begin_unless(has_pipe: bool) -> Self {
        match has_pipe {
            true => Self {
                is_asked: Arc::default(),
                ends_program: Arc::default(),
            },
            false => Self::begin(),
        }
    }

    /// Begins to note signals.
    pub(crate) fn begin() -> Self {
        let interruption = Self {
            is_asked: Arc::default(),
            ends_program: Arc::default(),
        };
        for signal in [SIGINT, SIGTERM] {
            let _ = interruption.note(signal);
        }
        interruption
    }

    fn note(&self, signal: i32) -> io::Result<()> {
        flag::register_conditional_default(signal, Arc::clone(&self.ends_program))?;
        flag::register(signal, Arc::clone(&self.is_asked))?;
        flag::register(signal, Arc::clone(&self.ends_program))?;
        Ok(())
    }

    /// Whether the operation continues.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        match self.is_asked.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.ends_program.store(true, Ordering::Relaxed);
    }
}
