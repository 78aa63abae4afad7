//! C functions that the database calls: events, slow readers, comparisons.

use crate::{
    events::{teak_event_kind, teak_slow_reader},
    ffi::teak_slice,
    options::teak_options,
};
use std::ffi::c_void;
use teak::{Event, Options, SlowReaderChoice};

/// The pointer that C wants passed to its function. C promises that any thread may use it.
#[derive(Clone, Copy)]
struct UserPointer(*mut c_void);

// SAFETY: C promises it for its functions.
unsafe impl Send for UserPointer {}

// SAFETY: C promises it for its functions.
unsafe impl Sync for UserPointer {}

impl UserPointer {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

fn kind(event: &Event) -> teak_event_kind {
    use teak_event_kind as C;
    match event {
        Event::Opened { .. } => C::TEAK_EVENT_OPENED,
        Event::Commit { .. } => C::TEAK_EVENT_COMMIT,
        Event::Flush { .. } => C::TEAK_EVENT_FLUSH,
        Event::Grown { .. } => C::TEAK_EVENT_GROWN,
        Event::Shrunk { .. } => C::TEAK_EVENT_SHRUNK,
        Event::SlowReader(_) => C::TEAK_EVENT_SLOW_READER,
        Event::WriterDied { .. } => C::TEAK_EVENT_WRITER_DIED,
        Event::Poisoned { .. } => C::TEAK_EVENT_POISONED,
        Event::Closed { .. } => C::TEAK_EVENT_CLOSED,
        Event::NameLost { .. } => C::TEAK_EVENT_NAME_LOST,
        _ => C::TEAK_EVENT_OTHER,
    }
}

impl teak_options {
    /// Adds C's functions to the options.
    ///
    /// # Safety
    ///
    /// The functions match their types and stay callable while the database is open.
    pub(crate) unsafe fn with_functions(&self, mut options: Options) -> Options {
        if let Some(report) = self.on_event {
            let user = UserPointer(self.event_user);
            options = options.on_event(move |event| {
                let text = event.to_string();
                // SAFETY: the caller's promise.
                unsafe {
                    report(
                        user.get(),
                        kind(event) as u32,
                        teak_slice::new(text.as_bytes()),
                    )
                };
            });
        }
        if let Some(ask) = self.on_slow_reader {
            let user = UserPointer(self.slow_reader_user);
            options = options.on_slow_reader(move |slow| {
                let reported = teak_slow_reader::from(slow);
                // SAFETY: the caller's promise.
                match unsafe { ask(user.get(), &raw const reported) } {
                    1 => SlowReaderChoice::Wait,
                    2 => SlowReaderChoice::Cancel,
                    3 => SlowReaderChoice::GiveUp,
                    _ => SlowReaderChoice::Grow,
                }
            });
        }
        options
    }
}
