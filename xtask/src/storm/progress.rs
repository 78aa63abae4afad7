//! The current activity of each thread of a worker, in a small file that outlives the worker.
//!
//! Each thread has a line of 64 bytes: a counter of activities, and the current activity.

use super::positions::write_at;
use crate::Result;
use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const LINE_LEN: usize = 64;

/// The activity of a thread that has ended.
const ENDED: &str = "ended";

/// The file in which the threads of a worker report their activities.
pub(super) fn path(directory: &Path, worker: u64) -> PathBuf {
    directory.join(format!("progress-{worker}"))
}

/// The line of one thread.
pub(super) struct ProgressReporter {
    file: File,
    offset: u64,
    count: u64,
}

impl ProgressReporter {
    pub(super) fn open(path: &Path, thread: usize) -> Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        Ok(Self {
            file: options.open(path)?,
            offset: (thread * LINE_LEN) as u64,
            count: 0,
        })
    }

    /// Reports the next activity.
    pub(super) fn begin(&mut self, activity: &str) -> Result {
        self.count += 1;
        let line = format!("{:>9} {activity:<53.53}\n", self.count);
        Ok(write_at(&self.file, line.as_bytes(), self.offset)?)
    }

    pub(super) fn end(&mut self) -> Result {
        self.begin(ENDED)
    }
}

/// The last activities of the threads of a worker, with their times.
pub(super) struct ProgressWatch {
    path: PathBuf,
    lines: Vec<ProgressLine>,
}

struct ProgressLine {
    text: String,
    since: Instant,
}

impl ProgressWatch {
    pub(super) fn new(path: PathBuf) -> Self {
        // A line that does not exist yet counts by its index.
        let line = ProgressLine {
            text: "starting".to_owned(),
            since: Instant::now(),
        };
        Self {
            path,
            lines: vec![line],
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Restarts the time of all threads, because the worker was stopped.
    pub(super) fn restart(&mut self) {
        for line in &mut self.lines {
            line.since = Instant::now();
        }
    }

    /// Returns a description of a thread without progress for longer than `patience`, if there is
    /// one.
    pub(super) fn stuck(&mut self, patience: Duration) -> Option<String> {
        self.refresh();
        let mut threads = self.lines.iter().enumerate();
        let is_stuck = |line: &ProgressLine| !line.has_ended() && line.since.elapsed() > patience;
        let (thread, line) = threads.find(|(_, line)| is_stuck(line))?;
        let seconds = line.since.elapsed().as_secs_f64();
        Some(format!(
            "no progress for {seconds:.1} s, thread {thread}: {}",
            line.text.trim()
        ))
    }

    /// The activity of each thread.
    pub(super) fn text(&mut self) -> String {
        self.refresh();
        let lines = self.lines.iter();
        let text = lines.map(|line| line.text.trim());
        text.collect::<Vec<_>>().join("; ")
    }

    fn refresh(&mut self) {
        // The file does not exist yet, or a line is half written. The next check sees more.
        let text = fs::read(&self.path).unwrap_or_default();
        for (index, text) in text.chunks_exact(LINE_LEN).enumerate() {
            let text = String::from_utf8_lossy(text).into_owned();
            match self.lines.get_mut(index) {
                Some(line) if line.text == text => {}
                Some(line) => *line = ProgressLine::new(text),
                None => self.lines.push(ProgressLine::new(text)),
            }
        }
    }
}

impl ProgressLine {
    fn new(text: String) -> Self {
        Self {
            text,
            since: Instant::now(),
        }
    }

    fn has_ended(&self) -> bool {
        self.text.trim().ends_with(ENDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_thread_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(directory.path(), 3);
        let mut watch = ProgressWatch::new(path.clone());
        let mut reporters = [0, 1].map(|thread| ProgressReporter::open(&path, thread).unwrap());
        reporters[0].begin("reading").unwrap();
        reporters[1]
            .begin("a name that is longer than a line has places for it")
            .unwrap();
        assert_eq!(watch.stuck(Duration::from_secs(60)), None);
        std::thread::sleep(Duration::from_millis(30));
        reporters[0].begin("reading").unwrap();
        let stuck = watch.stuck(Duration::from_millis(20)).unwrap();
        assert!(stuck.contains("thread 1: 1 a name that"), "{stuck}");
        reporters[1].end().unwrap();
        assert_eq!(watch.stuck(Duration::from_millis(20)), None);
        watch.restart();
        assert_eq!(watch.text(), "2 reading; 2 ended");
    }
}
