//! Starting the program, and reading what it said.

use super::{CommitScript, VictimAccount};
use crate::Failure;
use std::{
    env,
    ffi::OsString,
    io::Read,
    path::Path,
    process::{self, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

/// What the program is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VictimPlan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) seed: u64,
    pub(crate) script: CommitScript,
    pub(crate) incarnation: u32,
    /// None for commits without end.
    pub(crate) commits: Option<u64>,
    pub(crate) page_size: usize,
}

/// The program while it runs.
pub(crate) struct ChildProgram {
    process: process::Child,
    output: OutputReader,
    errors: OutputReader,
}

/// The program when it has ended.
pub(crate) struct ChildEnd {
    /// What it said, as far as that makes sense.
    pub(crate) account: Result<VictimAccount, Failure>,
    /// The same, word for word.
    pub(crate) output: String,
    pub(crate) status: ExitStatus,
    /// What it said on its standard error.
    pub(crate) errors: String,
}

/// This program with another task, and the error that is planted in this process.
pub(super) fn program(task: &str) -> Result<Vec<OsString>, Failure> {
    const PLANTED: &str = "--planted";
    let mut words = vec![env::current_exe()?.into_os_string()];
    let mut given = env::args_os().skip_while(|word| word != PLANTED);
    words.extend(given.next().into_iter().chain(given.next()));
    words.push(task.into());
    Ok(words)
}

impl VictimPlan<'_> {
    /// The program and its arguments.
    pub(crate) fn words(&self) -> Result<Vec<OsString>, Failure> {
        let mut words = program("victim")?;
        words.extend(["--path".into(), self.path.into()]);
        words.extend(["--seed".into(), self.seed.to_string().into()]);
        words.extend(["--script".into(), self.script.name().into()]);
        words.extend(["--incarnation".into(), self.incarnation.to_string().into()]);
        words.extend(["--page-size".into(), self.page_size.to_string().into()]);
        if let Some(commits) = self.commits {
            words.extend(["--commits".into(), commits.to_string().into()]);
        }
        Ok(words)
    }
}

impl ChildProgram {
    /// Starts the program that the first word names.
    pub(crate) fn start(words: &[OsString]) -> Result<Self, Failure> {
        let mut process = Command::new(&words[0])
            .args(&words[1..])
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

    /// What it has said so far.
    pub(crate) fn account(&self) -> Result<VictimAccount, Failure> {
        VictimAccount::read(&self.output())
    }

    /// The same, word for word.
    pub(crate) fn output(&self) -> String {
        self.output.text()
    }

    /// Stops it where it is; calls to the system that it is in go on.
    pub(crate) fn stop(&self) -> Result<(), Failure> {
        let id = i32::try_from(self.process.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            rustix::process::kill_process(id, rustix::process::Signal::STOP)?;
        }
        Ok(())
    }

    pub(crate) fn has_ended(&mut self) -> Result<bool, Failure> {
        Ok(self.status()?.is_some())
    }

    /// How it has ended, if it has.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>, Failure> {
        Ok(self.process.try_wait()?)
    }

    pub(crate) fn kill(mut self) -> Result<ChildEnd, Failure> {
        self.process.kill()?;
        self.wait()
    }

    /// Returns when the program has ended by itself, or was killed by somebody else.
    pub(crate) fn wait(mut self) -> Result<ChildEnd, Failure> {
        let status = self.process.wait()?;
        let [output, errors] = [self.output, self.errors].map(OutputReader::end);
        Ok(ChildEnd {
            account: VictimAccount::read(&output),
            output,
            status,
            errors,
        })
    }
}

impl ChildEnd {
    pub(crate) fn was_killed(&self) -> bool {
        is_killed(self.status)
    }
}

/// Whether a signal ended a program, or ended it under another program that says so by its code.
pub(crate) fn is_killed(status: ExitStatus) -> bool {
    const KILLED_CODE: i32 = 128 + 9;
    status.code().is_none_or(|code| code == KILLED_CODE)
}

/// Reads what a program says, as it says it.
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
            // What was read before an error still counts.
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

    /// All that was said, up to the program's end.
    fn end(self) -> String {
        // It does not panic; if it did, what it read before would count.
        let Self { bytes, thread } = self;
        let _ = thread.join();
        let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
