//! Parses the output of one program.

use super::CommitMark;
use crate::Failure;

/// The actions of a program, and the promises to it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct MemberAccount {
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
    pub(crate) fn read(member: u32, output: &str) -> Result<Self, Failure> {
        let whole = output.rfind('\n').map_or("", |end| &output[..end]);
        let mut account = Self::default();
        for line in whole.lines() {
            account
                .take(member, line)
                .ok_or_else(|| failure!("not a line of the program: {line}"))?;
        }
        Ok(account)
    }

    fn take(&mut self, member: u32, line: &str) -> Option<()> {
        let (word, number) = line.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "found" => self.found.push(number),
            "begin" => {
                let count = self.begun.len() as u64 + 1;
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
