//! Runs clients of LevelDB on Debian's LevelDB and on the library of `crates/teak-leveldb`. Their
//! sources and packages are downloaded from where they are published, built below the target
//! directory, and not committed. Outcomes of tests are compared one by one, and the output of
//! programs line by line. Expected differences are listed in the repository with a reason.

mod bench;
mod classic_level;
mod debian;
mod expected;
mod levigo;
mod litecoin;
mod own;
mod plyvel;

use crate::{
    Result, built,
    clients::{
        self, ClientEnd, Side,
        crates::{ClientCrate, LinkMethod, LinkedLibrary},
        exceptions::Exceptions,
        outcomes::{TestOutcome, TestOutcomes},
    },
};
use bench::{LeveldbBench, LeveldbClient};
use expected::ExpectedTests;
use std::fs;

pub(crate) use bench::LeveldbClientsArguments;

/// The binding for Rust. Its crate of declarations bundles LevelDB, which is overridden.
const CRATE: ClientCrate = ClientCrate {
    name: "leveldb",
    version: "0.8.6",
    features: &[],
    library: &LinkedLibrary {
        name: "leveldb",
        file: "libleveldb.so.1",
        function: "leveldb_open",
    },
    link: LinkMethod::Override,
};

const CRATE_TESTS: ExpectedTests = ExpectedTests {
    passed: 24,
    may_fail: &[],
};

/// Runs the requested clients.
pub(crate) fn run(arguments: &LeveldbClientsArguments) -> Result {
    let bench = LeveldbBench::new(arguments)?;
    clients::run_all(
        &arguments.client,
        LeveldbClient::All,
        |client| match &bench {
            Some(bench) => bench.run(client),
            None => Ok(ClientEnd::Skipped),
        },
    )
}

impl LeveldbBench<'_> {
    fn run(&self, client: LeveldbClient) -> Result<ClientEnd> {
        match client {
            LeveldbClient::Own => own::run(self),
            LeveldbClient::Plyvel => plyvel::run(self),
            LeveldbClient::Levigo => levigo::run(self),
            LeveldbClient::Crate => self.compare_outcomes("crate", CRATE_TESTS, |side| {
                clients::crates::run(&self.area, &CRATE, side, Some(self.prefix(side)))
            }),
            LeveldbClient::Litecoin => litecoin::run(self),
            LeveldbClient::ClassicLevel => classic_level::run(self),
            LeveldbClient::Librime | LeveldbClient::Ceph | LeveldbClient::Minetest => {
                debian::run(self, client)
            }
            LeveldbClient::All => Ok(ClientEnd::Skipped),
        }
    }

    /// Runs tests on both libraries, and compares their outcomes.
    fn compare_outcomes(
        &self,
        name: &str,
        expected: ExpectedTests,
        outcomes: impl Fn(Side) -> Result<TestOutcomes>,
    ) -> Result<ClientEnd> {
        let original = outcomes(Side::Original)?;
        let teak = outcomes(Side::Teak)?;
        println!("{name}: on LevelDB {original}; on Teak {teak}");
        for failed in original.failed() {
            println!("  fails on LevelDB: {failed}");
        }
        let file = format!("crates/teak-leveldb/tests/clients/{name}.txt");
        let list = fs::read_to_string(built::workspace().join(&file)).unwrap_or_default();
        Exceptions::parse(&list)?.compare(&differences(&original, &teak))?;
        expected.compare(&original)?;
        Ok(ClientEnd::Completed)
    }
}

/// The tests of either side: those with the same outcome passed.
fn differences(original: &TestOutcomes, teak: &TestOutcomes) -> TestOutcomes {
    let mut differences = TestOutcomes::default();
    for name in original.names().chain(teak.names()) {
        let outcome = match original.of(name) == teak.of(name) {
            true => TestOutcome::Passed,
            false => TestOutcome::Failed,
        };
        differences.add(name, outcome);
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::{TestOutcome, TestOutcomes, differences};

    #[test]
    fn tests_that_only_one_side_has_differ() {
        let [mut original, mut teak] = [TestOutcomes::default(), TestOutcomes::default()];
        original.add("both fail", TestOutcome::Failed);
        teak.add("both fail", TestOutcome::Failed);
        original.add("one", TestOutcome::Passed);
        teak.add("other", TestOutcome::Passed);
        let differences = differences(&original, &teak);
        let failed: Vec<_> = differences.failed().collect();
        assert_eq!(failed, ["one", "other"]);
        assert_eq!(differences.of("both fail"), Some(TestOutcome::Passed));
    }
}
