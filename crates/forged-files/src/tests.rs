//! The campaign itself: its files, and that all is well with those that nobody forged.

use crate::{cases::Case, exercise, exercise::Outcome, seeds};
use fastrand::Rng;

#[test]
fn seeds_are_sound_and_always_the_same() {
    let (first, second) = (seeds::all().unwrap(), seeds::all().unwrap());
    for (seed, again) in first.iter().zip(&second) {
        assert!(seed.image == again.image, "{}", seed.name);
        for kind in 0..4 {
            let case = Case {
                seed,
                image: seed.image.clone(),
                what: String::new(),
            };
            let (outcome, findings) = exercise::all(&case, &mut Rng::with_seed(kind));
            assert_eq!(findings, Vec::<String>::new(), "{}", seed.name);
            assert_eq!(outcome, Outcome::Clean, "{}", seed.name);
        }
    }
}
