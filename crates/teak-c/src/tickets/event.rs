//! A descriptor that can be read when a ticket is decided: an event where the system has those, and
//! otherwise a pipe. Windows has no descriptors for that.

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(super) use by_event::TicketEvent;
#[cfg(all(
    unix,
    not(any(target_os = "linux", target_os = "android", target_os = "freebsd"))
))]
pub(super) use by_pipe::TicketPipe as TicketEvent;
#[cfg(not(unix))]
pub(super) use none::NoEvent as TicketEvent;

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
mod by_event {
    use std::{
        io,
        os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    };

    pub(crate) struct TicketEvent(OwnedFd);

    impl TicketEvent {
        pub(crate) fn new() -> io::Result<Self> {
            // SAFETY: the arguments are plain numbers.
            let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
            match descriptor {
                -1 => Err(io::Error::last_os_error()),
                // SAFETY: the descriptor is open, and nothing else owns it.
                open => Ok(Self(unsafe { OwnedFd::from_raw_fd(open) })),
            }
        }

        pub(crate) fn descriptor(&self) -> RawFd {
            self.0.as_raw_fd()
        }

        pub(crate) fn notify(&self) {
            let one = 1_u64.to_ne_bytes();
            // SAFETY: the buffer has that many bytes. The write fails only if the descriptor is
            // already readable.
            let _ = unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        }
    }
}

#[cfg(all(
    unix,
    not(any(target_os = "linux", target_os = "android", target_os = "freebsd"))
))]
mod by_pipe {
    use std::{
        io::{self, PipeReader, PipeWriter, Write},
        os::fd::{AsRawFd, RawFd},
        sync::atomic::{AtomicBool, Ordering::Relaxed},
    };

    pub(crate) struct TicketPipe {
        reader: PipeReader,
        writer: PipeWriter,
        is_notified: AtomicBool,
    }

    impl TicketPipe {
        pub(crate) fn new() -> io::Result<Self> {
            let (reader, writer) = io::pipe()?;
            for descriptor in [reader.as_raw_fd(), writer.as_raw_fd()] {
                // SAFETY: the descriptor is open, and the arguments are plain numbers.
                if unsafe { libc::fcntl(descriptor, libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // If other code closes the reader, a write is an error and not a signal.
            #[cfg(target_vendor = "apple")]
            // SAFETY: the descriptor is open, and the arguments are plain numbers.
            let _ = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) };
            Ok(Self {
                reader,
                writer,
                is_notified: AtomicBool::new(false),
            })
        }

        pub(crate) fn descriptor(&self) -> RawFd {
            self.reader.as_raw_fd()
        }

        pub(crate) fn notify(&self) {
            // One byte has room in the pipe.
            if !self.is_notified.swap(true, Relaxed) {
                let _ = (&self.writer).write(&[1]);
            }
        }
    }
}

#[cfg(not(unix))]
mod none {
    use std::io;

    /// No value has this type.
    pub(crate) enum NoEvent {}

    impl NoEvent {
        pub(crate) fn new() -> io::Result<Self> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this system has no descriptors for poll; wait for the ticket, or poll it",
            ))
        }

        pub(crate) fn descriptor(&self) -> i32 {
            match *self {}
        }

        pub(crate) fn notify(&self) {
            match *self {}
        }
    }
}
