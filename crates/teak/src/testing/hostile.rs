//! All that can be done with a database, done with one that may be anything.

mod changes;
mod reads;

use super::{SimDisk, open};
use crate::{
    Database, Durability, Options, PageNumber, Result, TableInfo,
    commit::record::{Record, SLOT_COUNT, find_page_size},
};

/// Records that are read of a table: a tree that is no tree may have any number.
const RECORDS_MAX: usize = 2000;
const PAGES_MAX: u32 = 32;
/// One in so many keys is looked for in all ways that there are.
const KEY_STEP: usize = 9;

/// Opens, checks, reads and changes a database that may be anything. Errors are what is expected;
/// says whether it could be opened, and was clean.
pub fn exercise(image: &[u8]) -> bool {
    let ways = [
        (boot_of(image), Durability::Lazy),
        ([0xfe; 16], Durability::Durable),
    ];
    let is_clean = ways.map(|(boot, durability)| {
        let options = Options::new().durability(durability);
        let disk = SimDisk::from_image(image.to_vec(), image.len() + (1 << 20));
        let opened = open(&disk, &options.clone().read_only(true), false, boot);
        if let Ok(database) = opened {
            let _ = look(&database);
            let _ = reads::read_all(&database);
            let _ = changes::refuse(&database);
            let _ = database.close();
        }
        let is_clean = open(&disk, &options, false, boot).is_ok_and(|database| {
            let report = database.check(&mut |_| {});
            let _ = changes::change(&database);
            let _ = reads::read_all(&database);
            let _ = changes::drop_all(&database);
            let _ = database.check(&mut |_| {});
            let _ = database.close();
            report.is_ok_and(|report| report.is_clean())
        });
        let again = open(&disk, &Options::new(), false, boot);
        drop(again.map(|database| database.check(&mut |_| {})));
        is_clean
    });
    is_clean == [true; 2]
}

/// The boot in which the newest record was written, so that nothing is verified.
fn boot_of(image: &[u8]) -> [u8; 16] {
    let page_size = find_page_size(image).map_or(4096, |bytes| bytes as usize);
    let records = (0..SLOT_COUNT).filter_map(|slot| {
        let start = usize::from(slot) * page_size;
        Record::decode(image.get(start..)?, slot).ok()
    });
    records
        .max_by_key(|record| record.sequence)
        .map_or([0; 16], |record| record.boot_id)
}

fn look(database: &Database) -> Result<()> {
    let _ = database.stat()?;
    let _ = database.recovery().to_owned();
    let _ = database.check(&mut |_| {});
    let _ = database.page_kinds();
    for page in 0..PAGES_MAX {
        let _ = database.describe_page(PageNumber(page));
    }
    Ok(())
}

/// The tables that can be opened.
fn known(mut tables: Vec<TableInfo>) -> Vec<TableInfo> {
    tables.retain(|info| info.unknown.is_none());
    tables
}
