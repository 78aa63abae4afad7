//! The library of campaigns: long runs that play random episodes and look for violations.
//!
//! | file | contents |
//! |---|---|
//! | `child` | programs that are started, watched and killed |
//! | `clock` | a clock that a campaign moves |
//! | `database` | checks of databases |
//! | `encoding` | encrypted and compressed databases |
//! | `draw` | random choices: independent episodes, weights, geometries |
//! | `panics` | panics of the engine, which are violations |
//! | `parallel` | episodes on all processors |
//! | `results` | the counts of a run, its line of results, its exit |
//! | `scratch` | directories for databases |
//! | `violations` | how a violation is printed, and how its files are kept |

pub(crate) mod child;
mod clock;
pub(crate) mod database;
pub(crate) mod draw;
mod encoding;
pub(crate) mod panics;
pub(crate) mod parallel;
mod results;
pub(crate) mod scratch;
pub(crate) mod violations;

pub(crate) use clock::{CampaignClock, ms_of, time_of};
pub(crate) use encoding::{Encoding, EncodingArguments};
pub(crate) use results::{Campaign, CampaignArguments, named};
pub(crate) use scratch::ScratchArguments;
