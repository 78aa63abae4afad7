use super::*;

#[test]
fn a_mount_is_parsed() {
    let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
    assert_eq!(
        parse_mount(line),
        Some(("/mnt2", "ext3 on /dev/root".to_owned()))
    );
}

#[test]
fn lines_without_a_mount_are_skipped() {
    assert_eq!(parse_mount("36 35 98:0"), None);
}
