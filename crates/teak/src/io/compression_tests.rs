use super::*;

const ALL: [Compression; 2] = [Compression::Lz4, Compression::Zstd(3)];

#[test]
fn contents_are_the_same_after_compression() {
    let plain = b"a page, ".repeat(500);
    for compression in ALL {
        let mut form = vec![0; 4096];
        // Nothing is left of a larger attempt.
        form[HEADER_LEN..HEADER_LEN + 4000].fill(1);
        let len = compress(compression, &plain, 4000, &mut form).unwrap();
        assert!(len < 500, "{compression}: {len}");
        assert!(form[HEADER_LEN + len..].iter().all(|byte| *byte == 0));
        assert_eq!(content_len(&form), Some(len));
        let mut found = vec![0; plain.len()];
        decompress(&form, len, &mut found).unwrap();
        assert!(found == plain);
        // Neither a shorter nor a longer thing has this form.
        for wrong in [plain.len() - 1, plain.len() + 1] {
            assert!(decompress(&form, len, &mut vec![0; wrong]).is_err());
        }
    }
}

#[test]
fn contents_without_room_are_not_compressed() {
    let mut random = fastrand::Rng::with_seed(1);
    let plain: Vec<u8> = (0..8192).map(|_| random.u8(..)).collect();
    for compression in ALL {
        assert_eq!(
            compress(compression, &plain, 8000, &mut vec![0; 9000]),
            None
        );
        assert_eq!(compress(compression, &plain, 8000, &mut [0; 20]), None);
    }
    let mut form = vec![0; 9000];
    store(&plain, &mut form);
    let mut found = vec![0; plain.len()];
    decompress(&form, content_len(&form).unwrap(), &mut found).unwrap();
    assert!(found == plain);
}

/// Any bytes are an error or something of the right length.
#[test]
fn hostile_forms_are_errors() {
    let plain = b"0123456789".repeat(400);
    let mut random = fastrand::Rng::with_seed(2);
    for compression in ALL {
        let mut form = vec![0; 4096];
        let len = compress(compression, &plain, 4000, &mut form).unwrap();
        for _ in 0..20_000 {
            let mut damaged = form.clone();
            for _ in 0..random.usize(1..4) {
                damaged[random.usize(7..HEADER_LEN + len)] = random.u8(..);
            }
            let len = content_len(&damaged).unwrap();
            let mut found = vec![0; plain.len()];
            let _ = decompress(&damaged, len, &mut found);
            let _ = form_len(len, 40, 4096);
        }
    }
    assert_eq!(form_len(usize::MAX - 20, 40, usize::MAX), None);
}

/// Files of every later version have these bytes.
#[test]
fn the_form_has_the_documented_bytes() {
    let mut form = vec![0; 64];
    store(b"value", &mut form);
    assert_eq!(form[..21], *b"TeakCmp\x00\x05\0\0\0\0\0\0\0value");
    let plain = [7; 100];
    let lz4 = b"TeakCmp\x01\x0b\0\0\0\0\0\0\0\x1f\x07\x01\0\x4b\x50\x07\x07\x07\x07\x07";
    let zstd = b"TeakCmp\x02";
    let mut found = [0; 100];
    decompress(lz4, 11, &mut found).unwrap();
    assert_eq!(found, plain);
    compress(Compression::Zstd(1), &plain, 48, &mut form).unwrap();
    assert_eq!(form[..8], *zstd);
    assert_eq!(
        [1, 2, 20].map(Compression::from_byte),
        [
            Some(Compression::Lz4),
            Some(Compression::Zstd(1)),
            Some(Compression::Zstd(19)),
        ]
    );
    assert_eq!([0, 21, 255].map(Compression::from_byte), [None; 3]);
}

#[test]
fn compressions_have_names() {
    for compression in [
        Compression::Lz4,
        Compression::Zstd(1),
        Compression::Zstd(19),
    ] {
        assert_eq!(compression.to_string().parse(), Ok(compression));
    }
    for wrong in ["", "snappy", "zstd:0", "zstd:20", "zstd:", "lz4:1"] {
        assert!(wrong.parse::<Compression>().is_err(), "{wrong}");
    }
}
