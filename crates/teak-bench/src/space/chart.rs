//! A chart of the sizes of the files in the course of commits.

use super::SpaceFigure;
use anyhow::{Context, Result};
use plotters::{
    coord::combinators::IntoLogRange,
    element::DashedPathElement,
    prelude::{
        BLACK, ChartBuilder, Color, DashedLineSeries, IntoDrawingArea, LineSeries, RGBColor,
        SVGBackend, SeriesLabelPosition, TRANSPARENT, WHITE,
    },
};
use std::{fs, ops::Range, path::Path};

const SIZE: (u32, u32) = (900, 520);
/// One colour per engine, distinguishable with colour blindness.
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];
/// A dash and the gap after it.
const DASH: (u32, u32) = (6, 4);
const LABEL_FONT: (&str, u32) = ("sans-serif", 14);

/// Draws the sizes of `alone` and `reader` into an SVG file.
pub(crate) fn draw(figures: &[SpaceFigure], records: u64, path: &Path) -> Result<()> {
    let lines: Vec<_> = figures.iter().filter(|f| f.removal.is_none()).collect();
    let points = lines.iter().flat_map(|line| &line.bytes);
    let (commits, _) = points.clone().max().context("there is nothing to draw")?;
    let (lowest, highest) = points.fold((f64::MAX, 0.0_f64), |(low, high), (_, bytes)| {
        let megabytes = *bytes as f64 / 1e6;
        (low.min(megabytes), high.max(megabytes))
    });
    let mut text = String::new();
    paint(
        &lines,
        records,
        *commits,
        (lowest / 2.0)..(highest * 2.0),
        &mut text,
    )
    .with_context(|| format!("cannot draw {}", path.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A line per figure, of the MB in `heights`; dashed if there is no reader.
fn paint(
    lines: &[&SpaceFigure],
    records: u64,
    commits: u64,
    heights: Range<f64>,
    text: &mut String,
) -> Result<()> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let caption = format!(
        "File of {records} records of 116 bytes in the course of durable commits of one record"
    );
    let mut chart = ChartBuilder::on(&area)
        .caption(caption, ("sans-serif", 17))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0..commits, heights.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("commits")
        .y_desc("MB set aside for the file")
        .x_label_formatter(&|commits| commits.to_string())
        .y_label_formatter(&|megabytes| format!("{megabytes:.0}"))
        .light_line_style(TRANSPARENT)
        .label_style(LABEL_FONT)
        .draw()?;
    let mut engines: Vec<&str> = lines.iter().map(|line| line.engine.as_str()).collect();
    engines.dedup();
    for line in lines {
        let number = engines.iter().position(|engine| *engine == line.engine);
        let style = COLOURS[number.unwrap_or_default() % COLOURS.len()].stroke_width(2);
        let points = line.bytes.iter();
        let points = points.map(|(commits, bytes)| (*commits, *bytes as f64 / 1e6));
        let (drawn, label, dash) = match line.work {
            "alone" => {
                let points = DashedLineSeries::new(points, DASH.0, DASH.1, style);
                (chart.draw_series(points)?, "alone", DASH)
            }
            _ => {
                let points = LineSeries::new(points, style);
                (chart.draw_series(points)?, "with a reader", (22, 1))
            }
        };
        drawn
            .label(format!("{}, {label}", line.engine))
            .legend(move |(x, y)| {
                DashedPathElement::new([(x, y), (x + 22, y)], dash.0, dash.1, style)
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .label_font(LABEL_FONT)
        .draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
