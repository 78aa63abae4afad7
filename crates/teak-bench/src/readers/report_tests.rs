use super::*;
use crate::{engines::EngineKind, statistics::Spread};

fn figure(step: &'static str, open: u32, ns_per_op: f64) -> ReadersFigure {
    ReadersFigure {
        work: "readers",
        step,
        engine: EngineKind::Teak,
        start: None,
        threads: 2,
        open,
        records: 100,
        operations: 1000,
        ns_per_op,
        spread: Spread {
            min: ns_per_op - 1.0,
            max: ns_per_op + 1.0,
        },
        repeats: 3,
    }
}

#[test]
fn a_line_has_a_time_with_its_spread() {
    let text = table(&[figure("lookup", 7, 50.0)]).to_string();
    assert!(text.contains("50.0 (49.0..51.0)"), "{text}");
    assert!(!text.contains("the speed"), "{text}");
}

#[cfg(feature = "lmdb")]
#[test]
fn engines_are_compared_with_the_first_of_the_same_setting() {
    let other = |step, open, ns_per_op| ReadersFigure {
        engine: EngineKind::Lmdb,
        start: Some("renew"),
        ..figure(step, open, ns_per_op)
    };
    let figures = [
        figure("begin_end", 0, 10.0),
        other("begin_end", 0, 20.0),
        figure("begin_end", 1000, 10.0),
        other("begin_end", 1000, 30.0),
        figure("lookup", 1000, 10.0),
        other("lookup", 1000, 40.0),
    ];
    let text = table(&figures).to_string();
    for ratio in ["2.00 x", "3.00 x", "4.00 x", "lmdb renew"] {
        assert!(text.contains(ratio), "{text}");
    }
}
