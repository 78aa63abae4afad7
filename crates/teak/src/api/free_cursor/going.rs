//! A cursor on its way, in one state of its table.

use super::place::Place;
use crate::{
    Result,
    api::key_checks::{check_probe, check_value_probe},
    tree::{
        PageSource, TreeRoot, cursor,
        multi::{Pair, cursor::PairCursor, position::PairPosition, seek::PairLandmark},
        position::Position,
        reading::reading,
        seek::Landmark,
    },
};
use std::borrow::Cow;

type Pages<'s> = dyn PageSource + 's;

/// The way to a record, without references.
#[derive(Clone, Debug)]
pub(super) enum Path {
    Record(Position),
    Pair(PairPosition),
}

impl Path {
    pub(super) fn is_first(&self) -> bool {
        match self {
            Self::Record(position) => position.is_first(),
            Self::Pair(position) => position.is_first(),
        }
    }

    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Record(position) => position.is_last(),
            Self::Pair(position) => position.is_last(),
        }
    }

    pub(super) fn is_first_value(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Pair(position) => position.is_first_value(),
        }
    }

    pub(super) fn is_last_value(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Pair(position) => position.is_last_value(),
        }
    }

    /// How many values the key has.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Record(_) => 1,
            Self::Pair(position) => position.count(),
        }
    }

    pub(super) fn value<'s>(
        &self,
        source: &'s Pages<'_>,
        root: &TreeRoot,
    ) -> Result<Option<Cow<'s, [u8]>>> {
        match self {
            Self::Record(position) => Ok(cursor::value_at(source, position)?.map(Cow::Borrowed)),
            Self::Pair(position) => position.value(source, root),
        }
    }
}

/// The same while its pages are at hand. It stays on the stack, and only for a step.
#[allow(clippy::large_enum_variant)]
pub(super) enum Way<'s> {
    Record(Position),
    Pair(PairCursor<'s, Pages<'s>>),
}

impl<'s> Way<'s> {
    /// One that leads nowhere yet. A path of another state gives its memory.
    pub(super) fn new(source: &'s Pages<'s>, root: &TreeRoot, path: Option<Path>) -> Self {
        match (root.is_multi(), path) {
            (true, _) => Self::Pair(PairCursor::new(source, *root)),
            (false, Some(Path::Record(position))) => Self::Record(position),
            (false, _) => Self::Record(Position::default()),
        }
    }

    /// The one that a path of this state is.
    pub(super) fn resume(source: &'s Pages<'s>, root: &TreeRoot, path: Path) -> Result<Self> {
        Ok(match path {
            Path::Record(position) => Self::Record(position),
            Path::Pair(position) => Self::Pair(PairCursor::resume(source, *root, position)?),
        })
    }

    pub(super) fn into_path(self) -> Path {
        match self {
            Self::Record(position) => Path::Record(position),
            Self::Pair(cursor) => Path::Pair(cursor.park()),
        }
    }
}

/// A cursor on its way.
pub(super) struct Going<'g, 's> {
    pub(super) source: &'s Pages<'s>,
    pub(super) root: &'g TreeRoot,
    pub(super) place: Place,
    /// Those of the place.
    pub(super) key: &'g [u8],
    pub(super) value: &'g [u8],
    pub(super) way: Way<'s>,
    pub(super) leads: Leads,
}

/// Where the way of a cursor leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leads {
    /// To the record of the place.
    Here,
    /// To the one behind it; that of the place is gone.
    Behind,
    /// Elsewhere: it means nothing.
    Elsewhere,
}

impl Leads {
    pub(super) fn is_here(self) -> bool {
        self == Self::Here
    }
}

