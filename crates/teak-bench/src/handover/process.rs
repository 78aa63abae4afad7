//! The processes that commit, as the one sees them that has started them.
//!
//! Invariant: none of them is left when [`run_together`] returns: a process is ended when it is dropped, if it has not ended yet.

use super::message::{Answer, Begin, Share};
use crate::arguments::HandoverProcess;
use anyhow::{Context, Result, bail};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

/// Between the word to begin and the beginning: enough that every process has heard it.
const LEAD: Duration = Duration::from_millis(20);
/// How much longer than its slice a process may take, to open and to close the database, before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that commits.
struct Process {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<Result<Answer>>,
}

/// Has each task done by a process of its own, all at the same time.
pub(super) fn run_together(tasks: &[HandoverProcess]) -> Result<Vec<Share>> {
    let mut processes: Vec<Process> = tasks.iter().map(Process::start).collect::<Result<_>>()?;
    for process in &processes {
        match process.answer(PATIENCE)? {
            Answer::Ready => {}
            answer => bail!("expected to hear that it is ready, and heard {answer:?}"),
        }
    }
    let begin = Begin::in_time(LEAD);
    for process in &mut processes {
        process.tell(begin)?;
    }
    let slice = tasks.iter().map(|task| task.slice_ms).max();
    let patience = PATIENCE + LEAD + Duration::from_millis(slice.unwrap_or_default());
    let shares = processes
        .iter()
        .map(|process| match process.answer(patience)? {
            Answer::Done(share) => Ok(share),
            answer => bail!("expected to hear of its commits, and heard {answer:?}"),
        });
    let shares = shares.collect::<Result<Vec<Share>>>()?;
    for process in &mut processes {
        process.child.wait().context("cannot wait for a process")?;
    }
    Ok(shares)
}

impl Process {
    /// Starts this program again, with `task`.
    fn start(task: &HandoverProcess) -> Result<Self> {
        let program = env::current_exe().context("cannot find this program's path")?;
        let mut child = Command::new(program)
            .args(task.to_command_line())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a process")?;
        let (orders, output) = (child.stdin.take(), child.stdout.take());
        let (orders, output) = orders.zip(output).context("a process has no pipes")?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || pass_on(output, &sender));
        Ok(Self {
            child,
            orders,
            answers,
        })
    }

    /// Its next answer; an error if that is that it failed.
    fn answer(&self, patience: Duration) -> Result<Answer> {
        match self.answers.recv_timeout(patience) {
            Ok(Ok(Answer::Failed(text))) => bail!(text),
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                bail!("a process gave no answer for {} s", patience.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => bail!("a process ended without an answer"),
        }
    }

    fn tell(&mut self, begin: Begin) -> Result<()> {
        writeln!(self.orders, "{}", begin.micros).context("a process does not listen")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended already, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands on each line of a process, until it ends or nobody listens.
fn pass_on(output: ChildStdout, answers: &Sender<Result<Answer>>) {
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
