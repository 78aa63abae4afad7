//! Reading what nobody has looked at yet: the system is asked for each page first, so that a sector
//! that cannot be read, or a file that was cut short, is an error and not a signal.

use super::{
    file_reads::{demand, in_runs},
    snapshot::Snapshot,
};
use crate::{
    PageNumber, Result, Run,
    page::value::ValueRun,
    space::SpacePages,
    tree::{PageSource, reading::Faults},
};
use std::cell::{Cell, RefCell};

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

    fn page_limit(&self) -> u64 {
        self.0.page_limit()
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

/// The pages of the space map of a state. Those that are announced are asked for together: the system reads them all at once,
/// and is called once for such as lie in a row.
#[derive(Debug)]
pub(super) struct MapPages<'s> {
    pages: Demanded<'s>,
    /// What was announced last, in order.
    announced: RefCell<Vec<Run>>,
    /// The one of them that is in memory.
    at_hand: Cell<Run>,
}

impl<'s> MapPages<'s> {
    pub(super) fn new(state: &'s Snapshot) -> Self {
        Self {
            pages: Demanded(state),
            announced: RefCell::default(),
            at_hand: Cell::new(Run::new(0, 0)),
        }
    }

    /// Whether the page was brought into memory with those beside it. If that fails each of them is asked for alone.
    fn is_at_hand(&self, number: PageNumber) -> bool {
        let holds = |run: Run| run.start <= number && u64::from(number.0) < run.end();
        if holds(self.at_hand.get()) {
            return true;
        }
        let announced = self.announced.borrow();
        let behind = announced.partition_point(|run| run.start <= number);
        let found = announced[..behind]
            .last()
            .copied()
            .filter(|run| holds(*run));
        let Some(run) = found.filter(|run| run.len > 1) else {
            return false;
        };
        let len = run.len as usize * SpacePages::page_size(self);
        let is_there = self.pages.demand(run.start, len).is_ok();
        if is_there {
            self.at_hand.set(run);
        }
        is_there
    }
}

impl SpacePages for MapPages<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(&self.pages)
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        match self.is_at_hand(number) {
            true => PageSource::page(self.pages.0, number),
            false => PageSource::page(&self.pages, number),
        }
    }

    fn announce(&self, pages: &mut dyn Iterator<Item = PageNumber>) {
        let mut pages: Vec<_> = pages.collect();
        let runs = in_runs(&mut pages);
        let page_size = SpacePages::page_size(self) as u64;
        let mapping = &self.pages.0.mapping;
        if runs.len() > 1 {
            for run in &runs {
                let (start, len) = (u64::from(run.start.0), u64::from(run.len));
                mapping.announce(start * page_size, len * page_size);
            }
        }
        self.announced.replace(runs);
        self.at_hand.set(Run::new(0, 0));
    }
}
