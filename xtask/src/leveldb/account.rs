//! Reports of programs that write, and the batches that may be found after a crash.

use crate::{Context, Result, workload::CrashScope};
use std::collections::BTreeMap;

/// The number of the newest batch of each thread.
type NewestBatches = Vec<u64>;

/// The reports of the programs that wrote to a database, one after another.
///
/// After the end of a process each batch that returned is there. After a power cut each synced one
/// is, and each that returned before a synced one began.
#[derive(Clone, Debug)]
pub(crate) struct WriterAccount {
    scope: CrashScope,
    begun: NewestBatches,
    done: NewestBatches,
    /// The batches that a crash must not take.
    promised: NewestBatches,
    /// For each batch, those that had returned when it began. They precede it in every state.
    before: BTreeMap<(usize, u64), NewestBatches>,
    pub(crate) batches: u64,
    pub(crate) synced: u64,
}

impl WriterAccount {
    pub(crate) fn new(scope: CrashScope, threads: usize) -> Self {
        let none = vec![0; threads];
        Self {
            scope,
            begun: none.clone(),
            done: none.clone(),
            promised: none,
            before: BTreeMap::new(),
            batches: 0,
            synced: 0,
        }
    }

    /// Adds the output of a program. An incomplete last line does not count.
    ///
    /// # Errors
    ///
    /// If the program has found something else than it may.
    pub(crate) fn add(&mut self, output: &str) -> Result {
        let whole = output.rfind('\n').map_or("", |end| &output[..end]);
        for line in whole.lines() {
            self.take(line)
                .context(format_args!("unexpected from the program: {line}"))?;
        }
        Ok(())
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let word = words.next()?;
        let thread: usize = words.next()?.parse().ok()?;
        let number: u64 = words.next()?.parse().ok()?;
        let begun = self.begun.get_mut(thread)?;
        match word {
            "found" => {
                let is_possible = self.promised[thread] <= number && number <= *begun;
                is_possible.then_some(())?;
                (*begun, self.done[thread]) = (number, number);
            }
            "begin" if number == *begun + 1 => {
                *begun = number;
                self.before.insert((thread, number), self.done.clone());
            }
            "done" if number == *begun => {
                self.done[thread] = number;
                self.batches += 1;
                let is_synced = words.next()? == "1";
                self.synced += u64::from(is_synced);
                if is_synced && let Some(before) = self.before.get(&(thread, number)) {
                    raise(&mut self.promised, before);
                }
                if is_synced || self.scope == CrashScope::Process {
                    self.promised[thread] = number;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds what a program printed after its power may have failed: what it began counts, and what
    /// returned is no promise.
    pub(crate) fn add_unpromised(&mut self, output: &str) -> Result {
        let promised = self.promised.clone();
        self.add(output)?;
        self.promised = promised;
        Ok(())
    }

    /// Fails unless these batches of the threads may be the newest ones that are found. They are
    /// promised from then on.
    pub(crate) fn settle(&mut self, found: &[u64]) -> Result {
        for (thread, &number) in found.iter().enumerate() {
            let (promised, begun) = (self.promised[thread], self.begun[thread]);
            ensure!(
                promised <= number,
                "thread {thread}: batch {promised} is lost; the newest is {number}"
            );
            ensure!(
                number <= begun,
                "thread {thread}: batch {number} is there and was not begun; {begun} was"
            );
            let Some(before) = self.before.get(&(thread, number)) else {
                continue;
            };
            for (other, (&before, &found)) in before.iter().zip(found).enumerate() {
                ensure!(
                    before <= found,
                    "batch {number} of thread {thread} is there, but not batch {before} of thread \
                     {other}, which returned before it began; {found} is the newest"
                );
            }
        }
        self.before.clear();
        for numbers in [&mut self.promised, &mut self.done, &mut self.begun] {
            numbers.copy_from_slice(found);
        }
        Ok(())
    }

    /// Whether nothing is promised.
    pub(crate) fn promises_nothing(&self) -> bool {
        self.promised.iter().all(|number| *number == 0)
    }

    /// The number of returned batches that are lost if these are found.
    pub(crate) fn lost(&self, found: &[u64]) -> u64 {
        let each = self.done.iter().zip(found);
        each.map(|(done, found)| done.saturating_sub(*found)).sum()
    }
}

fn raise(numbers: &mut [u64], to: &[u64]) {
    for (number, to) in numbers.iter_mut().zip(to) {
        *number = (*number).max(*to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "found 0 0\nfound 1 0\nbegin 0 1\ndone 0 1 0\nbegin 1 1\nbegin 0 2\n\
                       done 1 1 1\ndone 0 2 0\nbegin 0 3\ndone 0 3";

    fn account(scope: CrashScope) -> WriterAccount {
        let mut account = WriterAccount::new(scope, 2);
        account.add(RUN).unwrap();
        account
    }

    #[test]
    fn a_kill_takes_no_batch_that_returned() {
        let possible = [[2, 1], [3, 1]];
        for found in possible {
            account(CrashScope::Process).settle(&found).unwrap();
        }
        for found in [[1, 1], [2, 0], [4, 1], [2, 2]] {
            account(CrashScope::Process).settle(&found).unwrap_err();
        }
    }

    #[test]
    fn a_power_cut_takes_a_suffix_after_the_last_synced_batch() {
        for found in [[1, 1], [2, 1], [3, 1]] {
            account(CrashScope::Machine).settle(&found).unwrap();
        }
        for found in [[0, 1], [1, 0], [4, 1]] {
            account(CrashScope::Machine).settle(&found).unwrap_err();
        }
        let mut unsynced = WriterAccount::new(CrashScope::Machine, 2);
        let run = "begin 0 1\ndone 0 1 0\nbegin 1 1\ndone 1 1 0\n";
        unsynced.add(run).unwrap();
        let text = unsynced.clone().settle(&[0, 1]).unwrap_err().to_string();
        assert!(text.contains("returned before it began"), "{text}");
        unsynced.settle(&[1, 0]).unwrap();
    }
}
