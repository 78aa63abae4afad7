//! A record that differs between two states.

/// A record that differs between two states; see
/// [`Table::differences`](crate::Table::differences).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference<K, V> {
    /// Only the newer state has it.
    Inserted {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
    /// Both have it, with different values. In a multi-value table, where a record is a pair of key
    /// and value, there are no such differences.
    Changed {
        /// Its key.
        key: K,
        /// Its value in the older state.
        old: V,
        /// Its value in the newer state.
        new: V,
    },
    /// Only the older state has it.
    Removed {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
}

impl<K, V> Difference<K, V> {
    /// The key of the record.
    ///
    /// ```
    /// # use teak::Difference;
    /// let change = Difference::Changed { key: "teak", old: 1, new: 2 };
    /// assert_eq!((change.key(), change.old_value(), change.new_value()), (&"teak", Some(&1), Some(&2)));
    /// ```
    #[must_use]
    pub fn key(&self) -> &K {
        match self {
            Self::Inserted { key, .. } | Self::Changed { key, .. } | Self::Removed { key, .. } => {
                key
            }
        }
    }

    /// The value in the older state, if the record is there.
    #[must_use]
    pub fn old_value(&self) -> Option<&V> {
        match self {
            Self::Inserted { .. } => None,
            Self::Changed { old: value, .. } | Self::Removed { value, .. } => Some(value),
        }
    }

    /// The value in the newer state, if the record is there.
    #[must_use]
    pub fn new_value(&self) -> Option<&V> {
        match self {
            Self::Removed { .. } => None,
            Self::Changed { new: value, .. } | Self::Inserted { value, .. } => Some(value),
        }
    }
}
