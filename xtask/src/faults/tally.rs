//! Counts of faults by operation, error and mode.

use super::cases::{ERRORS, FaultCase};
use std::collections::BTreeMap;

/// The counts of the faults so far.
#[derive(Default)]
pub(super) struct FaultTally {
    pub(super) faults: u64,
    pub(super) violations: u64,
    /// Cases whose call was not made.
    unmet: u64,
    /// By operation and name of the error.
    sites: BTreeMap<(&'static str, &'static str), u64>,
    modes: BTreeMap<&'static str, u64>,
}

impl FaultTally {
    /// Counts a case whose fault was first met at `site`.
    pub(super) fn count(&mut self, case: &FaultCase, site: Option<&'static str>) {
        let Some(site) = site else {
            self.unmet += 1;
            return;
        };
        self.faults += 1;
        *self.sites.entry((site, case.error_name())).or_default() += 1;
        *self.modes.entry(case.mode.name()).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.faults += other.faults;
        self.violations += other.violations;
        self.unmet += other.unmet;
        for (site, count) in &other.sites {
            *self.sites.entry(*site).or_default() += count;
        }
        for (mode, count) in &other.modes {
            *self.modes.entry(mode).or_default() += count;
        }
    }

    fn of_site(&self, site: &str) -> u64 {
        let counts = self.sites.iter().filter(|((name, _), _)| *name == site);
        counts.map(|(_, count)| count).sum()
    }

    fn site_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.sites.keys().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }

    pub(super) fn print(&self) {
        print!("{:<44} {:>7}", "where the fault was met", "all");
        ERRORS.iter().for_each(|(name, _)| print!(" {name:>7}"));
        println!();
        for site in self.site_names() {
            print!("{site:<44} {:>7}", self.of_site(site));
            for (error, _) in ERRORS {
                print!(" {:>7}", self.sites.get(&(site, error)).unwrap_or(&0));
            }
            println!();
        }
        for (mode, count) in &self.modes {
            println!("{mode:<44} {count:>7}");
        }
        println!("{:<44} {:>7}", "not met", self.unmet);
    }

    /// Counters for the file of results.
    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        let sites = self.site_names().into_iter();
        let sites = sites.map(|site| (site.to_owned(), self.of_site(site)));
        let modes = self
            .modes
            .iter()
            .map(|(mode, count)| ((*mode).to_owned(), *count));
        let unmet = ("not met".to_owned(), self.unmet);
        sites.chain(modes).chain([unmet]).collect()
    }
}
