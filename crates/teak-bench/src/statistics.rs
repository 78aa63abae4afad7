//! Medians and spreads of repeated measurements.

use serde::Serialize;

/// The smallest and the largest figure of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The samples of the rounds of one workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    values: Vec<f64>,
}

impl Samples {
    /// Adds a round's figure.
    pub(crate) fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Rounds so far.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The middle value, or the mean of the middle two; `None` before the first round.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        if sorted.len() % 2 == 1 {
            return Some(upper);
        }
        let lower = *sorted.get(middle.checked_sub(1)?)?;
        Some(f64::midpoint(lower, upper))
    }

    /// The smallest and the largest value; `None` before the first round.
    pub(crate) fn spread(&self) -> Option<Spread> {
        Some(Spread {
            min: self.values.iter().copied().min_by(f64::total_cmp)?,
            max: self.values.iter().copied().max_by(f64::total_cmp)?,
        })
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
