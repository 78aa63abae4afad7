use super::*;

#[test]
fn parses_a_uuid() {
    let id = parse_uuid("00112233-4455-6677-8899-aabbccddeeff");
    let expected = [
        0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    ];
    assert_eq!(id, Some(expected));
}

#[test]
fn refuses_other_text() {
    for text in [
        "",
        "00112233",
        "g0112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeeff0",
    ] {
        assert_eq!(parse_uuid(text), None, "{text}");
    }
}

#[test]
fn the_boot_id_is_constant() {
    assert_eq!(boot_id(), boot_id());
}

#[test]
fn random_ids_differ() {
    assert_ne!(random_id().unwrap(), random_id().unwrap());
}
