//! The input of a load: a file or standard input, read as a stream, with a progress bar on
//! terminals.

use super::arguments::LoadFormat;
use crate::failure::Failure;
use crate::text::{DumpReader, Event, Header, TsvReader, shown_path};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

const BUFFER_LEN: usize = 256 << 10;

type InputSource = BufReader<Box<dyn Read>>;

/// The input of a load.
pub(super) struct LoadInput {
    reader: InputReader,
    path: PathBuf,
    progress: ProgressBar,
}

enum InputReader {
    Dump(DumpReader<InputSource>),
    Tsv(TsvReader<InputSource>),
}

impl LoadInput {
    /// Opens a file, or standard input if the path is `-`.
    pub(super) fn open(path: &Path, format: Option<LoadFormat>) -> Result<Self, Failure> {
        let (source, progress, name) = if path.as_os_str() == "-" {
            let progress = ProgressBar::new_spinner().with_style(stream_style());
            let source: Box<dyn Read> = Box::new(progress.wrap_read(io::stdin()));
            (source, progress, "standard input".to_owned())
        } else {
            let file = File::open(path).map_err(Failure::file("opening", path))?;
            let len = file
                .metadata()
                .map_err(Failure::file("opening", path))?
                .len();
            let progress = ProgressBar::new(len).with_style(file_style());
            let source: Box<dyn Read> = Box::new(progress.wrap_read(file));
            (source, progress, shown_path(path))
        };
        let source = BufReader::with_capacity(BUFFER_LEN, source);
        let reader = match format.unwrap_or_else(|| guess_format(path)) {
            LoadFormat::Dump => InputReader::Dump(DumpReader::new(source, &name)),
            LoadFormat::Tsv => InputReader::Tsv(TsvReader::new(source, &name)),
        };
        Ok(Self {
            reader,
            path: path.to_owned(),
            progress,
        })
    }

    /// Returns the next event of the input.
    pub(super) fn next(&mut self) -> Result<Event<'_>, Failure> {
        let next = match &mut self.reader {
            InputReader::Dump(reader) => reader.next(),
            InputReader::Tsv(reader) => reader.next(),
        };
        next.map_err(Failure::reading(&self.path))
    }

    /// The header that every input begins with.
    pub(super) fn first_header(&mut self) -> Result<Header, Failure> {
        match self.next()? {
            Event::Table(header) => Ok(header),
            Event::Record { .. } | Event::End => Ok(Header::default()),
        }
    }

    /// Shows how far the load has come.
    pub(super) fn show_progress(&self, committed_records: u64) {
        let seconds = self.progress.elapsed().as_secs_f64().max(1e-3);
        let rate = (committed_records as f64 / seconds) as u64;
        self.progress.set_message(format!(
            "{} records, {}/s",
            indicatif::HumanCount(committed_records),
            indicatif::HumanCount(rate)
        ));
    }

    /// Takes the progress bar away.
    pub(super) fn finish_progress(&self) {
        self.progress.finish_and_clear();
    }
}

fn guess_format(path: &Path) -> LoadFormat {
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("tsv") => LoadFormat::Tsv,
        _ => LoadFormat::Dump,
    }
}

fn file_style() -> ProgressStyle {
    ProgressStyle::with_template(
        "{wide_bar} {binary_bytes}/{binary_total_bytes}, {eta} left: {msg}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn stream_style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {binary_bytes} read: {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
