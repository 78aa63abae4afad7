//! An engine in a process of its own, which runs during its turns and is stopped otherwise.

use super::{
    arguments::CompareEngine,
    limit::ControlGroup,
    message::{DatabaseSize, EngineAnswer, EngineCommand, PartResult, Setup, TaskPart},
    work::Task,
};
use crate::{children::ChildProcess, engines::rivals::Rival};
use anyhow::{Context, Result, bail};
use std::{fs, time::Duration};

/// The time that a part may take before the process counts as hanging.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// An engine that is compared.
pub(super) struct CompareContender {
    pub(super) rival: Rival,
    process: ChildProcess<EngineAnswer>,
    setup: Setup,
    group: Option<ControlGroup>,
    /// The memory that the process itself holds.
    held_bytes: u64,
}

impl CompareContender {
    /// Starts the process of an engine.
    pub(super) fn start(rival: Rival, setup: Setup, group: Option<ControlGroup>) -> Result<Self> {
        fs::create_dir_all(&setup.directory)?;
        let words = CompareEngine { engine: rival }.to_command_line();
        let process = ChildProcess::start(words)?;
        if let Some(group) = &group {
            group.add(process.number())?;
        }
        let mut contender = Self {
            rival,
            process,
            setup: setup.clone(),
            group,
            held_bytes: 0,
        };
        contender.expect_ready(&EngineCommand::Setup(setup))?;
        Ok(contender)
    }

    /// Makes it prepare its database for a task.
    pub(super) fn prepare(&mut self, task: Task) -> Result<()> {
        self.expect_ready(&EngineCommand::Prepare(task))
    }

    /// Limits the engine's memory from now on.
    pub(super) fn limit(&self, bytes: u64) -> Result<()> {
        match &self.group {
            Some(group) => group.limit(bytes + self.held_bytes),
            None => Ok(()),
        }
    }

    /// Makes it do a part of a task.
    pub(super) fn work(&mut self, part: TaskPart) -> Result<PartResult> {
        match self.turn(&EngineCommand::Work(part))? {
            EngineAnswer::Done(done) => Ok(*done),
            answer => bail!("expected to hear of its work, and heard {answer:?}"),
        }
    }

    /// Makes the engine read all of its records, and returns the size of the database.
    pub(super) fn measure(&mut self) -> Result<DatabaseSize> {
        match self.turn(&EngineCommand::Measure)? {
            EngineAnswer::Size(size) => Ok(size),
            answer => bail!("expected to hear of its size, and heard {answer:?}"),
        }
    }

    /// Ends it, and removes its files.
    pub(super) fn end(self) -> Result<()> {
        self.process.go_on()?;
        self.process.wait()?;
        drop(self.group);
        let directory = &self.setup.directory;
        fs::remove_dir_all(directory)
            .with_context(|| format!("cannot remove {}", directory.display()))
    }

    fn expect_ready(&mut self, order: &EngineCommand) -> Result<()> {
        match self.turn(order)? {
            EngineAnswer::Ready { held_bytes } => {
                self.held_bytes = held_bytes;
                Ok(())
            }
            answer => bail!("expected to hear that it is ready, and heard {answer:?}"),
        }
    }

    /// Continues the process until it has answered an order.
    fn turn(&mut self, order: &EngineCommand) -> Result<EngineAnswer> {
        self.process.go_on()?;
        self.process.send(order)?;
        let answer = self.process.answer(PATIENCE)?;
        self.process.stop()?;
        match answer {
            EngineAnswer::Failed(text) => bail!(text),
            answer => Ok(answer),
        }
    }
}