impl<'s> Going<'_, 's> {
    /// Makes a step, and fails if some of what it read was not there. A cursor over pairs tells that itself, as it looks ahead to pages
    /// that it may never need.
    pub(super) fn judge(&mut self, step: impl FnOnce(&mut Self) -> Result<bool>) -> Result<bool> {
        let source = self.source;
        match self.way {
            Way::Record(_) => reading(source, || step(self)),
            Way::Pair(_) => step(self),
        }
    }

    pub(super) fn first(&mut self) -> Result<bool> {
        match &mut self.way {
            Way::Record(position) => position.first(self.source, self.root),
            Way::Pair(cursor) => cursor.first(),
        }
    }

    pub(super) fn last(&mut self) -> Result<bool> {
        match &mut self.way {
            Way::Record(position) => position.last(self.source, self.root),
            Way::Pair(cursor) => cursor.last(),
        }
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        match self.place {
            Place::Nowhere | Place::BeforeFirst => self.first(),
            Place::At => self.behind(),
            Place::BehindLast => Ok(false),
        }
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        match self.place {
            Place::Nowhere | Place::BehindLast => self.last(),
            Place::At => self.before(),
            Place::BeforeFirst => Ok(false),
        }
    }

    /// To the first record behind the one that it is on, or behind the place.
    pub(super) fn behind(&mut self) -> Result<bool> {
        let (source, root) = (self.source, self.root);
        match &mut self.way {
            Way::Record(position) if self.leads.is_here() => position.next(source, root),
            Way::Record(_) if self.leads == Leads::Behind => Ok(true),
            Way::Record(position) => {
                Landmark::new(root, self.key).seek_behind(position, source, root)
            }
            Way::Pair(cursor) if self.leads.is_here() => cursor.next(),
            Way::Pair(cursor) => {
                PairLandmark::new(root, (self.key, self.value)).seek_behind(cursor)
            }
        }
    }

    /// To the last record before the one that it is on, or before the place.
    pub(super) fn before(&mut self) -> Result<bool> {
        let (source, root) = (self.source, self.root);
        match &mut self.way {
            Way::Record(position) if self.leads.is_here() => position.prev(source, root),
            Way::Record(position) => {
                Landmark::new(root, self.key).seek_before(position, source, root)
            }
            Way::Pair(cursor) if self.leads.is_here() => cursor.prev(),
            Way::Pair(cursor) => {
                PairLandmark::new(root, (self.key, self.value)).seek_before(cursor)
            }
        }
    }

    /// To the record of the place; `false` if there is none.
    pub(super) fn here(&mut self) -> Result<bool> {
        if self.leads.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.way {
            Way::Record(position) => Landmark::new(root, self.key).find(position, source, root),
            Way::Pair(cursor) => PairLandmark::new(root, (self.key, self.value)).find(cursor),
        }
    }

    /// To the record of the place, or the first one behind it.
    pub(super) fn here_or_behind(&mut self) -> Result<bool> {
        if self.leads.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.way {
            Way::Record(_) if self.leads == Leads::Behind => Ok(true),
            Way::Record(position) => {
                let landmark = Landmark::new(root, self.key);
                match landmark.possible() {
                    Some(key) => Ok(position.seek(source, root, key)?.is_some()),
                    None => landmark.seek_behind(position, source, root),
                }
            }
            Way::Pair(cursor) => {
                PairLandmark::new(root, (self.key, self.value)).seek_here_or_behind(cursor)
            }
        }
    }

    /// To the record of the place, or the last one before it.
    pub(super) fn here_or_before(&mut self) -> Result<bool> {
        if self.leads.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.way {
            Way::Record(position) => {
                let landmark = Landmark::new(root, self.key);
                match landmark.possible() {
                    Some(key) => position.seek_less_or_equal(source, root, key),
                    None => landmark.seek_before(position, source, root),
                }
            }
            Way::Pair(cursor) => {
                PairLandmark::new(root, (self.key, self.value)).seek_here_or_before(cursor)
            }
        }
    }

    /// To the first record whose key is not smaller; says whether it is equal.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<Option<bool>> {
        check_probe(self.root, key)?;
        match &mut self.way {
            Way::Record(position) => position.seek(self.source, self.root, key),
            Way::Pair(cursor) => cursor.seek_key(key),
        }
    }

    pub(super) fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.way {
            Way::Record(position) => position.seek_greater(self.source, self.root, key),
            Way::Pair(cursor) => cursor.seek_key_greater(key),
        }
    }

    pub(super) fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.way {
            Way::Record(position) => position.seek_less(self.source, self.root, key),
            Way::Pair(cursor) => cursor.seek_key_less(key),
        }
    }

    pub(super) fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.way {
            Way::Record(position) => position.seek_less_or_equal(self.source, self.root, key),
            Way::Pair(cursor) => cursor.seek_key_less_or_equal(key),
        }
    }

    /// To the first value of the next key.
    pub(super) fn next_key(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.next_key(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_key_behind(cursor)
            }
            _ => self.next(),
        }
    }

    /// To the last value of the key before.
    pub(super) fn prev_key(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.prev_key(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_key_before(cursor)
            }
            _ => self.prev(),
        }
    }

    /// To the next value of the key; if there is none the way is as good as before.
    pub(super) fn next_value(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.next_value(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_value_behind(cursor)
            }
            _ => Ok(false),
        }
    }

    /// To the value of the key before; if there is none the way is as good as before.
    pub(super) fn prev_value(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.prev_value(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_value_before(cursor)
            }
            _ => Ok(false),
        }
    }

    /// To the first value of the key.
    pub(super) fn first_value(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.first_value(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_first_value(cursor)
            }
            (Way::Record(_), Place::At) => self.here(),
            _ => Ok(false),
        }
    }

    /// To the last value of the key.
    pub(super) fn last_value(&mut self) -> Result<bool> {
        match (&mut self.way, self.place) {
            (Way::Pair(cursor), Place::At) if self.leads.is_here() => cursor.last_value(),
            (Way::Pair(cursor), Place::At) => {
                PairLandmark::new(self.root, (self.key, self.value)).seek_last_value(cursor)
            }
            (Way::Record(_), Place::At) => self.here(),
            _ => Ok(false),
        }
    }

    /// Where a search for a pair leads. Only a table has pairs in which a key has several values.
    pub(super) fn seek_pair(
        &mut self,
        (key, value): Pair<'_>,
        seek: impl FnOnce(&mut PairCursor<'s, Pages<'s>>) -> Result<bool>,
    ) -> Result<bool> {
        check_probe(self.root, key)?;
        check_value_probe(self.root, value)?;
        self.leads = Leads::Elsewhere;
        self.as_pairs().map_or(Ok(false), seek)
    }

    /// The cursor over pairs, if it is one.
    pub(super) fn as_pairs(&mut self) -> Option<&mut PairCursor<'s, Pages<'s>>> {
        match &mut self.way {
            Way::Pair(cursor) => Some(cursor),
            Way::Record(_) => None,
        }
    }

    /// Reads key and value of the place that it has come to; of a plain table the key alone.
    pub(super) fn read(&self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        match &self.way {
            Way::Record(position) => cursor::record_at(self.source, position, key).map(drop),
            Way::Pair(cursor) => {
                key.clear();
                key.extend_from_slice(cursor.key());
                value.clear();
                value.extend_from_slice(cursor.value());
                Ok(())
            }
        }
    }
}
