//! An open database (an instance): the state that its handles share, and the state that the writer
//! keeps between transactions.

mod acquire_writer;
pub(crate) mod arena;
mod block_table;
pub(crate) mod database_file;
pub(crate) mod dropped_trees;
pub(crate) mod engine;
pub(crate) mod held_writer_lock;
pub(crate) mod high_water;
pub(crate) mod log_flush;
pub(crate) mod memtable;
pub(crate) mod memtable_records;
pub(crate) mod merger;
pub(crate) mod opening;
pub(crate) mod openings;
pub(crate) mod policies;
pub(crate) mod read_buffer;
pub(crate) mod read_target;
pub(crate) mod recovered;
pub(crate) mod shrink_state;
pub(crate) mod small_changes;
pub(crate) mod table_handles;
pub(crate) mod wal;
pub(crate) mod writer;
pub(crate) mod writer_permit;
pub(crate) mod zone_state;
