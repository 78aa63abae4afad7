//! Limits of time, memory and files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io, process,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// The limit for the process's own memory, in bytes.
const MEMORY_MAX: u64 = 1 << 30;
/// The limit for the address space. Each open database reserves some hundreds of mebibytes.
const ADDRESSES_MAX: u64 = 8 << 30;
/// The limit for the length of a file. A database determines its file's length itself, and the file
/// may be in memory.
const FILE_MAX: u64 = 1 << 30;
/// The processor time allowed per mebibyte of a file, and for a small one.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The real time allowed, which includes sleeping and waiting for the processor.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
const GLANCE: Duration = Duration::from_millis(100);

/// Limits memory, also for processes that this one starts, and disables core dumps.
pub(crate) fn limit_memory() -> io::Result<()> {
    let limits = [
        (Resource::Data, MEMORY_MAX),
        (Resource::As, ADDRESSES_MAX),
        (Resource::Fsize, FILE_MAX),
        (Resource::Core, 0),
    ];
    for (resource, max) in limits {
        let limit = Rlimit {
            current: Some(max),
            ..getrlimit(resource)
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

/// The processor time that the process has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ends the process if a file takes too long.
pub(crate) struct Watchdog {
    work: Arc<Mutex<Option<WatchedWork>>>,
}

struct WatchedWork {
    index: u64,
    end: Instant,
    end_of_processor_time: Duration,
}

impl Watchdog {
    pub(crate) fn start() -> Self {
        let work = Arc::new(Mutex::new(None));
        let watched = Arc::clone(&work);
        thread::spawn(move || {
            loop {
                thread::sleep(GLANCE);
                let work = watched.lock().unwrap_or_else(|poison| poison.into_inner());
                let work: &Option<WatchedWork> = &work;
                let is_over = |work: &&WatchedWork| {
                    work.end_of_processor_time < processor_time() || work.end < Instant::now()
                };
                if let Some(work) = work.as_ref().filter(is_over) {
                    println!("slow {}", work.index);
                    process::abort();
                }
            }
        });
        Self { work }
    }

    pub(crate) fn watch(&self, index: u64, len: usize) {
        let mebibytes = len.div_ceil(1 << 20).max(1) as u32;
        self.set(Some(WatchedWork {
            index,
            end: Instant::now() + PATIENCE,
            end_of_processor_time: processor_time() + TIME_MAX * mebibytes,
        }));
    }

    pub(crate) fn rest(&self) {
        self.set(None);
    }

    fn set(&self, work: Option<WatchedWork>) {
        *self
            .work
            .lock()
            .unwrap_or_else(|poison| poison.into_inner()) = work;
    }
}
