use super::*;
use std::io::Read;

#[test]
fn only_long_ranges_are_skipped() {
    let mut uses = vec![CopyUse::Page; 96];
    uses[6..8].fill(CopyUse::Unused);
    uses[16..46].fill(CopyUse::Unused);
    uses[86..96].fill(CopyUse::Unused);
    let copy_ranges = copy_ranges(&uses, 4, 4096);
    assert_eq!(
        copy_ranges,
        [(4..20, false), (20..50, true), (50..100, false)]
    );
}

#[test]
fn skipped_ranges_are_zero_in_every_target() {
    let mut file = tempfile::tempfile().unwrap();
    let mut stream = Vec::new();
    let mut to_file = NewFile {
        file: &mut file,
        hole_len: 4096,
    };
    let mut to_stream = Stream(&mut stream);
    let mut pages = vec![0; 20_000];
    (pages[4_095], pages[8_192]) = (1, 2);
    for target in [&mut to_file as &mut dyn BackupTarget, &mut to_stream] {
        target.write(&pages).unwrap();
        target.write(b"ab").unwrap();
        target.skip(100_000).unwrap();
        target.write(b"c").unwrap();
        target.skip(7).unwrap();
    }
    let mut found = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut found).unwrap();
    assert_eq!(found.len(), 120_010);
    assert_eq!(found, stream);
}
