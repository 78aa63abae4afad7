use super::*;
use std::{ffi::OsString, iter};

#[test]
fn a_process_gets_its_task_by_its_command_line() {
    let task = HandoverProcess {
        engine: EngineKind::TeakAlways,
        directory: "data bases".into(),
        records: 12,
        turns: CommitOrdering::Strict,
        number: 1,
        processes: 3,
        slice_ms: 45,
    };
    let program = iter::once(OsString::from("teak-bench"));
    let words = program.chain(task.to_command_line());
    let parsed = Arguments::try_parse_from(words).expect("it is understood");
    let Command::HandoverProcess(parsed) = parsed.command else {
        panic!("another command");
    };
    assert_eq!(format!("{parsed:?}"), format!("{task:?}"));
}
