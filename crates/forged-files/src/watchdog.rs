//! Limits of time, memory and files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io, process,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Memory that the process may have of its own, in bytes.
const MEMORY_MAX: u64 = 1 << 30;
/// Addresses: each open database reserves some hundreds of mebibytes of them.
const ADDRESSES_MAX: u64 = 8 << 30;
/// Length of a file: a database says itself how long its file becomes, which may lie in memory.
const FILE_MAX: u64 = 1 << 30;
/// What a file may take of the processor for each mebibyte that it has, and a small one.
const TIME_MAX: Duration = Duration::from_secs(10);
/// It may sleep so long, and others may use the processor.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
const GLANCE: Duration = Duration::from_millis(100);

/// Limits memory, also that of processes that this one starts, and the images that are written of those that die.
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

/// What the process has had of the processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ends the process when a file takes too long.
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
