//! Reports a failure as text or in JSON.

use crate::failure::{Failure, FailureKind};
use crate::output::{self, ReportStyle};
use crate::text::shown_message;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// An error in JSON.
#[derive(Serialize)]
struct ErrorReport<'a> {
    error: String,
    kind: FailureKind,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
}

impl Failure {
    /// Prints the failure to standard error and returns the exit code.
    pub(crate) fn report(&self, style: ReportStyle) -> ExitCode {
        if self.is_broken_pipe() {
            return ExitCode::SUCCESS;
        }
        // A failure to write to standard error cannot be reported.
        let _ = match style {
            ReportStyle::Text => self.report_text(&mut io::stderr().lock()),
            ReportStyle::Json => self.report_json(&mut io::stderr().lock()),
        };
        ExitCode::from(self.kind() as u8)
    }

    fn report_text(&self, output: &mut impl Write) -> io::Result<()> {
        let root = self.root();
        let mut text = format!("teak: {}\n", root.message());
        for context in self.contexts() {
            text += &format!("  {context}\n");
        }
        output.write_all(shown_message(&text).as_bytes())
    }

    fn report_json(&self, output: &mut impl Write) -> io::Result<()> {
        let root = self.root();
        let (line, malformed) = match root {
            Self::Input(malformed) => (Some(malformed.line), Some(malformed)),
            Self::Record { line, .. } => (Some(*line), None),
            _ => (None, None),
        };
        let contexts = self.contexts();
        let report = ErrorReport {
            error: root.message(),
            kind: self.kind(),
            exit_code: self.kind() as u8,
            context: (!contexts.is_empty()).then(|| contexts.join("; ")),
            line,
            column: malformed.map(|malformed| malformed.column),
            expected: malformed.map(|malformed| malformed.expected.as_str()),
        };
        output::write_json(&report, output)
    }
}
