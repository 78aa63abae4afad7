//! Programs that time works, one line each, and that run in turns.

use crate::{Context, Result, built};
use std::{collections::BTreeMap, path::PathBuf};

/// The directory of the header that the programs share.
pub(crate) fn headers() -> PathBuf {
    built::workspace().join("xtask/bench")
}

/// Figures of each round, by work and program.
pub(crate) struct WorkFigures<const N: usize> {
    /// The works in the order in which they are printed.
    order: Vec<String>,
    figures: BTreeMap<String, [Vec<f64>; N]>,
}

impl<const N: usize> WorkFigures<N> {
    /// Runs the programs `rounds` times in turns. `run` returns the output of one.
    pub(crate) fn measure(rounds: usize, run: impl Fn(usize) -> Result<String>) -> Result<Self> {
        let (mut order, mut figures) = (Vec::new(), BTreeMap::<_, [Vec<f64>; N]>::new());
        for round in 0..rounds {
            for turn in 0..N {
                let program = (round + turn) % N;
                for (work, figure) in parse(&run(program)?)? {
                    if !order.contains(&work) {
                        order.push(work.clone());
                    }
                    let of_work = figures.entry(work);
                    of_work.or_insert_with(|| [const { Vec::new() }; N])[program].push(figure);
                }
            }
        }
        Ok(Self { order, figures })
    }

    /// The works and the median of each program.
    pub(crate) fn medians(&mut self) -> impl Iterator<Item = (&str, [f64; N])> {
        let Self { order, figures } = self;
        order.iter().filter_map(|work| {
            let of_work = figures.get_mut(work)?;
            Some((work.as_str(), of_work.each_mut().map(|all| median(all))))
        })
    }
}

/// The figure of each work.
fn parse(printed: &str) -> Result<Vec<(String, f64)>> {
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            [work, _, figure] => Some((work.to_owned(), figure.parse().ok()?)),
            _ => None,
        }
    };
    let lines = printed.lines();
    lines
        .map(|text| line(text).context(format_args!("{text:?} is not a number")))
        .collect()
}

pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[middle],
        _ => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkFigures, median, parse};

    #[test]
    fn figures_are_parsed() {
        let parsed = parse("get 10 12.50\nscan 5 1.00\n").unwrap();
        assert_eq!(parsed, [("get".to_owned(), 12.5), ("scan".to_owned(), 1.0)]);
        assert!(parse("get 10").is_err());
    }

    #[test]
    fn medians_are_those_of_all_rounds() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [1.0, 2.0]), 1.5);
        let run = |program| Ok(format!("scan 1 {program}.5\nget 1 7\n"));
        let mut figures = WorkFigures::<2>::measure(3, run).unwrap();
        let medians: Vec<_> = figures.medians().collect();
        assert_eq!(medians, [("scan", [0.5, 1.5]), ("get", [7.0, 7.0])]);
    }
}
