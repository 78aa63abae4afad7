//! The places of readers that clients see: as many as were asked for, and one for a thread unless readers belong to transactions.

use crate::codes::{self, Code, Outcome};

/// What a place is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Free,
    /// Kept for a transaction that was reset.
    Kept,
    /// A state is read.
    Reading(u64),
}

/// A place, and the thread that has taken it.
#[derive(Clone, Copy, Debug)]
struct Place {
    thread: usize,
    used: Use,
}

/// A place that was shown: its thread, and the state that is read there.
pub(crate) type Shown = (usize, Option<u64>);

/// The places of an environment.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// Takes a place for `thread`, one of at most `max`.
    pub(crate) fn take(
        &mut self,
        thread: usize,
        max: usize,
        is_for_thread: bool,
    ) -> Outcome<usize> {
        let is_own = |place: &Place| place.used != Use::Free && place.thread == thread;
        if is_for_thread && self.0.iter().any(is_own) {
            return Err(Code(codes::BAD_RSLOT));
        }
        let place = Place {
            thread,
            used: Use::Kept,
        };
        match self.0.iter().position(|place| place.used == Use::Free) {
            Some(index) => {
                self.0[index] = place;
                Ok(index)
            }
            None if self.0.len() < max => {
                self.0.push(place);
                Ok(self.0.len() - 1)
            }
            None => Err(Code(codes::READERS_FULL)),
        }
    }

    /// Notes which state is read at a place that was taken.
    pub(crate) fn read(&mut self, index: usize, state: u64) {
        self.0[index].used = Use::Reading(state);
    }

    /// Notes that nothing is read at a place, which stays taken.
    pub(crate) fn keep(&mut self, index: usize) {
        self.0[index].used = Use::Kept;
    }

    /// Gives a place back.
    pub(crate) fn give_back(&mut self, index: usize) {
        self.0[index].used = Use::Free;
    }

    /// As many places as were ever needed at once.
    pub(crate) fn most(&self) -> usize {
        self.0.len()
    }

    /// The places that are taken.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Shown> {
        self.0.iter().filter_map(|place| match place.used {
            Use::Free => None,
            Use::Kept => Some((place.thread, None)),
            Use::Reading(state) => Some((place.thread, Some(state))),
        })
    }
}

/// The line of a reader.
pub(crate) fn line(process: u32, (thread, state): Shown) -> String {
    match state {
        Some(state) => format!("{process:>10} {thread:x} {state}\n"),
        None => format!("{process:>10} {thread:x} -\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Places, codes, line};

    #[test]
    fn a_thread_has_one_place_and_all_have_so_many() {
        let mut places = Places::default();
        assert_eq!(places.take(7, 2, true), Ok(0));
        assert_eq!(places.take(7, 2, true), Err(Code(codes::BAD_RSLOT)));
        assert_eq!(places.take(8, 2, true), Ok(1));
        assert_eq!(places.take(9, 2, false), Err(Code(codes::READERS_FULL)));
        places.read(1, 12);
        places.give_back(0);
        assert_eq!(places.shown().collect::<Vec<_>>(), [(8, Some(12))]);
        places.keep(1);
        assert_eq!(line(5, places.shown().next().unwrap()), "         5 8 -\n");
        assert_eq!(places.take(7, 2, false), Ok(0));
        assert_eq!(places.most(), 2);
    }
}
