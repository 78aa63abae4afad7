//! The report as one self-contained page of HTML: bars, curves, and all figures.

use super::{
    chart::{self, COLOURS},
    figure::CompareFigure,
    report::Report,
    work::CompareWorkload,
};
use crate::{engines::rivals::Rival, report::duration};
use anyhow::{Context, Result};
use clap::ValueEnum;
use plotters::prelude::RGBColor;
use std::{fmt::Write, fs, path::Path};

const STYLE: &str = include_str!("report.css");

/// Writes the page.
pub(crate) fn write(report: &Report, path: &Path) -> Result<()> {
    let page = page(report).context("cannot make the report")?;
    fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn page(report: &Report) -> Result<String> {
    let mut engines: Vec<Rival> = Vec::new();
    let mut works: Vec<&str> = Vec::new();
    for figure in &report.figures {
        if !engines.contains(&figure.engine) {
            engines.push(figure.engine);
        }
        if !works.contains(&figure.work.as_str()) {
            works.push(&figure.work);
        }
    }
    let colour = |engine: Rival| {
        let position = engines.iter().position(|other| *other == engine);
        COLOURS[position.unwrap_or_default() % COLOURS.len()]
    };
    let mut body = head(report);
    body += &legend(&engines, colour);
    for work in works {
        let figures: Vec<(&CompareFigure, RGBColor)> = report
            .figures
            .iter()
            .filter(|figure| figure.work == work)
            .map(|figure| (figure, colour(figure.engine)))
            .collect();
        body += &section(work, &figures)?;
    }
    for failure in &report.failures {
        let _ = writeln!(
            body,
            "<p class=\"failure\">{} has failed in {}: {}</p>",
            failure.engine,
            failure.work,
            escaped(&failure.reason)
        );
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Teak beside other engines</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    ))
}

/// The command and the environment.
fn head(report: &Report) -> String {
    let facts = report.environment.iter();
    let facts: String = facts
        .map(|(name, fact)| format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(fact)))
        .collect();
    format!(
        "<header>\n<h1>Teak beside other engines</h1>\n<p><code>{}</code></p>\n\
         <p>{} records, keys: {}, values of {} bytes. Each engine has a process of its own; they take turns, and who has no turn is stopped. \
         Medians over the rounds; the thin line of a bar goes from the slowest round to the fastest.</p>\n<dl>\n{facts}</dl>\n</header>\n",
        escaped(&report.command),
        report.records,
        report.keys.name(),
        report.value_bytes,
    )
}

fn legend(engines: &[Rival], colour: impl Fn(Rival) -> RGBColor) -> String {
    let items: String = engines
        .iter()
        .map(|engine| {
            let RGBColor(red, green, blue) = colour(*engine);
            format!(
                "<li><span style=\"background: rgb({red}, {green}, {blue})\"></span>{engine}</li>\n"
            )
        })
        .collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

fn section(work: &str, figures: &[(&CompareFigure, RGBColor)]) -> Result<String> {
    let mut charts = format!(
        "<figure>\n<figcaption>operations a second: the longer, the better</figcaption>\n{}</figure>\n",
        chart::bars(figures)?
    );
    let timed: Vec<_> = with(figures, |figure| !figure.latencies.is_empty());
    if !timed.is_empty() {
        charts += &format!(
            "<figure>\n<figcaption>latency: the lower, the better</figcaption>\n{}</figure>\n",
            chart::latency_curves(&timed)?
        );
    }
    let grown: Vec<_> = with(figures, |figure| {
        let first = figure.sizes.first().map(|point| point.0);
        figure.sizes.iter().any(|point| Some(point.0) != first)
    });
    if !grown.is_empty() {
        charts += &format!(
            "<figure>\n<figcaption>what the files take up</figcaption>\n{}</figure>\n",
            chart::sizes(&grown)?
        );
    }
    Ok(format!(
        "<section id=\"{work}\">\n<h2>{work}</h2>\n<p>{}</p>\n<div class=\"charts\">\n{charts}</div>\n{}</section>\n",
        description(work),
        table(figures)
    ))
}

fn with<'f>(
    figures: &[(&'f CompareFigure, RGBColor)],
    is_wanted: impl Fn(&CompareFigure) -> bool,
) -> Vec<(&'f CompareFigure, RGBColor)> {
    let wanted = figures.iter().filter(|(figure, _)| is_wanted(figure));
    wanted.copied().collect()
}

/// The help text of a workload. Its number of threads follows the name.
fn description(name: &str) -> String {
    let named = |work: &&CompareWorkload| {
        let value = work.to_possible_value();
        value.is_some_and(|value| {
            let rest = name.strip_prefix(value.get_name());
            rest.is_some_and(|rest| {
                rest.trim_start_matches('_').parse::<u32>().is_ok() || rest.is_empty()
            })
        })
    };
    let work = CompareWorkload::value_variants().iter().find(named);
    let value = work.and_then(ValueEnum::to_possible_value);
    let help = value.and_then(|value| value.get_help().map(ToString::to_string));
    help.map_or_else(String::new, |help| escaped(&help))
}

/// All figures of a workload.
fn table(figures: &[(&CompareFigure, RGBColor)]) -> String {
    let header = [
        "engine",
        "median",
        "fastest",
        "slowest",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "at rest after",
        "CPU",
        "read",
        "written",
        "flushes",
        "memory",
        "own",
        "used / data",
        "files / data",
        "a power cut leaves",
    ];
    let header: String = header.map(|name| format!("<th>{name}</th>")).concat();
    let rows: String = figures.iter().map(|(figure, _)| row(figure)).collect();
    format!(
        "<details>\n<summary>all figures of one operation</summary>\n<div class=\"wide\"><table>\n\
         <tr>{header}</tr>\n{rows}</table></div>\n</details>\n"
    )
}

fn row(figure: &CompareFigure) -> String {
    let bytes = |bytes: f64| format!("{} B", chart::count(bytes));
    let megabytes = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    let to_data = |bytes: Option<u64>| {
        let size = figure.size.zip(bytes);
        size.map_or_else(String::new, |(size, bytes)| {
            format!("{:.2}", bytes as f64 / size.data_bytes as f64)
        })
    };
    let cells = [
        figure.engine.to_string(),
        duration(figure.ns_per_op),
        duration(figure.spread.min),
        duration(figure.spread.max),
        figure.latency(50.0),
        figure.latency(99.0),
        figure.latency(99.9),
        figure.latency(100.0),
        duration(figure.rest_ns_per_op),
        duration(figure.cpu_ns_per_op),
        bytes(figure.read_bytes_per_op),
        bytes(figure.device_written_bytes_per_op),
        format!("{:.3}", figure.device_flushes_per_op),
        megabytes(figure.memory_bytes),
        megabytes(figure.own_memory_bytes),
        to_data(figure.size.and_then(|size| size.used_bytes)),
        to_data(figure.size.map(|size| size.allocated_bytes)),
        figure.promise.unwrap_or("").to_owned(),
    ];
    format!(
        "<tr>{}</tr>\n",
        cells.map(|cell| format!("<td>{cell}</td>")).concat()
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
