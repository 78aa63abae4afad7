//! Parses the output of a program, and collects the promises in it.

use super::CommitMark;
use crate::{Context, Result};

/// The actions of a program, and the promises to it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct MemberAccount {
    pub(crate) member: u32,
    /// The newest commit of the order, each time it opened the database.
    pub(crate) found: Vec<u64>,
    /// Its commits, with their numbers in the order, oldest first.
    pub(crate) begun: Vec<(u64, CommitMark)>,
    /// Its own numbers that returned, in any mode.
    pub(crate) seen: Vec<u64>,
    /// The greatest number that was reported to it as durable.
    pub(crate) durable: u64,
    /// The numbers after which it closed the database, or began to.
    pub(crate) closes: Vec<u64>,
}

impl MemberAccount {
    /// Parses the output of `member`. An incomplete last line does not count.
    ///
    /// # Errors
    ///
    /// If the program has found less than it had seen before, or printed something else.
    pub(crate) fn read(member: u32, output: &str) -> Result<Self> {
        let whole = output.rfind('\n').map_or("", |end| &output[..end]);
        let mut account = Self {
            member,
            ..Self::default()
        };
        for line in whole.lines() {
            let taken = account.take(line);
            taken.context(format_args!("unexpected from the program: {line}"))?;
        }
        Ok(account)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, number) = line.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "opening" => {}
            "found" if self.seen.last().is_none_or(|seen| *seen <= number) => {
                self.found.push(number);
            }
            "begin" => {
                let (member, count) = (self.member, self.begun.len() as u64 + 1);
                self.begun.push((number, CommitMark { member, count }));
            }
            "seen" => self.seen.push(number),
            "durable" => self.durable = self.durable.max(number),
            "closing" => self.closes.push(number),
            _ => return None,
        }
        Some(())
    }
}
