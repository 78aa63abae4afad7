//! Tests of the campaign's files and verdicts.

use super::{cases::MutationCases, classes::ReadClass, kinds::MutationKind, seeds};
use teak::{Options, testing};

#[test]
fn seeds_are_valid_and_deterministic() {
    let (first, second) = (seeds::all().unwrap(), seeds::all().unwrap());
    for (seed, again) in first.iter().zip(&second) {
        assert!(seed.image == again.image, "{}", seed.name);
        assert!(testing::exercise(&seed.image), "{}", seed.name);
        for is_same_boot in [false, true] {
            assert_eq!(
                ReadClass::of(&seed.image, seed, is_same_boot),
                ReadClass::Right,
                "{}",
                seed.name
            );
        }
    }
}

#[test]
fn every_kind_of_damage_changes_files() {
    let cases = MutationCases::new(1).unwrap();
    let mut changed = std::collections::BTreeSet::new();
    for index in 0..1000 {
        let case = cases.case(index);
        if case.image.is_some_and(|image| image != case.seed.image) {
            changed.insert(case.kind);
        }
    }
    assert_eq!(changed.len(), MutationKind::all().len());
}

#[test]
fn wrong_data_are_classified_as_wrong() {
    let seeds = seeds::all().unwrap();
    let seed = seeds.iter().find(|seed| seed.name == "orders").unwrap();
    let mut image = seed.image.clone();
    let offsets: Vec<usize> = (0..image.len() - 6000)
        .filter(|at| image[*at..].starts_with(&[1; 5000]))
        .collect();
    image[offsets[0]] = 2;
    assert_eq!(ReadClass::of(&image, seed, false), ReadClass::Error);
    teak::testing::repair(&mut image);
    assert_eq!(ReadClass::of(&image, seed, false), ReadClass::Wrong);
    image.truncate(8192);
    assert_eq!(ReadClass::of(&image, seed, false), ReadClass::Error);
}

#[test]
fn encrypted_seeds_are_valid_with_their_key_only() {
    for encrypted in seeds::encrypted().unwrap() {
        let seed = &encrypted.seed;
        let options = encrypted.encoding.apply(Options::new());
        assert!(seed.image != encrypted.twin, "{}", seed.name);
        assert!(
            testing::exercise_with(&seed.image, &options),
            "{}",
            seed.name
        );
        for is_same_boot in [false, true] {
            let class = ReadClass::with(&seed.image, seed, is_same_boot, options.clone());
            assert_eq!(class, ReadClass::Right, "{}", seed.name);
            let class = ReadClass::of(&seed.image, seed, is_same_boot);
            assert_eq!(class, ReadClass::Error, "{}", seed.name);
        }
    }
}
