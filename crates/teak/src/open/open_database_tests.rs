//! Failures while an empty file is formatted in place.

use crate::open::open_file::{FORMATTED_LENS, format_empty};
use crate::{
    Create, Database, Error, Options, Result,
    instance::policies::Settings,
    io::sim::{Fault, SimDisk},
    transaction_tests::test_kit::{BOOT, CAPACITY, settings_with},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn begin(disk: &SimDisk, settings: &Settings) -> Result<()> {
    format_empty(disk, Path::new("simulated"), settings, BOOT)
}

/// Opens a database in a file with these bytes, and writes to it.
fn use_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
    let database = Database::open(path)?;
    database.create_snapshot("monday")?;
    database.close()
}

fn temporary_path() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.teak");
    (directory, path)
}

#[test]
fn a_file_is_empty_again_after_failed_formatting() {
    let settings = settings_with(|_| {});
    let whole = SimDisk::new(CAPACITY);
    begin(&whole, &settings).unwrap();
    for call in 0..whole.calls() {
        for written in [0, 100] {
            let disk = SimDisk::new(CAPACITY);
            let fault = Fault {
                written,
                ..Fault::DISK_FULL
            };
            disk.fail_on(call, fault);
            let failed = begin(&disk, &settings);
            assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
            assert!(disk.process_crash().is_empty(), "call {call}");
            begin(&disk, &settings).unwrap();
        }
    }
}

/// The file had zeros then, and was refused from then on.
#[test]
fn a_file_can_be_opened_after_a_crash_during_formatting() {
    let (_directory, path) = temporary_path();
    for page_size in [4096, 65536] {
        let disk = SimDisk::new(CAPACITY);
        begin(
            &disk,
            &settings_with(|settings| settings.page_size = Some(page_size)),
        )
        .unwrap();
        let mut points = disk.crash_points(512);
        let mut image_count = 0;
        loop {
            let mut images = vec![points.process_crash()];
            for length in 0..points.length_count() {
                let blocks = points.open_blocks(length);
                assert!(blocks.len() <= 1, "the record is one sector");
                for state in 0..blocks.first().map_or(1, |block| block.state_count) {
                    let mut image = Vec::new();
                    points.build(length, &blocks, &vec![state; blocks.len()], &mut image);
                    images.push(image);
                }
            }
            for image in images {
                use_file(&path, &image).unwrap();
                image_count += 1;
            }
            if points.advance().is_none() {
                break;
            }
        }
        assert!(image_count > 8);
    }
}

#[test]
fn zeros_are_formatted_only_if_formatting_can_have_left_them() {
    let (_directory, path) = temporary_path();
    let blank = vec![0; FORMATTED_LENS[0] as usize];
    let with = |at: usize| {
        let mut bytes = blank.clone();
        bytes[at] = 1;
        bytes
    };
    let mut longest = vec![0; FORMATTED_LENS[4] as usize];
    longest.push(0);
    let others = [
        with(0),
        with(700),
        with(blank.len() - 1),
        blank[1..].to_vec(),
        [&blank[..], &[0]].concat(),
        vec![0; 512],
        vec![0; 4096],
        longest,
    ];
    for bytes in others {
        let opened = use_file(&path, &bytes);
        assert!(
            matches!(opened, Err(Error::NotADatabase { .. })),
            "{opened:?}"
        );
        assert!(fs::read(&path).unwrap() == bytes);
    }
    fs::write(&path, &blank).unwrap();
    let refused = [
        Options::new().read_only(true),
        Options::new().create(Create::Never),
        Options::new().create(Create::New),
    ];
    for options in refused {
        let opened = options.open(&path);
        assert!(
            matches!(
                opened,
                Err(Error::NotADatabase { .. } | Error::AlreadyExists(_))
            ),
            "{opened:?}"
        );
        assert!(fs::read(&path).unwrap() == blank);
    }
}
