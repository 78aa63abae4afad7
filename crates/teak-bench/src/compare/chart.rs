//! The charts of the report, as SVG. Uncoloured parts use the colour of the surrounding text, so
//! that charts are readable on any background.

use super::figure::CompareFigure;
use crate::report::duration;
use anyhow::Result;
use plotters::{
    coord::Shift,
    coord::{combinators::IntoLogRange, ranged1d::Ranged},
    prelude::{
        Cartesian2d, ChartBuilder, ChartContext, Circle, Color, DrawingArea, IntoDrawingArea,
        IntoFont, LineSeries, PathElement, RGBColor, Rectangle, SVGBackend, ShapeStyle,
        TRANSPARENT, Text, TextStyle,
    },
    style::text_anchor::{HPos, Pos, VPos},
};

/// One colour per engine, in the order in which they were named; distinguishable with colour
/// blindness as far as possible.
pub(super) const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 140, 120),
    RGBColor(213, 94, 0),
    RGBColor(240, 160, 60),
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(190, 80, 150),
    RGBColor(150, 110, 70),
    RGBColor(120, 120, 120),
    RGBColor(130, 90, 200),
    RGBColor(110, 160, 40),
    RGBColor(200, 60, 70),
    RGBColor(160, 160, 40),
];
/// A placeholder for the colour of the text, which plotters does not support.
const TEXT: RGBColor = RGBColor(1, 2, 3);
const TEXT_IN_SVG: &str = "#010203";
const WIDTH: u32 = 480;
const BAR_HEIGHT: i32 = 22;
const BAR_GAP: i32 = 4;
const NAMES_WIDTH: i32 = 104;
const FIGURES_WIDTH: i32 = 130;
const CURVE_HEIGHT: u32 = 260;
const FONT: &str = "sans-serif";
const SMALL: u32 = 13;

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;

/// The operations per second of each engine: the longer the bar, the better.
pub(super) fn bars(figures: &[(&CompareFigure, RGBColor)]) -> Result<String> {
    let height = figures.len() as i32 * (BAR_HEIGHT + BAR_GAP) + BAR_GAP;
    let speed = |ns: f64| 1e9 / ns.max(f64::MIN_POSITIVE);
    let speeds = figures.iter().map(|(figure, _)| speed(figure.spread.min));
    let fastest = speeds.fold(0.0, f64::max);
    let full = f64::from(WIDTH as i32 - NAMES_WIDTH - FIGURES_WIDTH);
    let position = |ns: f64| NAMES_WIDTH + (speed(ns) / fastest * full) as i32;
    picture(WIDTH, height as u32, |area| {
        for (index, (figure, colour)) in figures.iter().enumerate() {
            let top = BAR_GAP + index as i32 * (BAR_HEIGHT + BAR_GAP);
            let (bottom, middle) = (top + BAR_HEIGHT, top + BAR_HEIGHT / 2);
            let name = (NAMES_WIDTH - 8, middle);
            area.draw(&Text::new(
                figure.engine.to_string(),
                name,
                text(HPos::Right),
            ))?;
            let end = position(figure.ns_per_op).max(NAMES_WIDTH + 1);
            let bar = [(NAMES_WIDTH, top), (end, bottom)];
            area.draw(&Rectangle::new(bar, colour.filled()))?;
            let (slowest, fastest) = (position(figure.spread.max), position(figure.spread.min));
            let spread = vec![(slowest, middle), (fastest, middle)];
            area.draw(&PathElement::new(spread, TEXT.stroke_width(1)))?;
            let label = format!(
                "{}/s, {}",
                count(speed(figure.ns_per_op)),
                duration(figure.ns_per_op)
            );
            let after = (end.max(fastest) + 6, middle);
            area.draw(&Text::new(label, after, text(HPos::Left)))?;
        }
        Ok(())
    })
}

