//! Child processes that do parts of the work, and answer in lines of JSON.
//!
//! Invariant: no child outlives its parent. A child is killed when it is dropped, and by the system
//! when its parent dies, even while it is stopped.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    env,
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

/// A process that answers with an `A` on each line.
pub(crate) struct ChildProcess<A> {
    child: Child,
    /// Open as long as there can be orders.
    orders: Option<ChildStdin>,
    answers: Receiver<Result<A>>,
}

impl<A: DeserializeOwned + Send + 'static> ChildProcess<A> {
    /// Starts this program with `words` as arguments.
    pub(crate) fn start(words: Vec<OsString>) -> Result<Self> {
        let program = env::current_exe().context("cannot find this program's path")?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a process")?;
        let (orders, output) = (child.stdin.take(), child.stdout.take());
        let output = output.context("a process has no pipe")?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || pass_on(output, &sender));
        Ok(Self {
            child,
            orders,
            answers,
        })
    }

    /// Returns the next answer.
    pub(crate) fn answer(&mut self, patience: Duration) -> Result<A> {
        match self.answers.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                bail!("a process gave no answer for {} s", patience.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().context("cannot wait for a process")?;
                bail!("a process ended without an answer ({status})")
            }
        }
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, order: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(order)?;
        let orders = self.orders.as_mut();
        let orders = orders.context("the orders of a process are closed")?;
        writeln!(orders, "{line}").context("a process does not listen")
    }

    /// Closes the orders, and waits until the process has ended.
    pub(crate) fn wait(mut self) -> Result<()> {
        drop(self.orders.take());
        self.child.wait().context("cannot wait for a process")?;
        Ok(())
    }

    /// Stops the process with all of its threads, until it is continued.
    pub(crate) fn stop(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Continues the process.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// The id of the process.
    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = i32::try_from(self.child.id())?;
        let process = Pid::from_raw(process).context("a process has no number")?;
        kill_process(process, signal).context("cannot signal a process")
    }
}

impl<A> Drop for ChildProcess<A> {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Forwards each line of a process, until it ends or the receiver is dropped.
fn pass_on<A: DeserializeOwned>(output: ChildStdout, answers: &Sender<Result<A>>) {
    for line in BufReader::new(output).lines() {
        let answer = line
            .map_err(anyhow::Error::from)
            .and_then(|line| Ok(serde_json::from_str(&line)?));
        let answer = answer.context("cannot understand a process");
        if answers.send(answer).is_err() {
            return;
        }
    }
}

/// In a child process: makes the system kill it when its parent dies.
pub(crate) fn end_with_parent() -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// In a child process: the next order; `None` when there are no more.
pub(crate) fn next_order<O: DeserializeOwned>() -> Result<Option<O>> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

/// In a child process: sends an answer.
pub(crate) fn answer(answer: &impl Serialize) -> Result<()> {
    let line = serde_json::to_string(answer)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}
