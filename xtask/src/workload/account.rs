//! Parses the output of the victim program, and collects the promises in it.

use crate::Failure;

/// The promises to the program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct VictimAccount {
    /// The commit that it found when it opened the database the first time; `None` if it did not
    /// get that far.
    pub(crate) found: Option<u64>,
    /// The newest commit that it began, or found.
    pub(crate) begun: u64,
    /// The newest commit that returned, in any mode.
    pub(crate) seen: u64,
    /// The newest commit that was reported as durable.
    pub(crate) durable: u64,
    /// The commits at which it closed the database, or began to.
    pub(crate) closes: Vec<u64>,
}

impl VictimAccount {
    /// Parses the output of the program. An incomplete last line does not count.
    pub(crate) fn read(output: &str) -> Result<Self, Failure> {
        let whole = output.rfind('\n').map_or("", |end| &output[..end]);
        let mut account = Self::default();
        for line in whole.lines() {
            account.take(line)?;
        }
        Ok(account)
    }

    fn take(&mut self, line: &str) -> Result<(), Failure> {
        let Some((word, number)) = line.split_once(' ') else {
            bail!("not a line of the program: {line}");
        };
        let number: u64 = number.parse()?;
        match word {
            "found" => {
                if number < self.seen {
                    let seen = self.seen;
                    let text =
                        format!("after reopening, the newest commit is {number}, not {seen}");
                    return Err(Failure(text));
                }
                self.found.get_or_insert(number);
                self.note(number);
                self.durable = number;
            }
            "begin" => self.begun = self.begun.max(number),
            "seen" => self.note(number),
            "durable" => {
                self.note(number);
                self.durable = self.durable.max(number);
            }
            "opening" => {}
            "closing" => self.closes.push(number),
            _ => bail!("not a line of the program: {line}"),
        }
        Ok(())
    }

    fn note(&mut self, number: u64) {
        self.begun = self.begun.max(number);
        self.seen = self.seen.max(number);
    }
}
