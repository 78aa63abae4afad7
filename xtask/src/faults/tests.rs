//! Tests of the verdicts of the campaign.

use super::{
    cases::FaultCase, episode, model, plan_script, run_case, script::FaultScript, soundness,
    tally::FaultTally,
};
use crate::campaign::Encoding;
use fastrand::Rng;
use teak::{
    Cipher,
    testing::{self, Call},
};

#[test]
fn a_short_campaign_finds_nothing() {
    play(Encoding::Off);
}

#[test]
fn a_short_campaign_with_encryption_finds_nothing() {
    play(Encoding::Encrypted(Cipher::Aes256Gcm));
}

fn play(encoding: Encoding) {
    let plan = plan_script(3, 0, encoding).unwrap();
    let mut tally = FaultTally::default();
    for (index, case) in plan.cases.iter().step_by(5) {
        run_case(3, &plan, *index, case, &mut tally);
    }
    assert!(tally.faults > 10);
    assert_eq!(tally.violations, 0);
}

#[test]
fn each_call_fails_in_each_mode() {
    let calls = [Call::SetLen, Call::Write, Call::Flush];
    let cases = FaultCase::all(&calls, &mut Rng::with_seed(1));
    assert_eq!(cases.len(), 5 + 7 + 5);
    let of_the_write = cases.iter().filter(|case| case.call == 1);
    assert_eq!(
        of_the_write.filter(|case| case.fault().written > 0).count(),
        2
    );
}

#[test]
fn another_state_is_a_violation() {
    let script = FaultScript::draw(&mut Rng::with_seed(1), Encoding::Off);
    let disk = script.new_disk();
    let database = testing::open(&disk, &script.options(), true, episode::BOOT).unwrap();
    let empty = model::FaultTables::new();
    soundness::expect_sound(&database, &[&empty]).unwrap();
    let other = model::FaultTables::from([(0, Default::default())]);
    assert!(soundness::expect_sound(&database, &[&other]).is_err());
    assert!(soundness::expect_sound(&database, &[&other, &empty]).is_ok());
}
