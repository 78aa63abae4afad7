//! Metrics as text for Prometheus.

use super::metrics::Metrics;

/// The metrics of databases as text, in the [format] that Prometheus reads: a counter
/// `teak_NAME_total` for each field of [`Metrics`], with a label for each database. Only with the
/// feature `metrics`.
///
/// ```
/// use teak::{Database, codec::Str};
/// let database = Database::in_memory()?;
/// let mut txn = database.begin_write()?;
/// txn.create_table::<Str, Str>("words")?;
/// txn.commit()?;
/// let text = teak::prometheus_text([("words", database.metrics())]);
/// assert!(text.contains("\nteak_commits_total{database=\"words\"} 1\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [format]: https://prometheus.io/docs/instrumenting/exposition_formats/
#[must_use]
pub fn prometheus_text<'d>(databases: impl IntoIterator<Item = (&'d str, Metrics)>) -> String {
    let databases = databases.into_iter();
    let databases: Vec<_> = databases
        .map(|(label, metrics)| (escaped(label), metrics.named()))
        .collect();
    let names = Metrics::default().named();
    let mut text = String::new();
    for (index, (name, _)) in names.into_iter().enumerate() {
        let help = name.replace('_', " ");
        text += &format!("# HELP teak_{name}_total {help} of this process since it opened it\n");
        text += &format!("# TYPE teak_{name}_total counter\n");
        for (label, values) in &databases {
            let value = values[index].1;
            text += &format!("teak_{name}_total{{database=\"{label}\"}} {value}\n");
        }
    }
    text
}

/// The value of a label between its quotes.
fn escaped(label: &str) -> String {
    let escaped = label.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{Metrics, prometheus_text};

    #[test]
    fn each_counter_has_one_description_and_a_line_for_each_database() {
        let metrics = Metrics {
            flushes: 7,
            ..Metrics::default()
        };
        let text = prometheus_text([("a", metrics), ("b", Metrics::default())]);
        assert_eq!(
            text.matches("# TYPE teak_flushes_total counter\n").count(),
            1
        );
        assert!(
            text.contains("\nteak_flushes_total{database=\"a\"} 7\n"),
            "{text}"
        );
        assert!(
            text.contains("\nteak_flushes_total{database=\"b\"} 0\n"),
            "{text}"
        );
        assert!(text.ends_with('\n') && text.starts_with("# HELP"));
    }

    #[test]
    fn labels_are_escaped() {
        let text = prometheus_text([("a\"b\\c\nd", Metrics::default())]);
        assert!(text.contains(r#"{database="a\"b\\c\nd"} 0"#), "{text}");
    }
}