/// The distribution of the times of operations.
pub(super) fn latency_curves(figures: &[(&CompareFigure, RGBColor)]) -> Result<String> {
    let points_of = |figure: &CompareFigure| -> Vec<(f64, f64)> {
        let most = (figure.timed.max(10) as f64).log10().min(7.0);
        let points = figure
            .latencies
            .iter()
            .filter(|(percent, _)| *percent >= 50.0);
        let position = |percent: f64| (-(1.0 - percent / 100.0).log10()).min(most);
        points
            .map(|(percent, ns)| (position(*percent), (*ns).max(1) as f64))
            .collect()
    };
    let curves: Vec<_> = figures
        .iter()
        .map(|(figure, colour)| (points_of(figure), *colour))
        .collect();
    let all = curves.iter().flat_map(|(points, _)| points);
    let (mut right, mut low, mut high) = (1.0_f64, f64::MAX, 1.0_f64);
    for (position, ns) in all {
        (right, low, high) = (right.max(*position), low.min(*ns), high.max(*ns));
    }
    picture(WIDTH, CURVE_HEIGHT, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(34)
            .y_label_area_size(62)
            .build_cartesian_2d(0.3..right, (low / 1.5..high * 1.5).log_scale())?;
        chart
            .configure_mesh()
            .x_labels(right as usize + 1)
            .y_labels(4)
            .x_label_formatter(&|position| percent(*position))
            .y_label_formatter(&|ns| duration(*ns))
            .x_desc("of the operations took at most")
            .axis_style(TEXT.mix(0.5))
            .bold_line_style(TEXT.mix(0.12))
            .light_line_style(TRANSPARENT)
            .label_style(text(HPos::Center))
            .draw()?;
        draw_lines(&mut chart, curves.clone())
    })
}

/// The lengths of the files.
pub(super) fn sizes(figures: &[(&CompareFigure, RGBColor)]) -> Result<String> {
    let points_of = |figure: &CompareFigure| -> Vec<(f64, f64)> {
        let points = figure.sizes.iter();
        points
            .map(|(count, bytes)| (*count as f64, *bytes as f64 / 1e6))
            .collect()
    };
    let lines: Vec<_> = figures
        .iter()
        .map(|(figure, colour)| (points_of(figure), *colour))
        .collect();
    let all = || lines.iter().flat_map(|(points, _)| points);
    let right = all().map(|point| point.0).fold(1.0, f64::max);
    let high = all().map(|point| point.1).fold(1.0, f64::max);
    picture(WIDTH, CURVE_HEIGHT, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(34)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..right, 0.0..high * 1.1)?;
        chart
            .configure_mesh()
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&|operations| count(*operations))
            .y_label_formatter(&|megabytes| format!("{} MB", count(*megabytes)))
            .x_desc("operations")
            .axis_style(TEXT.mix(0.5))
            .bold_line_style(TEXT.mix(0.12))
            .light_line_style(TRANSPARENT)
            .label_style(text(HPos::Center))
            .draw()?;
        draw_lines(&mut chart, lines.clone())
    })
}

/// A line for each engine, with a dot at its end.
fn draw_lines<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    lines: Vec<(Vec<(f64, f64)>, RGBColor)>,
) -> Result<()>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    for (points, colour) in lines {
        let style = ShapeStyle::from(&colour).stroke_width(2);
        let end = points.last().copied();
        chart.draw_series(LineSeries::new(points, style))?;
        let end = end.map(|end| Circle::new(end, 3, colour.filled()));
        chart.draw_series(end)?;
    }
    Ok(())
}

/// The picture that `paint` draws.
fn picture(width: u32, height: u32, paint: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        paint(&area)?;
        area.present()?;
    }
    Ok(svg.replace(TEXT_IN_SVG, "currentColor"))
}

fn text(to: HPos) -> TextStyle<'static> {
    let style = (FONT, SMALL).into_font().color(&TEXT);
    style.pos(Pos::new(to, VPos::Center))
}

/// The percentage at a position of the axis.
fn percent(position: f64) -> String {
    let percent = 100.0 - 100.0 / 10.0_f64.powf(position);
    let digits = (position - 1.5).max(0.0).round() as usize;
    format!("{percent:.digits$} %")
}

/// A number in a readable form.
pub(super) fn count(number: f64) -> String {
    match number {
        number if number >= 1e7 => format!("{:.0} M", number / 1e6),
        number if number >= 1e6 => format!("{:.1} M", number / 1e6),
        number if number >= 1e4 => format!("{:.0} k", number / 1e3),
        number if number >= 1e3 => format!("{:.1} k", number / 1e3),
        number if number >= 10.0 => format!("{number:.0}"),
        number => format!("{number:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, percent};

    #[test]
    fn numbers_and_percentages_are_short() {
        assert_eq!(count(12_345_678.0), "12 M");
        assert_eq!(count(1234.0), "1.2 k");
        assert_eq!(percent(1.0), "90 %");
        assert_eq!(percent(3.0), "99.90 %");
    }
}
