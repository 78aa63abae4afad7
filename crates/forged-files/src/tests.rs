//! Tests of the campaign's files, and that unforged files give no findings.

use crate::{cases::Case, exercise, exercise::FileOutcome, locks, seeds};
use fastrand::Rng;
use std::fs::OpenOptions;
use teak::testing::{self, SimDisk};

#[test]
fn seeds_are_valid_and_deterministic() {
    let (first, second) = (seeds::all().unwrap(), seeds::all().unwrap());
    for (seed, again) in first.iter().zip(&second) {
        assert!(seed.image == again.image, "{}", seed.name);
        for kind in 0..4 {
            let case = Case {
                seed,
                image: seed.image.clone(),
                description: String::new(),
            };
            let (outcome, findings) = exercise::all(&case, &mut Rng::with_seed(kind));
            assert_eq!(findings, Vec::<String>::new(), "{}", seed.name);
            assert_eq!(outcome, FileOutcome::Clean, "{}", seed.name);
        }
    }
}

/// This test has more lock files than a campaign has among this number of files.
#[test]
fn forged_lock_files_end_no_process() {
    let seeds = seeds::all().unwrap();
    for number in 0..300 {
        let mut rng = Rng::with_seed(number);
        let image = &seeds[rng.usize(0..seeds.len())].image;
        locks::work(&mut rng, image).unwrap();
    }
}

/// A record with a wrong checksum is refused for that reason alone, before its other fields are
/// read.
#[test]
fn forged_records_in_lock_files_have_correct_checksums() {
    let image = seeds::all().unwrap().swap_remove(0).image;
    let [mut refused, mut damaged] = [0; 2];
    for number in 0..100 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let disk = SimDisk::from_image(image.clone(), image.len() + (4 << 20));
        let open = || testing::open_apart(&disk, &path, &seeds::options(), false, seeds::BOOT);
        let first = open().unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        locks::forge_record(&mut Rng::with_seed(number), &file.unwrap()).unwrap();
        if let Err(error) = open() {
            let text = format!("{error} {:?}", std::error::Error::source(&error));
            refused += u32::from(text.contains("is invalid"));
            damaged += u32::from(text.contains("damaged"));
        }
        drop(first);
    }
    // A length may be forged, too.
    assert!(refused > 20 && damaged < 10, "{refused}, {damaged}");
}
