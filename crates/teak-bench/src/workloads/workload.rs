//! The workloads of `quick`, by name.

use clap::{ValueEnum, builder::PossibleValue};
use serde::{Serialize, Serializer};
use std::fmt;

/// A kind of work. They run in the order of this list: reads before the works that change the data
/// they check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuickWorkload {
    LoadRandomLazy,
    LoadPresortedLazy,
    LoadSingleLazy,
    Get,
    GetMany32,
    GetTxn,
    GetTxnRenew,
    Scan,
    TxnLazy,
    TxnDurable,
    LoadSortedLazy,
    LoadSortedAppend,
}

impl QuickWorkload {
    /// All workloads, in order.
    pub(crate) const ALL: &[Self] = &[
        Self::LoadRandomLazy,
        Self::LoadPresortedLazy,
        Self::LoadSingleLazy,
        Self::Get,
        Self::GetMany32,
        Self::GetTxn,
        Self::GetTxnRenew,
        Self::Scan,
        Self::TxnLazy,
        Self::TxnDurable,
        Self::LoadSortedLazy,
        Self::LoadSortedAppend,
    ];

    /// The name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LoadRandomLazy => "load_random_lazy",
            Self::LoadPresortedLazy => "load_presorted_lazy",
            Self::LoadSingleLazy => "load_single_lazy",
            Self::Get => "get",
            Self::GetMany32 => "get_many_32",
            Self::GetTxn => "get_txn",
            Self::GetTxnRenew => "get_txn_renew",
            Self::Scan => "scan",
            Self::TxnLazy => "txn_lazy",
            Self::TxnDurable => "txn_durable",
            Self::LoadSortedLazy => "load_sorted_lazy",
            Self::LoadSortedAppend => "load_sorted_append",
        }
    }

    /// Whether the workload makes its own databases and needs no loaded one.
    pub(super) fn loads(self) -> bool {
        matches!(
            self,
            Self::LoadRandomLazy
                | Self::LoadPresortedLazy
                | Self::LoadSingleLazy
                | Self::LoadSortedLazy
                | Self::LoadSortedAppend
        )
    }
}

impl fmt::Display for QuickWorkload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for QuickWorkload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl ValueEnum for QuickWorkload {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}
