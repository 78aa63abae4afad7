//! The bitmap pages that may differ from those on disk.

/// A set of small numbers with cheap insertion.
#[derive(Default, Debug)]
pub(super) struct DirtyBitmaps {
    flags: Vec<bool>,
    pub(super) list: Vec<u32>,
}

impl DirtyBitmaps {
    #[inline]
    pub(super) fn insert(&mut self, bitmap: u32) {
        let index = bitmap as usize;
        if index >= self.flags.len() {
            self.flags.resize(index + 1, false);
        }
        if !self.flags[index] {
            self.flags[index] = true;
            self.list.push(bitmap);
        }
    }

    pub(super) fn clear(&mut self) {
        for bitmap in self.list.drain(..) {
            self.flags[bitmap as usize] = false;
        }
        debug_assert!(
            !self.flags.contains(&true),
            "each flag that is set has an entry in the list"
        );
    }
}
