use super::*;

#[test]
fn an_answer_is_a_line_that_can_be_read() {
    let share = ProcessShare {
        commits: 7,
        seconds: 0.5,
        wait_max_ns: 1000,
    };
    let failed = HandoverAnswer::Failed("in use\nby another".to_owned());
    for answer in [HandoverAnswer::Ready, HandoverAnswer::Done(share), failed] {
        let line = serde_json::to_string(&answer).expect("it is written");
        assert!(!line.contains('\n'), "{line}");
        let read: HandoverAnswer = serde_json::from_str(&line).expect("it is read");
        assert_eq!(read, answer);
    }
}

#[test]
fn a_past_start_has_no_remaining_time() {
    assert_eq!(StartTime { micros: 1 }.remaining(), Duration::ZERO);
    let hour = Duration::from_secs(3600);
    let remaining = StartTime::in_time(hour).remaining();
    assert!(remaining <= hour && remaining > hour / 2, "{remaining:?}");
}
