//! The process that opens damaged files. If a file kills it, its parent knows which file it was.
//!
//! It writes a line before each file, and one with the result:
//!
//! | line | meaning |
//! |---|---|
//! | `begin INDEX` | |
//! | `end INDEX CLASS` | see [`ReadClass`] |
//! | `none INDEX` | there was nothing to damage |
//! | `panic INDEX TEXT` | |
//! | `slow INDEX` | the file takes too long; the process ends itself |

use super::{cases::MutationCases, classes::ReadClass};
use crate::{Failure, Result, campaign::panics, names::Named};
use std::{
    process,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use teak::testing;

/// The address space of the process in bytes. Allocators reserve some of it for each of two
/// threads.
const MEMORY_MAX: u64 = 512 << 20;
/// The processor time for each mebibyte of a file, and for a smaller file.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Factor for elapsed time, because other processes use the processor too.
const PATIENCE: u32 = 60;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Opens the files with the indexes of a range.
pub(super) fn run(seed: u64, from: u64, to: u64) -> Result {
    limit_memory()?;
    let cases = MutationCases::new(seed)?;
    let watchdog = Watchdog::start();
    for index in from..to {
        println!("begin {index}");
        let case = cases.case(index);
        let Some(image) = &case.image else {
            println!("none {index}");
            continue;
        };
        watchdog.watch(index, image.len());
        let result = panics::catch(|| {
            testing::exercise(image);
            Ok(ReadClass::of(image, case.seed, index % 2 == 0))
        });
        watchdog.rest();
        match result {
            Ok(class) => println!("end {index} {}", class.name()),
            Err(Failure(panic)) => println!("panic {index} {}", panic.replace('\n', " ")),
        }
    }
    Ok(())
}

pub(super) fn limit_memory() -> Result {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(MEMORY_MAX),
        ..getrlimit(Resource::As)
    };
    Ok(setrlimit(Resource::As, limit)?)
}

/// The processor time of the process so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ends the process if a file takes too long.
pub(super) struct Watchdog {
    work: Arc<Mutex<Option<WatchedWork>>>,
}

struct WatchedWork {
    index: u64,
    end: Instant,
    end_of_processor_time: Duration,
}

impl Watchdog {
    pub(super) fn start() -> Self {
        let work = Arc::new(Mutex::new(None));
        let watched = Arc::clone(&work);
        thread::spawn(move || {
            loop {
                thread::sleep(POLL_INTERVAL);
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

    pub(super) fn watch(&self, index: u64, len: usize) {
        let mebibytes = len.div_ceil(1 << 20).max(1) as u32;
        self.set(Some(WatchedWork {
            index,
            end: Instant::now() + TIME_MAX * mebibytes * PATIENCE,
            end_of_processor_time: processor_time() + TIME_MAX * mebibytes,
        }));
    }

    pub(super) fn rest(&self) {
        self.set(None);
    }

    fn set(&self, work: Option<WatchedWork>) {
        *self
            .work
            .lock()
            .unwrap_or_else(|poison| poison.into_inner()) = work;
    }
}
