//! Counts of the findings for one engine, and their table.

use crate::{
    peer::{Engine, Expectation},
    verdict::{Verdict, Violation},
};

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) images: u64,
    right: u64,
    before_first: u64,
    signals: u64,
    not_opened: u64,
    unusable: u64,
    wrong: u64,
    lost: u64,
}

impl Tally {
    pub(crate) fn note(&mut self, verdict: &Verdict) {
        self.images += 1;
        *match verdict {
            Verdict::Right => &mut self.right,
            Verdict::BeforeFirst => &mut self.before_first,
            Verdict::Violation(violation) => match violation {
                Violation::Signal(_) => &mut self.signals,
                Violation::NotOpened(_) => &mut self.not_opened,
                Violation::Unusable(_) | Violation::Hangs => &mut self.unusable,
                Violation::WrongData => &mut self.wrong,
                Violation::Lost { .. } => &mut self.lost,
            },
        } += 1;
    }

    pub(crate) fn add(&mut self, mut other: Self) {
        for (sum, count) in self.fields().into_iter().zip(other.fields()) {
            *sum += *count;
        }
    }

    fn fields(&mut self) -> [&mut u64; 8] {
        [
            &mut self.images,
            &mut self.right,
            &mut self.before_first,
            &mut self.signals,
            &mut self.not_opened,
            &mut self.unusable,
            &mut self.wrong,
            &mut self.lost,
        ]
    }

    pub(crate) fn violations(&self) -> u64 {
        self.images - self.right - self.before_first
    }

    /// A complaint if the counts differ from the known behaviour of the engine.
    pub(crate) fn complaint(&self, engine: Engine) -> Option<String> {
        let name = engine.name();
        match (engine.expectation(), self.violations()) {
            (Expectation::None, 1..) => Some(format!("{name} failed, but is expected to pass")),
            (Expectation::Some, 0) => Some(format!("{name} passed, but is known to lose data")),
            _ => None,
        }
    }

    /// The counts of violations, with their names.
    pub(crate) fn kinds(&self) -> [(&'static str, u64); 5] {
        [
            ("signal", self.signals),
            ("not_opened", self.not_opened),
            ("unusable", self.unusable),
            ("wrong", self.wrong),
            ("lost", self.lost),
        ]
    }

    /// A line for another program. Each value after `=` is a number, except that of `engine`.
    pub(crate) fn to_line(self, engine: Engine) -> String {
        let mut line = format!(
            "engine={} images={} right={} before_first={} violations={} unexpected={}",
            engine.name(),
            self.images,
            self.right,
            self.before_first,
            self.violations(),
            u8::from(self.complaint(engine).is_some())
        );
        for (name, count) in self.kinds() {
            line += &format!(" {name}={count}");
        }
        line
    }
}

pub(crate) fn print(rows: &[(Engine, Tally)]) {
    println!(
        "{:<16} {:>8} {:>8} {:>9} {:>10} {:>8} {:>10} {:>9} {:>7} {:>7}",
        "engine",
        "images",
        "right",
        "no commit",
        "violations",
        "signal",
        "not opened",
        "unusable",
        "wrong",
        "lost"
    );
    for (engine, tally) in rows {
        println!(
            "{:<16} {:>8} {:>8} {:>9} {:>10} {:>8} {:>10} {:>9} {:>7} {:>7}",
            engine.name(),
            tally.images,
            tally.right,
            tally.before_first,
            tally.violations(),
            tally.signals,
            tally.not_opened,
            tally.unusable,
            tally.wrong,
            tally.lost
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_counts_are_a_complaint() {
        let mut bad = Tally::default();
        bad.note(&Verdict::Violation(Violation::Hangs));
        let mut good = Tally::default();
        good.note(&Verdict::Right);
        let expected = [
            (Engine::Lmdb, true, false),
            (Engine::LmdbNosync, false, true),
            (Engine::Mdbx, false, false),
            (Engine::MdbxSafeNosync, false, true),
        ];
        for (engine, bad_complains, good_complains) in expected {
            let found = (bad.complaint(engine), good.complaint(engine));
            let found = (found.0.is_some(), found.1.is_some());
            assert_eq!(found, (bad_complains, good_complains), "{engine:?}");
        }
    }
}
