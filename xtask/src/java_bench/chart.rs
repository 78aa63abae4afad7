//! The chart of the figures, as SVG: a group of bars for each work, on a logarithmic scale.

use super::figures::JavaFigures;
use std::fmt::Write;

/// Colours of engines, in their order; distinguishable with colour blindness as far as possible.
const COLOURS: [&str; 9] = [
    "#008c78", "#40b8a4", "#9adcd0", "#d55e00", "#f0a03c", "#0072b2", "#56b4e9", "#be5096",
    "#787878",
];
const HEIGHT: f64 = 300.0;
const TOP: f64 = 52.0;
const LEFT: f64 = 60.0;
const BAR: f64 = 11.0;
const GAP: f64 = 20.0;
const LEGEND: f64 = 116.0;

/// Nanoseconds per record: the shorter the bar, the better.
pub(super) fn bars(figures: &JavaFigures, engines: &[&str]) -> String {
    let works: Vec<_> = figures.works().collect();
    let group = engines.len() as f64 * BAR + GAP;
    let right = (LEFT + works.len() as f64 * group).max(LEFT + engines.len() as f64 * LEGEND);
    let all = || {
        let bars = works
            .iter()
            .flat_map(|work| engines.iter().map(move |engine| (work, engine)));
        bars.filter_map(|(work, engine)| figures.median(work, engine))
    };
    let low = all().fold(f64::MAX, f64::min).log10().floor();
    let high = all().fold(1.0, f64::max).log10().ceil();
    let bottom = TOP + HEIGHT;
    let position = |ns: f64| bottom - (ns.log10() - low) / (high - low).max(1.0) * HEIGHT;
    let mut svg = format!(
        "<svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" \
         font-size=\"12\" xmlns=\"http://www.w3.org/2000/svg\">\n\
         <rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"16\">Nanoseconds per record, on a logarithmic scale: shorter is \
         better</text>\n",
        right + GAP,
        bottom + 28.0
    );
    for power in low as i32..=high as i32 {
        let (ns, y) = (10_f64.powi(power), position(10_f64.powi(power)));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ccc\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{ns}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (index, (engine, colour)) in engines.iter().zip(COLOURS).enumerate() {
        let x = LEFT + index as f64 * LEGEND;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"26\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"35\">{engine}</text>",
            x + 14.0
        );
    }
    for (index, work) in works.iter().enumerate() {
        let begin = LEFT + GAP / 2.0 + index as f64 * group;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{work}</text>",
            begin + (group - GAP) / 2.0,
            bottom + 18.0
        );
        for (index, (engine, colour)) in engines.iter().zip(COLOURS).enumerate() {
            let Some(figure) = figures.median(work, engine) else {
                continue;
            };
            let (x, y) = (begin + index as f64 * BAR, position(figure));
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                BAR - 1.0,
                bottom - y
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
