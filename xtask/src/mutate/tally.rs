//! Counts of files by kind and result.

use super::{classes::ReadClass, kinds::MutationKind};
use crate::names::Named;
use clap::ValueEnum;
use std::collections::BTreeMap;

/// The verdict on a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Fair,
    /// Wrong data were read although the checksums show the damage.
    Unnoticed,
}

/// The counts of the files so far.
pub(super) struct MutationTally {
    kinds: Vec<MutationKind>,
    pub(super) files: u64,
    pub(super) violations: u64,
    counts: BTreeMap<(MutationKind, ReadClass), u64>,
}

impl MutationTally {
    pub(super) fn new(kinds: &[MutationKind]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            files: 0,
            violations: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Counts the file of an index, which determines its kind.
    pub(super) fn count(&mut self, index: u64, class: ReadClass) -> Verdict {
        let kind = self.kinds[(index % self.kinds.len() as u64) as usize];
        self.files += 1;
        *self.counts.entry((kind, class)).or_default() += 1;
        match class {
            ReadClass::Wrong if !kind.is_forged() => Verdict::Unnoticed,
            _ => Verdict::Fair,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.violations += other.violations;
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    fn count_of(&self, class: ReadClass, is_counted: impl Fn(MutationKind) -> bool) -> u64 {
        let counts = self.counts.iter();
        let counts = counts.filter(|((kind, other), _)| *other == class && is_counted(*kind));
        counts.map(|(_, count)| count).sum()
    }

    pub(super) fn print(&self) {
        let classes = ReadClass::value_variants();
        print!("{:<30}", "damage");
        classes
            .iter()
            .for_each(|class| print!(" {:>11}", class.name()));
        println!();
        for kind in &self.kinds {
            if !self.counts.keys().any(|(other, _)| other == kind) {
                continue;
            }
            print!("{:<30}", kind.to_string());
            for &class in classes {
                print!(" {:>11}", self.count_of(class, |other| other == *kind));
            }
            println!();
        }
        print!("{:<30}", "all");
        for &class in classes {
            print!(" {:>11}", self.count_of(class, |_| true));
        }
        println!();
    }

    /// Counters for the file of results.
    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        let classes = ReadClass::value_variants().iter();
        let counters = classes.map(|class| (class.name(), self.count_of(*class, |_| true)));
        let unforged = (
            "wrong, not forged".to_owned(),
            self.count_of(ReadClass::Wrong, |kind| !kind.is_forged()),
        );
        counters.chain([unforged]).collect()
    }
}
