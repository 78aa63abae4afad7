//! Tests of transactions, commits and recovery as a whole.

mod commit_and_continue_tests;
mod deferred_tests;
mod expiry_fault_tests;
mod fault_tests;
mod flusher_tests;
pub(crate) mod gated_disk;
mod prepared_tests;
mod regression_tests;
mod sharing_tests;
pub(crate) mod test_kit;
mod tests;
