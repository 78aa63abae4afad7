//! Reading what nobody has looked at yet: the system is asked for each page first, so that a sector
//! that cannot be read, or a file that was cut short, is an error and not a signal.

use super::snapshot::Snapshot;
use crate::{
    Error, PageNumber, Result,
    page::value::ValueRun,
    space::SpacePages,
    store::Mapping,
    tree::{PageSource, reading::Faults},
};

/// A state whose pages are asked for before anybody looks at them.
#[derive(Debug)]
pub(super) struct Demanded<'s>(pub(super) &'s Snapshot);

impl Demanded<'_> {
    fn demand(&self, start: PageNumber, len: usize) -> Result<()> {
        let offset = u64::from(start.0) * PageSource::page_size(self.0) as u64;
        demand(&self.0.mapping, offset, len)
    }
}

impl PageSource for Demanded<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(self.0)
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.demand(number, PageSource::page_size(self.0))?;
        PageSource::page(self.0, number)
    }

    fn faults(&self) -> &'static Faults {
        self.0.faults()
    }

    fn value(&self, run: &ValueRun) -> Result<&[u8]> {
        let value = self.0.value(run)?;
        self.demand(run.start, value.len())?;
        Ok(value)
    }
}

impl SpacePages for Demanded<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(self.0)
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        PageSource::page(self, number)
    }
}

fn demand(mapping: &Mapping, offset: u64, len: usize) -> Result<()> {
    let demanded = mapping.demand(offset, len);
    demanded.map_err(Error::io("reading the file"))
}

/// Copies bytes of the file, asked for before; `false` outside of it.
pub(super) fn copy(mapping: &Mapping, offset: u64, out: &mut [u8]) -> Result<bool> {
    if !mapping.contains(offset, out.len()) {
        return Ok(false);
    }
    demand(mapping, offset, out.len())?;
    let fault_count = mapping.faults().count();
    let is_inside = mapping.copy(offset, out);
    match mapping.faults().are_more_than(fault_count) {
        false => Ok(is_inside),
        true => Err(Error::io("reading the file")(mapping.faults().last().1)),
    }
}
