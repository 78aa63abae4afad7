//! The functions by JNI: methods of the class `teak.internal.JniCalls`, in its order.

use crate::*;
use jni_sys::{JNIEnv, jint, jlong, jobject};
use std::ffi::c_void;
use teak_c::*;

/// A number that Java passes as a `long`.
trait FromLong {
    fn from_long(number: jlong) -> Self;
}

impl FromLong for u64 {
    fn from_long(number: jlong) -> Self {
        number.cast_unsigned()
    }
}

impl FromLong for usize {
    fn from_long(number: jlong) -> Self {
        // A length that does not fit is refused as an impossible one.
        Self::try_from(number.cast_unsigned()).unwrap_or(Self::MAX)
    }
}

impl<T> FromLong for *const T {
    fn from_long(address: jlong) -> Self {
        std::ptr::with_exposed_provenance(usize::from_long(address))
    }
}

impl<T> FromLong for *mut T {
    fn from_long(address: jlong) -> Self {
        std::ptr::with_exposed_provenance_mut(usize::from_long(address))
    }
}

/// Defines methods that call functions of C, argument by argument. An argument is a `long`, or an
/// `int` if it is written `int name`.
macro_rules! jni {
    ($($method:ident => $function:ident($($arguments:tt)*);)*) => {
        $(jni!(@method $method $function () () $($arguments)*,);)*
    };
    (@method $method:ident $function:ident ($($parameters:tt)*) ($($values:tt)*) int $name:ident, $($rest:tt)*) => {
        jni!(@method $method $function
            ($($parameters)* $name: jint,) ($($values)* $name.cast_unsigned(),) $($rest)*);
    };
    (@method $method:ident $function:ident ($($parameters:tt)*) ($($values:tt)*) $name:ident, $($rest:tt)*) => {
        jni!(@method $method $function
            ($($parameters)* $name: jlong,) ($($values)* FromLong::from_long($name),) $($rest)*);
    };
    (@method $method:ident $function:ident ($($parameters:tt)*) ($($values:tt)*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $method(
            _env: *mut JNIEnv,
            _this: jobject,
            $($parameters)*
        ) -> jint {
            // SAFETY: Java's promise: handles are checked, and addresses are those of its buffers.
            unsafe { $function($($values)*) as jint }
        }
    };
}

jni! {
    Java_teak_internal_JniCalls_open => teak_db_open(path, options, db, error);
    Java_teak_internal_JniCalls_openInMemory => teak_db_open_in_memory(options, db, error);
    Java_teak_internal_JniCalls_openBytes => teak_flat_db_open_bytes(bytes, length, options, db,
        error);
    Java_teak_internal_JniCalls_close => teak_flat_db_close(db, error);
    Java_teak_internal_JniCalls_sync => teak_flat_db_sync(db, error);
    Java_teak_internal_JniCalls_ticket => teak_flat_db_ticket(db, transaction, ticket, error);
    Java_teak_internal_JniCalls_stat => teak_flat_db_get_stat(db, stat, error);
    Java_teak_internal_JniCalls_metrics => teak_flat_db_metrics(db, metrics, error);
    Java_teak_internal_JniCalls_waitForCommit => teak_flat_db_wait_for_commit(db, after,
        limit_millis, newest, error);
    Java_teak_internal_JniCalls_backup => teak_java_backup(db, path, int compact, error);
    Java_teak_internal_JniCalls_compact => teak_java_compact(db, report, error);
    Java_teak_internal_JniCalls_check => teak_java_check(db, report, buffer, room, used, error);
    Java_teak_internal_JniCalls_beginRead => teak_flat_txn_begin_read(db, txn, error);
    Java_teak_internal_JniCalls_beginWrite => teak_flat_txn_begin_write(db, txn, error);
    Java_teak_internal_JniCalls_beginWriteWithin => teak_flat_txn_begin_write_within(db,
        limit_millis, txn, error);
    Java_teak_internal_JniCalls_refresh => teak_flat_txn_refresh(txn, error);
    Java_teak_internal_JniCalls_commit => teak_flat_txn_commit(txn, id, error);
    Java_teak_internal_JniCalls_checkpoint => teak_flat_txn_checkpoint(txn, id, error);
    Java_teak_internal_JniCalls_end => teak_flat_txn_end(txn, error);
    Java_teak_internal_JniCalls_id => teak_flat_txn_id(txn, id, error);
    Java_teak_internal_JniCalls_setDurability => teak_flat_txn_set_durability(txn, int durability,
        error);
    Java_teak_internal_JniCalls_rollBack => teak_flat_txn_roll_back(txn, error);
    Java_teak_internal_JniCalls_savepoint => teak_flat_txn_savepoint(txn, savepoint, error);
    Java_teak_internal_JniCalls_rollBackTo => teak_flat_txn_roll_back_to(txn, savepoint, error);
    Java_teak_internal_JniCalls_release => teak_flat_txn_release(txn, savepoint, error);
    Java_teak_internal_JniCalls_ticketPoll => teak_flat_ticket_poll(ticket, error);
    Java_teak_internal_JniCalls_ticketWait => teak_flat_ticket_wait(ticket, limit_millis, error);
    Java_teak_internal_JniCalls_ticketEnd => teak_flat_ticket_end(ticket, error);
    Java_teak_internal_JniCalls_tableOpen => teak_flat_table_open(txn, name, length, table, error);
    Java_teak_internal_JniCalls_tableCreate => teak_flat_table_create(txn, name, length, options,
        table, error);
    Java_teak_internal_JniCalls_tableDrop => teak_flat_table_drop(txn, name, length, error);
    Java_teak_internal_JniCalls_tableRename => teak_flat_table_rename(txn, old_name, old_length,
        new_name, new_length, error);
    Java_teak_internal_JniCalls_tableClear => teak_flat_table_clear(txn, table, error);
    Java_teak_internal_JniCalls_drawSequence => teak_flat_table_draw_sequence(txn, table, count,
        first, error);
    Java_teak_internal_JniCalls_tableStat => teak_flat_table_get_stat(txn, table, stat, error);
    Java_teak_internal_JniCalls_tables => teak_java_tables(txn, buffer, room, used, error);
    Java_teak_internal_JniCalls_get => teak_flat_get(txn, table, key, length, value, error);
    Java_teak_internal_JniCalls_copyValue => teak_flat_copy_value(txn, table, key, length, buffer,
        room, used, error);
    Java_teak_internal_JniCalls_contains => teak_flat_contains(txn, table, key, length, error);
    Java_teak_internal_JniCalls_insert => teak_flat_insert(txn, table, key, key_length, value,
        value_length, error);
    Java_teak_internal_JniCalls_insertNew => teak_flat_insert_new(txn, table, key, key_length,
        value, value_length, error);
    Java_teak_internal_JniCalls_update => teak_flat_update(txn, table, key, key_length, value,
        value_length, error);
    Java_teak_internal_JniCalls_append => teak_flat_append(txn, table, key, key_length, value,
        value_length, error);
    Java_teak_internal_JniCalls_insertPacked => teak_flat_insert_packed(txn, table, records, length,
        inserted, error);
    Java_teak_internal_JniCalls_remove => teak_flat_remove(txn, table, key, length, error);
    Java_teak_internal_JniCalls_removeRange => teak_flat_remove_range(txn, table, int low_kind, low,
        low_length, int high_kind, high, high_length, count, error);
    Java_teak_internal_JniCalls_countRange => teak_flat_count_range(txn, table, int low_kind, low,
        low_length, int high_kind, high, high_length, count, error);
    Java_teak_internal_JniCalls_splitRange => teak_java_split_range(txn, table, int low_kind, low,
        low_length, int high_kind, high, high_length, parts, buffer, room, used, error);
    Java_teak_internal_JniCalls_compareKeys => teak_flat_compare_keys(txn, table, a, a_length, b,
        b_length, order, error);
    Java_teak_internal_JniCalls_find => teak_flat_find(txn, table, int seek, key, length, buffer,
        room, used, error);
    Java_teak_internal_JniCalls_insertPair => teak_flat_insert_pair(txn, table, key, key_length,
        value, value_length, error);
    Java_teak_internal_JniCalls_containsPair => teak_flat_contains_pair(txn, table, key, key_length,
        value, value_length, error);
    Java_teak_internal_JniCalls_countValues => teak_flat_count_values(txn, table, key, length,
        count, error);
    Java_teak_internal_JniCalls_removePair => teak_flat_remove_pair(txn, table, key, key_length,
        value, value_length, error);
    Java_teak_internal_JniCalls_removeValues => teak_flat_remove_values(txn, table, key, length,
        removed, error);
    Java_teak_internal_JniCalls_cursorOpen => teak_flat_cursor_open(txn, table, cursor, error);
    Java_teak_internal_JniCalls_cursorClose => teak_flat_cursor_close(cursor, error);
    Java_teak_internal_JniCalls_cursorMove => teak_flat_cursor_move(cursor, txn, int to, record,
        error);
    Java_teak_internal_JniCalls_cursorSeek => teak_flat_cursor_seek(cursor, txn, int seek, key,
        length, record, error);
    Java_teak_internal_JniCalls_cursorSeekPair => teak_flat_cursor_seek_pair(cursor, txn, int seek,
        key, key_length, value, value_length, record, error);
    Java_teak_internal_JniCalls_cursorCopy => teak_flat_cursor_copy(cursor, txn, int direction,
        int bound_kind, bound, bound_length, buffer, room, max, count, used, error);
    Java_teak_internal_JniCalls_snapshotCreate => teak_flat_snapshot_create(txn, name, length,
        error);
    Java_teak_internal_JniCalls_snapshotDrop => teak_flat_snapshot_drop(txn, name, length, error);
    Java_teak_internal_JniCalls_snapshotOpen => teak_flat_snapshot_open(db, name, length, txn,
        error);
    Java_teak_internal_JniCalls_snapshots => teak_java_snapshots(db, buffer, room, used, error);
    Java_teak_internal_JniCalls_changedTables => teak_java_changed_tables(older, newer, buffer,
        room, used, error);
    Java_teak_internal_JniCalls_differences => teak_java_differences(older, newer, table, key,
        key_length, value, value_length, buffer, room, count, used, error);
}

/// The address of a direct buffer, or 0 if it is none.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_teak_internal_JniCalls_address(
    env: *mut JNIEnv,
    _this: jobject,
    buffer: jobject,
) -> jlong {
    // SAFETY: the virtual machine passes its functions and a reference to a buffer.
    let address: *mut c_void = unsafe { ((**env).v1_4.GetDirectBufferAddress)(env, buffer) };
    address.expose_provenance() as jlong
}
