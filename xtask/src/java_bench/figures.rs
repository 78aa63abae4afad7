//! The figures of all rounds, from the reports of JMH.

use crate::{Context, Result, works::median};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

/// The works in the order of rows.
const WORKS: [&str; 8] = [
    "write",
    "readKey",
    "readSeq",
    "readRev",
    "readCrc",
    "readXxh64",
    "get",
    "scan",
];

/// Nanoseconds per record of each round, by work and engine.
pub(super) struct JavaFigures {
    records: u64,
    figures: BTreeMap<(String, String), Vec<f64>>,
}

impl JavaFigures {
    pub(super) fn new(records: u64) -> Self {
        Self {
            records,
            figures: BTreeMap::new(),
        }
    }

    /// Adds a report of JMH: the median of the passes of each work.
    pub(super) fn add(&mut self, report: &str) -> Result {
        let report: Value = serde_json::from_str(report)?;
        for result in report.as_array().into_iter().flatten() {
            let millis = &result["primaryMetric"]["scorePercentiles"]["50.0"];
            let millis = millis.as_f64().context("the report has no median")?;
            let work = result["benchmark"].as_str().unwrap_or_default();
            let work = work.rsplit('.').next().unwrap_or_default();
            let engine = result["params"]["engine"].as_str().unwrap_or_default();
            let figures = self.figures.entry((work.to_owned(), engine.to_owned()));
            figures
                .or_default()
                .push(millis * 1e6 / self.records as f64);
        }
        Ok(())
    }

    /// The works that were measured.
    pub(super) fn works(&self) -> impl Iterator<Item = &'static str> {
        let is_measured = |work: &&str| self.figures.keys().any(|(measured, _)| measured == work);
        WORKS.into_iter().filter(is_measured)
    }

    /// The median of a work.
    pub(super) fn median(&self, work: &str, engine: &str) -> Option<f64> {
        let figures = self.figures.get(&(work.to_owned(), engine.to_owned()))?;
        Some(median(&mut figures.clone()))
    }

    /// A row for each work.
    pub(super) fn table(&self, engines: &[&str]) -> String {
        let mut table = format!("| | {} |\n|---", engines.join(" | "));
        table.push_str(&"|---".repeat(engines.len()));
        table.push_str("|\n");
        for work in self.works() {
            let _ = write!(table, "| `{work}` |");
            for engine in engines {
                let _ = match self.median(work, engine) {
                    Some(figure) if figure < 10.0 => write!(table, " {figure:.1} |"),
                    Some(figure) => write!(table, " {figure:.0} |"),
                    None => write!(table, " |"),
                };
            }
            table.push('\n');
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::JavaFigures;

    fn report(engine: &str, millis: f64) -> String {
        format!(
            r#"[{{"benchmark": "teak.benchmarks.Works.get", "params": {{"engine": "{engine}"}},
                "primaryMetric": {{"scorePercentiles": {{"50.0": {millis}}}}}}}]"#
        )
    }

    #[test]
    fn the_table_has_medians_of_all_rounds() {
        let mut figures = JavaFigures::new(1000);
        for (engine, millis) in [("a", 0.1), ("a", 0.4), ("a", 0.2), ("b", 0.005)] {
            figures.add(&report(engine, millis)).unwrap();
        }
        let table = figures.table(&["a", "b", "c"]);
        assert_eq!(
            table,
            "| | a | b | c |\n|---|---|---|---|\n| `get` | 200 | 5.0 | |\n"
        );
    }

    #[test]
    fn a_report_without_a_figure_is_an_error() {
        assert!(JavaFigures::new(1).add("[{}]").is_err());
        assert!(JavaFigures::new(1).add("[").is_err());
    }
}
