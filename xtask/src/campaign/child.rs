//! Programs that a campaign starts, watches, stops and kills.

use crate::{Result, commands};
use rustix::process::Signal;
use std::{
    env,
    ffi::OsString,
    io::Read,
    process::{self, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A program while it runs.
pub(crate) struct ChildProgram {
    process: process::Child,
    output: OutputReader,
    errors: OutputReader,
}

/// A program after its end.
pub(crate) struct ChildEnd {
    pub(crate) status: ExitStatus,
    /// Its standard output and its standard error.
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// The command line of another task of this program. An error planted here is planted there too.
pub(crate) fn own_task(task: &str) -> Result<Vec<OsString>> {
    const PLANTED: &str = "--planted";
    let mut words = vec![env::current_exe()?.into_os_string()];
    let mut given = env::args_os().skip_while(|word| word != PLANTED);
    words.extend(given.next().into_iter().chain(given.next()));
    words.push(task.into());
    Ok(words)
}

impl ChildProgram {
    /// Starts the program that the first word names.
    pub(crate) fn start(words: &[OsString]) -> Result<Self> {
        Self::spawn(Command::new(&words[0]).args(&words[1..]))
    }

    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        Ok(Self {
            process,
            output: OutputReader::start(stdout),
            errors: OutputReader::start(stderr),
        })
    }

    /// The output so far.
    pub(crate) fn output(&self) -> String {
        self.output.text()
    }

    /// Suspends the program. Its running system calls complete.
    pub(crate) fn stop(&self) -> Result {
        commands::signal(&self.process, Signal::STOP)
    }

    /// The exit status, if the program has ended.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    pub(crate) fn kill(mut self) -> Result<ChildEnd> {
        self.process.kill()?;
        self.wait()
    }

    /// Waits for the end of the program.
    pub(crate) fn wait(mut self) -> Result<ChildEnd> {
        let status = self.process.wait()?;
        let [output, errors] = [self.output, self.errors].map(OutputReader::end);
        Ok(ChildEnd {
            status,
            output,
            errors,
        })
    }

    /// Waits for the end of the program, and kills it at the time `end`.
    pub(crate) fn wait_until(mut self, end: Instant) -> Result<ChildEnd> {
        const INTERVAL: Duration = Duration::from_millis(1);
        while self.status()?.is_none() {
            if Instant::now() > end {
                return self.kill();
            }
            thread::sleep(INTERVAL);
        }
        self.wait()
    }
}

impl ChildEnd {
    pub(crate) fn was_killed(&self) -> bool {
        is_killed(self.status)
    }
}

/// Whether a program was killed by a signal. A wrapper such as `strace` reports this as exit code
/// 137.
pub(crate) fn is_killed(status: ExitStatus) -> bool {
    const KILLED_CODE: i32 = 128 + 9;
    status.code().is_none_or(|code| code == KILLED_CODE)
}

/// Waits until `end`: sleeps first, then spins to be exact.
pub(crate) fn wait_until(end: Instant) {
    const EXACT: Duration = Duration::from_micros(200);
    let rest = end.saturating_duration_since(Instant::now());
    thread::sleep(rest.saturating_sub(EXACT));
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Reads the output of a program while it runs.
struct OutputReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl OutputReader {
    fn start(source: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let mut part = [0; 4096];
            let Some(mut source) = source else { return };
            // Bytes read before an error still count.
            while let Ok(len @ 1..) = source.read(&mut part) {
                let mut bytes = read.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&part[..len]);
            }
        });
        Self { bytes, thread }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The whole output, up to the end of the program.
    fn end(self) -> String {
        // The thread does not panic. If it did, the bytes that it read before would count.
        let Self { bytes, thread } = self;
        let _ = thread.join();
        let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
