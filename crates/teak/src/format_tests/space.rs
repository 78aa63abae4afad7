//! Page arrays, bitmaps, segments of deaths, the space log.

use super::*;

#[test]
fn page_arrays() {
    let (page, page_bytes) = u32_of(1);
    let (info, info_bytes) = u32_of(2);
    let (checksum, checksum_bytes) = u64_of(3);
    let pointer = Pointer {
        page: PageNumber(page),
        info,
        checksum: Checksum(checksum),
    };
    let entry = assemble(
        "table: array entry",
        &[
            ("page", page_bytes),
            ("info", info_bytes),
            ("checksum", checksum_bytes),
        ],
    );
    let pointers = [pointer; 5].into_iter();
    let node = array::build(PAGE_SIZE, PageNumber(9), TransactionId(1), 2, pointers);
    for (field, start, end) in layout("layout: array node", &variables_of(&node, 0)) {
        match field.split(':').next().unwrap() {
            "header" => assert_plain_header(&node, PageKind::Array, 2, 5),
            "entries" => assert_eq!(node[start..end], entry.repeat(5)),
            "zero" => assert_zero(&node[start..end]),
            other => panic!("a node has no {other}"),
        }
    }
}

/// A header in which only number, kind, level, count and birth are set.
fn assert_plain_header(page: &[u8], kind: PageKind, level: u8, count: u16) {
    let plain = Header {
        level,
        count,
        ..Header::new(PageNumber(9), kind, TransactionId(1))
    };
    assert_eq!(Header::read(page), plain);
}

fn assert_zero(bytes: &[u8]) {
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn bitmaps() {
    let count = PAGE_SIZE / 8 - HEADER_LEN / 8;
    let words: Vec<u64> = (0..count as u64)
        .map(|index| u64_of(index % 99).0)
        .collect();
    let page = bitmap::build(PAGE_SIZE, PageNumber(9), TransactionId(1), &words);
    for (field, start, end) in layout("layout: bitmap", &variables_of(&page, 0)) {
        match field.split([':', ',']).next().unwrap() {
            "header" => assert_plain_header(&page, PageKind::Bitmap, 0, 0),
            "bits" => {
                for bit in 0..64 * count {
                    let is_set = page[start..end][bit / 8] >> (bit % 8) & 1;
                    assert_eq!(u64::from(is_set), words[bit / 64] >> (bit % 64) & 1);
                }
            }
            other => panic!("a bitmap has no {other}"),
        }
    }
}

#[test]
fn segments_of_deaths() {
    let (start, start_bytes) = u32_of(1);
    let (birth, birth_bytes) = u64_of(3);
    let (died, died_bytes) = u64_of(4);
    let death = Death {
        extent: Extent::new(start, 0x0908),
        birth: TransactionId(birth),
        died: TransactionId(died),
    };
    let entry = assemble(
        "table: death",
        &[
            ("start", start_bytes),
            ("length", vec![8, 9, 0, 0]),
            ("birth", birth_bytes),
            ("died", died_bytes),
        ],
    );
    let page = deaths::build(PAGE_SIZE, PageNumber(9), TransactionId(1), &[death; 7]);
    for (field, start, end) in layout("layout: deaths", &variables_of(&page, 0)) {
        match field.split([':', ',']).next().unwrap() {
            "header" => assert_plain_header(&page, PageKind::Deaths, 0, 7),
            "entries" => assert_eq!(page[start..end], entry.repeat(7)),
            "zero" => assert_zero(&page[start..end]),
            other => panic!("a segment has no {other}"),
        }
    }
    assert_eq!(deaths::read(&page), Ok(vec![death; 7]));
}

#[test]
fn the_example_of_a_log() {
    let mut space = Space::new(PAGE_SIZE, FIRST_PAGE);
    space.grow(1000);
    // The dying page is in use.
    assert!(space.allocate(400, PlacementPolicy::Contiguous).is_some());
    let change = SpaceChange {
        transaction: TransactionId(7),
        taken: &[Extent::new(10, 2), Extent::new(20, 1)],
        deaths: &[(Extent::new(300, 1), TransactionId(3))],
        revived: &[],
        log_room: 3000,
        page_limit: u64::MAX,
    };
    let documented: Vec<u8> = block("example: log")
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    assert_eq!(space.commit(change).unwrap().log, documented);
}
