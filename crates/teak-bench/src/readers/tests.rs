use super::*;
use crate::engines::EngineKind;
use std::path::PathBuf;

fn runner(kind: EngineKind, slots: SlotOwner) -> ReadersRunner {
    ReadersRunner {
        contender: BenchContender::new(kind, PathBuf::new()),
        slots,
    }
}

fn steps(setting: ReadersSetting, runner: ReadersRunner) -> Vec<ReadStep> {
    let runners = [runner];
    rows(setting, &runners).iter().map(|row| row.step).collect()
}

#[test]
fn teak_has_one_method_to_begin() {
    let setting = ReadersSetting {
        open: 1000,
        threads: 1,
    };
    let slots = SlotOwner::Transactions { max: 2000 };
    let found = steps(setting, runner(EngineKind::Teak, slots));
    let begin = ReadStart::Begin;
    let expected = [
        ReadStep::Transaction(begin),
        ReadStep::TransactionWithLookup(begin),
        ReadStep::Lookup,
    ];
    assert_eq!(found, expected);
}

#[cfg(feature = "lmdb")]
#[test]
fn slots_of_threads_have_lines_where_nothing_else_is_open() {
    let setting = |open| ReadersSetting { open, threads: 2 };
    let tied = || runner(EngineKind::Lmdb, SlotOwner::Threads);
    assert_eq!(steps(setting(0), tied()).len(), 2);
    assert_eq!(steps(setting(1), tied()).len(), 0);
}

#[cfg(feature = "lmdb")]
#[test]
fn slots_of_transactions_are_taken_up_again_too() {
    let setting = ReadersSetting {
        open: 1,
        threads: 2,
    };
    let slots = SlotOwner::Transactions { max: 20 };
    let found = steps(setting, runner(EngineKind::Lmdb, slots));
    assert_eq!(found.len(), 5);
    assert!(found.contains(&ReadStep::TransactionWithLookup(ReadStart::Renew)));
}
