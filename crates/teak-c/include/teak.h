/* Teak, an embedded ordered transactional key-value store: the C interface.
 *
 * This file is made from the sources of crates/teak-c: change those, and run `cargo xtask header`.
 *
 * What holds for every function:
 *
 * - It answers with a teak_code: TEAK_OK for done or yes, TEAK_NONE for no, and an error otherwise. `error` may be NULL; else what it points to
 *   begins with its size, and is filled in if there is an error.
 * - Handles are checked: one that was closed or never was is TEAK_INVALID_HANDLE, one that another call uses in a way that does not go together with
 *   this one is TEAK_BUSY. "Threads: any" says that calls with the same handles may go on at the same time in any threads.
 * - Pointers are trusted: each leads to what its type says, and to as much as is said beside it. A NULL is refused where something is needed.
 * - What is given to a function is not kept when it returns, unless it says so.
 * - A place for what a function gives (`db`, `txn`, `value`) is written if the answer is TEAK_OK; handles are zeros after any other.
 * - In the examples `db` is an open database, `error` a teak_error whose size is set, `path` a path where there is no file, and check() ends the
 *   program unless it is given TEAK_OK.
 *
 * docs/c-interface.md says how it is made, and how structures grow.
 */

#ifndef TEAK_H
#define TEAK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The bytes of the message of a teak_error.
 */
#define TEAK_MESSAGE_LEN 1024

/**
 * journal_bytes of teak_options: commits do without a journal.
 */
#define TEAK_NO_JOURNAL UINT64_MAX

/**
 * move_percent of teak_options: neither commits nor closing move pages.
 */
#define TEAK_MOVE_NOTHING UINT32_MAX

/**
 * value_size of teak_table_options: the first value decides for the table.
 */
#define TEAK_VALUE_SIZE_AS_FIRST UINT32_MAX

/**
 * What a function answers: done, no, or why not. New codes may come.
 */
typedef enum {
  /**
   * Done, or yes.
   */
  TEAK_OK = 0,
  /**
   * No: no such record, nothing after the last one, nothing newer, not durable yet. Not an error.
   */
  TEAK_NONE = 1,
  /**
   * The handle was closed, has ended, or never existed.
   */
  TEAK_INVALID_HANDLE = 16,
  /**
   * The handle is in use by another call, or its object is still needed.
   */
  TEAK_BUSY = 17,
  /**
   * The table or transaction belongs to another database, or to an earlier opening of this one.
   */
  TEAK_WRONG_DATABASE = 18,
  /**
   * A read transaction was passed where a write transaction is needed, or the reverse.
   */
  TEAK_WRONG_TRANSACTION = 19,
  /**
   * An argument is invalid: the message says which.
   */
  TEAK_INVALID_ARGUMENT = 20,
  /**
   * A structure has fields set that this library does not know.
   */
  TEAK_TOO_NEW = 21,
  /**
   * An internal error of the library; please report it. The transaction can only be rolled back.
   */
  TEAK_PANIC = 22,
  /**
   * An error that has no code yet: the message describes it.
   */
  TEAK_OTHER = 23,
  /**
   * The operating system refused an operation on the file: see system_code.
   */
  TEAK_IO = 32,
  /**
   * The file does not exist, and was not to be created; or the file of an open database lost its name, which was required.
   */
  TEAK_FILE_NOT_FOUND = 33,
  /**
   * A database was to be created where a file exists.
   */
  TEAK_FILE_EXISTS = 34,
  /**
   * The file is not a Teak database.
   */
  TEAK_NOT_A_DATABASE = 35,
  /**
   * The file needs a newer version of Teak.
   */
  TEAK_UNKNOWN_FORMAT = 36,
  /**
   * The database is in use and cannot be shared.
   */
  TEAK_IN_USE = 37,
  /**
   * The content of the file is not what was written: see page.
   */
  TEAK_CORRUPTED = 38,
  /**
   * A write or flush failed earlier: nothing can be written until the database is reopened.
   */
  TEAK_POISONED = 39,
  /**
   * The file is on a network file system.
   */
  TEAK_NETWORK_FILE_SYSTEM = 40,
  /**
   * This process has the database open with other options that matter.
   */
  TEAK_OPTIONS_DIFFER = 41,
  /**
   * This process was forked from the one that opened the database.
   */
  TEAK_FORKED = 42,
  /**
   * A read transaction has lost its state: it was cancelled, or parked and given up.
   */
  TEAK_SNAPSHOT_LOST = 43,
  /**
   * There is a newer state than the one at which writing was to begin.
   */
  TEAK_SNAPSHOT_STALE = 44,
  /**
   * No named snapshot has this name.
   */
  TEAK_SNAPSHOT_NOT_FOUND = 45,
  /**
   * A named snapshot has this name already.
   */
  TEAK_SNAPSHOT_EXISTS = 46,
  /**
   * The only free space is kept for a reader of an old state: see process and thread.
   */
  TEAK_HELD_BY_READER = 47,
  /**
   * There are too many readers.
   */
  TEAK_TOO_MANY_READERS = 48,
  /**
   * The size limit is reached.
   */
  TEAK_FULL = 49,
  /**
   * A key is longer than the page size allows.
   */
  TEAK_KEY_TOO_LONG = 50,
  /**
   * A value of a multi-value table is longer than the page size allows.
   */
  TEAK_VALUE_TOO_LONG = 51,
  /**
   * The sequence of a table has too few numbers left.
   */
  TEAK_SEQUENCE_EXHAUSTED = 52,
  /**
   * No table has this name.
   */
  TEAK_TABLE_NOT_FOUND = 53,
  /**
   * A table has this name already.
   */
  TEAK_TABLE_EXISTS = 54,
  /**
   * A table was created with other options.
   */
  TEAK_TABLE_MISMATCH = 55,
  /**
   * The comparison of a table was not registered.
   */
  TEAK_COMPARISON_MISSING = 56,
  /**
   * The keys of a table are not in the order of its comparison.
   */
  TEAK_COMPARISON_MISMATCH = 57,
  /**
   * A key or value cannot be decoded.
   */
  TEAK_DECODE = 58,
  /**
   * The input is not sorted, or does not follow the existing records.
   */
  TEAK_NOT_SORTED = 59,
  /**
   * The database is open read-only.
   */
  TEAK_READ_ONLY = 60,
  /**
   * An error interrupted a change of the transaction: it can only be rolled back.
   */
  TEAK_TRANSACTION_BROKEN = 61,
} teak_code;

/**
 * Whether a database is created.
 */
typedef enum {
  /**
   * If there is none yet.
   */
  TEAK_CREATE_IF_MISSING = 0,
  /**
   * It must be there.
   */
  TEAK_CREATE_NEVER = 1,
  /**
   * There must be none.
   */
  TEAK_CREATE_NEW = 2,
} teak_create;

/**
 * What a database is opened for.
 */
typedef enum {
  /**
   * Reading and writing.
   */
  TEAK_ACCESS_WRITE = 0,
  /**
   * Reading alone.
   */
  TEAK_ACCESS_READ = 1,
} teak_access;

/**
 * Who may have a database open at the same time.
 */
typedef enum {
  /**
   * Other processes too.
   */
  TEAK_SHARING_PROCESSES = 0,
  /**
   * This one alone.
   */
  TEAK_SHARING_ALONE = 1,
  /**
   * Other processes too, and this one reads without a lock file, also while others write, who do not know of it: with TEAK_ACCESS_READ alone.
   */
  TEAK_SHARING_UNLOCKED = 2,
} teak_sharing;

/**
 * Whether a database may be on a network file system.
 */
typedef enum {
  /**
   * That is an error.
   */
  TEAK_NETWORK_REFUSE = 0,
  /**
   * One machine alone uses it.
   */
  TEAK_NETWORK_ALLOW = 1,
} teak_network;

/**
 * What becomes of parts of the file that cannot be read.
 */
typedef enum {
  /**
   * They are errors: a handler for SIGBUS is installed, which gives on what does not concern it.
   */
  TEAK_FAULTS_HANDLE = 0,
  /**
   * No handler is installed, and the process gets SIGBUS.
   */
  TEAK_FAULTS_LEAVE = 1,
} teak_faults;

/**
 * When a commit is on the disk.
 */
typedef enum {
  /**
   * As the database has it; in a new one as TEAK_DURABILITY_DURABLE.
   */
  TEAK_DURABILITY_DEFAULT = 0,
  /**
   * When it returns.
   */
  TEAK_DURABILITY_DURABLE = 1,
  /**
   * Soon after it returns; a ticket tells when.
   */
  TEAK_DURABILITY_ASYNC = 2,
  /**
   * When the system, a later durable commit or the limits of the options have it written.
   */
  TEAK_DURABILITY_LAZY = 3,
} teak_durability;

/**
 * When pages are compared with their checksums.
 */
typedef enum {
  /**
   * When each is first read.
   */
  TEAK_VERIFICATION_FIRST_TOUCH = 0,
  /**
   * Each time that one is read.
   */
  TEAK_VERIFICATION_ALWAYS = 1,
  /**
   * Never.
   */
  TEAK_VERIFICATION_OFF = 2,
} teak_verification;

/**
 * Whether the system reads ahead of what is asked for, where the file is not in memory.
 */
typedef enum {
  /**
   * No.
   */
  TEAK_READ_AHEAD_OFF = 0,
  /**
   * While the file is at most half as long as the machine has memory.
   */
  TEAK_READ_AHEAD_AUTO = 1,
  /**
   * Yes.
   */
  TEAK_READ_AHEAD_ON = 2,
} teak_read_ahead;

/**
 * How keys or values are ordered.
 */
typedef enum {
  /**
   * As bytes, from the first to the last.
   */
  TEAK_ORDER_BYTES = 0,
  /**
   * As bytes, from the last to the first.
   */
  TEAK_ORDER_REVERSE_BYTES = 1,
  /**
   * As little-endian unsigned integers of 4 or 8 bytes.
   */
  TEAK_ORDER_INTEGER = 2,
  /**
   * As a comparison that the database was opened with.
   */
  TEAK_ORDER_CUSTOM = 3,
} teak_order;

/**
 * What a bound of a range is.
 */
typedef enum {
  /**
   * There is none.
   */
  TEAK_UNBOUNDED = 0,
  /**
   * The key belongs to the range.
   */
  TEAK_INCLUDED = 1,
  /**
   * It does not.
   */
  TEAK_EXCLUDED = 2,
} teak_bound_kind;

/**
 * Where a cursor goes.
 */
typedef enum {
  /**
   * To the first record.
   */
  TEAK_FIRST = 0,
  /**
   * To the last record.
   */
  TEAK_LAST = 1,
  /**
   * To the record behind its place; to the first, if it is nowhere yet.
   */
  TEAK_NEXT = 2,
  /**
   * To the record before its place; to the last, if it is nowhere yet.
   */
  TEAK_PREV = 3,
  /**
   * Nowhere, or, if its record is gone, to the one behind.
   */
  TEAK_CURRENT = 4,
  /**
   * To the first value of the next key.
   */
  TEAK_NEXT_KEY = 5,
  /**
   * To the last value of the key before.
   */
  TEAK_PREV_KEY = 6,
  /**
   * To the next value of its key. If there is none it stays where it is; so with the three below.
   */
  TEAK_NEXT_VALUE = 7,
  /**
   * To the value before, of its key.
   */
  TEAK_PREV_VALUE = 8,
  /**
   * To the first value of its key.
   */
  TEAK_FIRST_VALUE = 9,
  /**
   * To the last value of its key.
   */
  TEAK_LAST_VALUE = 10,
} teak_move;

/**
 * Which record is sought.
 */
typedef enum {
  /**
   * The first that is not before what is given.
   */
  TEAK_AT_LEAST = 0,
  /**
   * The one that is given; if there is none the answer is TEAK_NONE, and the cursor is at the first behind it.
   */
  TEAK_EXACT = 1,
  /**
   * The first behind what is given.
   */
  TEAK_GREATER = 2,
  /**
   * The last before what is given.
   */
  TEAK_LESS = 3,
  /**
   * The last that is not behind what is given.
   */
  TEAK_AT_MOST = 4,
} teak_seek;

/**
 * Which records a cursor removes.
 */
typedef enum {
  /**
   * The one that it is on.
   */
  TEAK_DELETE_CURRENT = 0,
  /**
   * All before its place.
   */
  TEAK_DELETE_BEFORE = 1,
  /**
   * The one that it is on, and all before.
   */
  TEAK_DELETE_UP_TO_CURRENT = 2,
  /**
   * The one that it is on, and all behind.
   */
  TEAK_DELETE_FROM_CURRENT = 3,
  /**
   * All behind its place.
   */
  TEAK_DELETE_AFTER = 4,
  /**
   * All.
   */
  TEAK_DELETE_ALL = 5,
  /**
   * Of the values of its key those before its place.
   */
  TEAK_DELETE_VALUES_BEFORE = 6,
  /**
   * Of the values of its key the one that it is on, and those before.
   */
  TEAK_DELETE_VALUES_UP_TO_CURRENT = 7,
  /**
   * Of the values of its key the one that it is on, and those behind.
   */
  TEAK_DELETE_VALUES_FROM_CURRENT = 8,
  /**
   * Of the values of its key those behind its place.
   */
  TEAK_DELETE_VALUES_AFTER = 9,
  /**
   * All values of its key.
   */
  TEAK_DELETE_ALL_VALUES = 10,
} teak_delete_scope;

/**
 * Which way a cursor goes.
 */
typedef enum {
  /**
   * From the first record to the last.
   */
  TEAK_FORWARD = 0,
  /**
   * From the last record to the first.
   */
  TEAK_BACKWARD = 1,
} teak_direction;

/**
 * What became of a record between two states.
 */
typedef enum {
  /**
   * Only the newer state has it.
   */
  TEAK_INSERTED = 0,
  /**
   * Both have its key, with different values.
   */
  TEAK_CHANGED = 1,
  /**
   * Only the older state has it.
   */
  TEAK_REMOVED = 2,
} teak_change;

/**
 * What has happened.
 */
typedef enum {
  /**
   * The database was opened.
   */
  TEAK_EVENT_OPENED = 0,
  /**
   * This process has committed something.
   */
  TEAK_EVENT_COMMIT = 1,
  /**
   * This process has flushed the file.
   */
  TEAK_EVENT_FLUSH = 2,
  /**
   * This process has made the file longer.
   */
  TEAK_EVENT_GROWN = 3,
  /**
   * This process has made the file shorter.
   */
  TEAK_EVENT_SHRUNK = 4,
  /**
   * A reader of an old state keeps space that is wanted.
   */
  TEAK_EVENT_SLOW_READER = 5,
  /**
   * Another process died while it wrote. What it had not committed is gone.
   */
  TEAK_EVENT_WRITER_DIED = 6,
  /**
   * A write or flush failed: nothing can be written until the database is opened anew.
   */
  TEAK_EVENT_POISONED = 7,
  /**
   * This process has closed the database.
   */
  TEAK_EVENT_CLOSED = 8,
  /**
   * Something that this version of the interface has no number for; the text says what.
   */
  TEAK_EVENT_OTHER = 9,
  /**
   * This process commits into a file that was removed, renamed or replaced since it was opened.
   */
  TEAK_EVENT_NAME_LOST = 10,
} teak_event_kind;

/**
 * What a write transaction does about a slow reader.
 */
typedef enum {
  /**
   * It makes the file longer, and does not ask again.
   */
  TEAK_SLOW_READER_GROW = 0,
  /**
   * It waits some milliseconds and looks again, and asks again if nothing has changed.
   */
  TEAK_SLOW_READER_WAIT = 1,
  /**
   * It cancels the reader, whose next call answers TEAK_SNAPSHOT_LOST, and waits until that has ended.
   */
  TEAK_SLOW_READER_CANCEL = 2,
  /**
   * It gives up: TEAK_HELD_BY_READER.
   */
  TEAK_SLOW_READER_GIVE_UP = 3,
} teak_slow_reader_choice;

/**
 * What a function answers that gives records.
 */
typedef enum {
  /**
   * There is one: key and value are set.
   */
  TEAK_GIVEN_RECORD = 0,
  /**
   * There are none any more.
   */
  TEAK_GIVEN_ALL = 1,
  /**
   * All that was given is to be forgotten.
   */
  TEAK_GIVE_UP = 2,
} teak_giving;

/**
 * What is done about a reader.
 */
typedef enum {
  /**
   * Nothing; the walk goes on.
   */
  TEAK_READER_LEAVE = 0,
  /**
   * Nothing, and the walk ends.
   */
  TEAK_READER_STOP = 1,
  /**
   * It is cancelled: its next call answers TEAK_SNAPSHOT_LOST, and its pages come back when it has ended. The walk goes on.
   */
  TEAK_READER_CANCEL = 2,
} teak_reader_choice;

/**
 * Why a file did not become as short as it was to be.
 */
typedef enum {
  /**
   * It did.
   */
  TEAK_COMPACT_REACHED = 0,
  /**
   * A limit of the options was reached, or the function that is told of progress has ended it.
   */
  TEAK_COMPACT_LIMIT = 1,
  /**
   * Readers see pages that would have to go, or all that keeps the pages that they would go to.
   */
  TEAK_COMPACT_READERS = 2,
  /**
   * Named snapshots do.
   */
  TEAK_COMPACT_NAMED_SNAPSHOTS = 3,
  /**
   * There is no room to move what is left: more is in use than was asked for, or the disk is full or the size limit reached where values would have to be
   * copied behind the end first.
   */
  TEAK_COMPACT_ROOM = 4,
  /**
   * Others write, for longer than it was to wait.
   */
  TEAK_COMPACT_WRITERS = 5,
  /**
   * Something that this version of the interface has no number for.
   */
  TEAK_COMPACT_OTHER = 6,
} teak_compact_obstacle;

/**
 * A place among the records of a table. It belongs to no transaction: each call is told which one it is for, and the table may change meanwhile.
 * Where a key has several values, each pair of key and value is a record.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_cursor;

/**
 * A transaction: one that reads a state which does not change, or the one that writes.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_txn;

/**
 * Bytes, which may be any. Those of no length need no address.
 */
typedef struct {
  /**
   * Where they begin.
   */
  const void *data;
  /**
   * How many there are.
   */
  size_t len;
} teak_slice;

/**
 * A key and its value.
 */
typedef struct {
  /**
   * The key.
   */
  teak_slice key;
  /**
   * The value.
   */
  teak_slice value;
} teak_record;

/**
 * What is known of an error. The caller sets size and gives its address to a function; if that answers with an error it fills the rest
 * in, and else leaves it alone. A null pointer is allowed where nobody wants to know.
 *
 * ```c
 * teak_error error = {.size = sizeof error};
 * teak_db db;
 * teak_options options = {.size = sizeof options, .create = TEAK_CREATE_NEVER};
 * assert(teak_db_open("/nowhere", &options, &db, &error) == TEAK_FILE_NOT_FOUND);
 * assert(error.code == TEAK_FILE_NOT_FOUND);
 * puts(error.message);
 * ```
 */
typedef struct {
  /**
   * sizeof(teak_error).
   */
  size_t size;
  /**
   * The teak_code that the function answered with.
   */
  int32_t code;
  /**
   * TEAK_IO: the errno of the system; else 0.
   */
  int32_t system_code;
  /**
   * TEAK_CORRUPTED: the damaged page; else UINT64_MAX.
   */
  uint64_t page;
  /**
   * TEAK_HELD_BY_READER: the process of the reader, if that is known; else 0.
   */
  uint32_t process;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * TEAK_HELD_BY_READER: the system's number of its thread; else 0.
   */
  uint64_t thread;
  /**
   * TEAK_HELD_BY_READER: the state that it reads; TEAK_SNAPSHOT_STALE: the newest one; TEAK_NOT_SORTED: which record of the input, from 0; else 0.
   */
  uint64_t number;
  /**
   * What happened and what to do, in UTF-8, ended by a zero; what does not fit is cut off.
   */
  char message[TEAK_MESSAGE_LEN];
} teak_error;

/**
 * What is called for each record. Another answer than 0 ends the scan.
 */
typedef int (*teak_record_function)(void *user, teak_slice key, teak_slice value);

/**
 * A table: a number in its database, which it has as long as that is open. It is the same for each who opens the table, in whatever transaction, and is not closed.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t number;
} teak_table;

/**
 * How long a file may be, and how it grows and shrinks.
 */
typedef struct {
  /**
   * The file does not become shorter than this.
   */
  uint64_t lower_limit_bytes;
  /**
   * Nor longer; 0 for no limit.
   */
  uint64_t upper_limit_bytes;
  /**
   * What it grows by; 0 for the engine's choice.
   */
  uint64_t growth_step_bytes;
  /**
   * What has to be free at its end before it is cut off; 0 for the engine's choice, UINT64_MAX for never.
   */
  uint64_t shrink_threshold_bytes;
} teak_geometry;

/**
 * How two keys follow each other: below zero, zero or above zero, as with memcmp. It may be called from any thread, from several at a time, and must
 * not call this library.
 */
typedef int (*teak_compare_function)(void *user, teak_slice a, teak_slice b);

/**
 * An order of the application's, under a name that stands in the file. The function and what `user` leads to have to stay as long as the process
 * has the database open.
 */
typedef struct {
  /**
   * 1 to 64 bytes of UTF-8, ended by a zero.
   */
  const char *name;
  /**
   * The order.
   */
  teak_compare_function compare;
  /**
   * What the function is given, or NULL.
   */
  void *user;
} teak_comparison;

/**
 * Is told of events: their kind, a teak_event_kind, and a line of text for a log. It is called by whichever thread something happens in, several at a time; it must
 * not call this library, and should return soon.
 */
typedef void (*teak_event_function)(void *user, uint32_t kind, teak_slice text);

/**
 * A reader of an old state that keeps space which a write transaction wants.
 */
typedef struct {
  /**
   * The id of its process, 0 if that is not known here.
   */
  uint32_t process;
  /**
   * How often this was asked before, for the same pages.
   */
  uint32_t asked;
  /**
   * The system's number of its thread.
   */
  uint64_t thread;
  /**
   * The state that it reads.
   */
  uint64_t transaction;
  /**
   * So many commits have become visible since.
   */
  uint64_t lag;
  /**
   * How long ago it began, in milliseconds.
   */
  uint64_t age_ms;
  /**
   * Pages that would be free without it.
   */
  uint64_t kept_pages;
  /**
   * So many pages are wanted.
   */
  uint64_t wanted_pages;
  /**
   * How long the file is.
   */
  uint64_t file_bytes;
  /**
   * 1 if it was cancelled, and has not ended yet.
   */
  uint64_t is_cancelled;
} teak_slow_reader;

/**
 * Is asked what to do about a slow reader: answers with a teak_slow_reader_choice; another number is TEAK_SLOW_READER_GROW. It is called by the thread that writes, and must
 * not use its transaction.
 */
typedef int (*teak_slow_reader_function)(void *user, const teak_slow_reader *reader);

/**
 * How a database is opened. Zero is the default of every field but the size.
 *
 * ```c
 * teak_options options = {.size = sizeof options, .page_size = 16384, .sharing = TEAK_SHARING_ALONE};
 * teak_db db;
 * check(teak_db_open(path, &options, &db, &error));
 * check(teak_db_close(db, &error));
 * ```
 */
typedef struct {
  /**
   * sizeof(teak_options).
   */
  size_t size;
  /**
   * Of a new database, in bytes: 4096 (the default) to 65536, a power of two.
   */
  uint32_t page_size;
  /**
   * A teak_create.
   */
  uint32_t create;
  /**
   * A teak_access.
   */
  uint32_t access;
  /**
   * A teak_sharing.
   */
  uint32_t sharing;
  /**
   * A teak_network.
   */
  uint32_t network;
  /**
   * A teak_faults.
   */
  uint32_t faults;
  /**
   * Of commits that ask for no other: a teak_durability. It is kept in the file.
   */
  uint32_t durability;
  /**
   * A teak_verification.
   */
  uint32_t verification;
  /**
   * How many bytes lazy commits may have written before they are flushed; UINT64_MAX for any number, 0 for what the file has. Kept in the file.
   */
  uint64_t flush_after_bytes;
  /**
   * How old a lazy commit may become before it is flushed, in milliseconds; 0 for what the file has. Kept in the file.
   */
  uint64_t flush_after_ms;
  /**
   * How long the file may become; UINT64_MAX for any length, 0 for what the file has. Kept in the file.
   */
  uint64_t size_limit_bytes;
  /**
   * The same in full, or NULL for what the file has. Kept in the file.
   */
  const teak_geometry *geometry;
  /**
   * How many bytes of pages a write transaction keeps in memory; 0 for 256 MiB.
   */
  uint64_t write_memory_bytes;
  /**
   * How many pages a commit may move from the end of the file, in per cent of those that it writes; 0 for 100, or TEAK_MOVE_NOTHING.
   */
  uint32_t move_percent;
  /**
   * A teak_read_ahead.
   */
  uint32_t read_ahead;
  /**
   * Orders of the application's, or NULL.
   */
  const teak_comparison *comparisons;
  /**
   * How many these are.
   */
  size_t comparison_count;
  /**
   * Is told what happens, or NULL.
   */
  teak_event_function on_event;
  /**
   * What that is given, or NULL.
   */
  void *event_user;
  /**
   * Is asked about slow readers, or NULL: then the file becomes longer.
   */
  teak_slow_reader_function on_slow_reader;
  /**
   * What that is given, or NULL.
   */
  void *slow_reader_user;
  /**
   * The path of the lock file, or NULL for that of the database with -lock behind it. All who have the database open at the same time say the same.
   */
  const char *lock_file;
  /**
   * The permissions of files that are created, less the mask of the process; 0 for 0666.
   */
  uint32_t file_mode;
  /**
   * 1 if a commit fails with TEAK_FILE_NOT_FOUND when the file was removed, renamed or replaced since it was opened; 0 if it is made, and the first is
   * TEAK_EVENT_NAME_LOST.
   */
  uint32_t require_name;
  /**
   * How long the journal is that the file gets for small durable commits; 0 for a sixty-fourth of a file of 32 MiB or more and 4 MiB at most, or TEAK_NO_JOURNAL.
   */
  uint64_t journal_bytes;
} teak_options;

/**
 * A database that is open.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_db;

/**
 * Counts of a database.
 *
 * ```c
 * teak_db_stat stat = {.size = sizeof stat};
 * check(teak_db_get_stat(db, &stat, &error));
 * assert(stat.page_size == 4096);
 * ```
 */
typedef struct {
  /**
   * sizeof(teak_db_stat).
   */
  size_t size;
  /**
   * Length of the file.
   */
  uint64_t file_bytes;
  /**
   * The size of a page in bytes.
   */
  uint64_t page_size;
  /**
   * Pages of the newest state.
   */
  uint64_t page_count;
  /**
   * Pages in use.
   */
  uint64_t used_pages;
  /**
   * Pages that are free.
   */
  uint64_t free_pages;
  /**
   * Pages that older states may still see.
   */
  uint64_t pending_pages;
  /**
   * The newest commit that readers see.
   */
  uint64_t transaction;
  /**
   * The newest commit that is on the disk.
   */
  uint64_t durable_transaction;
  /**
   * How many tables there are.
   */
  uint64_t table_count;
  /**
   * Read transactions that are open in this process.
   */
  uint64_t readers;
  /**
   * The longest key in bytes.
   */
  uint64_t max_key_len;
} teak_db_stat;

/**
 * Tells when a commit is on the disk.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_ticket;

/**
 * A read transaction of whatever process.
 */
typedef struct {
  /**
   * The id of its process, 0 if that is not known here.
   */
  uint32_t process;
  /**
   * 1 if it is parked: what it sees is given up when space is wanted.
   */
  uint32_t is_parked;
  /**
   * The system's number of the thread that began it.
   */
  uint64_t thread;
  /**
   * How long ago that was, in milliseconds.
   */
  uint64_t age_ms;
  /**
   * The state that it reads.
   */
  uint64_t transaction;
  /**
   * So many commits have become visible since.
   */
  uint64_t lag;
  /**
   * Pages that would be free if nobody read this state.
   */
  uint64_t kept_pages;
  /**
   * 1 if it was cancelled, and has not ended yet.
   */
  uint64_t is_cancelled;
} teak_reader;

/**
 * What is called for each reader; answers with a teak_reader_choice.
 */
typedef int (*teak_reader_function)(void *user, const teak_reader *reader);

/**
 * What is called for each table that differs between two states: its name, and a teak_change. Another answer than 0 ends the walk.
 */
typedef int (*teak_table_change_function)(void *user, teak_slice name, uint32_t change);

/**
 * What gives the next record, and answers with a teak_giving. What the slices lead to stays until it is called again, or the loading returns.
 */
typedef int (*teak_give_function)(void *user, teak_slice *key, teak_slice *value);

/**
 * What is called now and then while something takes long that cannot be ended: so much of so much is done.
 */
typedef void (*teak_watch_function)(void *user, uint64_t done, uint64_t total);

/**
 * How records in any order are loaded. Zeros are the defaults.
 */
typedef struct {
  /**
   * sizeof(teak_bulk_options).
   */
  size_t size;
  /**
   * So many bytes of records are sorted in memory; what is more goes to temporary files. 0 for 256 MiB.
   */
  uint64_t memory_bytes;
  /**
   * The directory of the temporary files; NULL for that of the database.
   */
  const char *directory;
  /**
   * Is told how many records there are, or NULL: of 0 while they are read and sorted, then how many of all are built into pages.
   */
  teak_watch_function progress;
  /**
   * What that is given, or NULL.
   */
  void *progress_user;
} teak_bulk_options;

/**
 * Where a range begins or ends. All zero for no bound.
 */
typedef struct {
  /**
   * A teak_bound_kind.
   */
  uint32_t kind;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The key.
   */
  teak_slice key;
} teak_bound;

/**
 * Counts since a database was opened, of this process. What a transaction did counts when it commits.
 */
typedef struct {
  /**
   * sizeof(teak_metrics).
   */
  size_t size;
  /**
   * Commits that changed something.
   */
  uint64_t commits;
  /**
   * Those of them that were left to the next flush, to be written together.
   */
  uint64_t deferred_commits;
  /**
   * Flushes that succeeded; commits share them.
   */
  uint64_t flushes;
  /**
   * Bytes of pages and records that these flushes brought to the disk.
   */
  uint64_t flushed_bytes;
  /**
   * Pages that commits have taken, large values included.
   */
  uint64_t taken_pages;
  /**
   * Those of them that took the place of a page of an earlier state, with its bytes.
   */
  uint64_t copied_pages;
  /**
   * Pages of earlier states that commits do not use any more.
   */
  uint64_t dead_pages;
  /**
   * Pages that nobody sees any more, found when a write transaction began.
   */
  uint64_t reclaimed_pages;
  /**
   * Leaves that were written before their commit, since there was no more memory for them.
   */
  uint64_t early_pages;
  /**
   * Pages that were added to trees since others were full; loading in bulk does not count.
   */
  uint64_t splits;
  /**
   * Pages whose contents went to a neighbour.
   */
  uint64_t merges;
  /**
   * Values that were written to pages of their own.
   */
  uint64_t large_values;
} teak_metrics;

/**
 * How long the steps of a commit took, in nanoseconds. A small durable commit that comes while another one is being flushed is written together with others: all of that is in `wait_ns`.
 */
typedef struct {
  /**
   * sizeof(teak_commit_latency).
   */
  size_t size;
  /**
   * Releasing some of what was dropped, and moving pages from the end of the file.
   */
  uint64_t tail_ns;
  /**
   * Finding checksums, and writing the roots of tables to the catalog.
   */
  uint64_t roots_ns;
  /**
   * Noting which pages were taken and which died.
   */
  uint64_t space_ns;
  /**
   * Writing pages, and making the file longer.
   */
  uint64_t write_ns;
  /**
   * Writing the commit record.
   */
  uint64_t record_ns;
  /**
   * Waiting for the disk, while others may write.
   */
  uint64_t wait_ns;
  /**
   * All of it.
   */
  uint64_t whole_ns;
} teak_commit_latency;

/**
 * A read transaction that is not used for now, and whose state a writer may give up when it wants the space.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_parked;

/**
 * What is called now and then while something takes long: so much of so much is done. Another answer than 0 ends it.
 */
typedef int (*teak_progress_function)(void *user, uint64_t done, uint64_t total);

/**
 * What a check has found.
 */
typedef struct {
  /**
   * sizeof(teak_check_report).
   */
  size_t size;
  /**
   * Pages of the file.
   */
  uint64_t pages;
  /**
   * Tables that were checked.
   */
  uint64_t tables;
  /**
   * Records of all tables.
   */
  uint64_t records;
  /**
   * Damages that were found.
   */
  uint64_t damages;
  /**
   * Tables that a newer version created, and that only such a version can check.
   */
  uint64_t unknown_tables;
  /**
   * Tables in orders whose comparisons are missing: all was checked but the order of their keys.
   */
  uint64_t unordered_tables;
} teak_check_report;

/**
 * What is called for each line of a text, in UTF-8. Another answer than 0 ends that.
 */
typedef int (*teak_line_function)(void *user, teak_slice line);

/**
 * How a damaged database is saved. Zeros are the defaults.
 */
typedef struct {
  /**
   * sizeof(teak_salvage_options).
   */
  size_t size;
  /**
   * The comparisons of its tables, or NULL. They stay as those of teak_options do.
   */
  const teak_comparison *comparisons;
  /**
   * How many these are.
   */
  size_t comparison_count;
  /**
   * Is told each line of what was saved and lost, in words, or NULL.
   */
  teak_line_function each;
  /**
   * What that is given, or NULL.
   */
  void *each_user;
  /**
   * Is told how many pages of how many were read, or NULL.
   */
  teak_watch_function progress;
  /**
   * What that is given, or NULL.
   */
  void *progress_user;
} teak_salvage_options;

/**
 * What was saved of a damaged database, and what was lost.
 */
typedef struct {
  /**
   * sizeof(teak_salvage_report).
   */
  size_t size;
  /**
   * The commit whose state was saved.
   */
  uint64_t transaction;
  /**
   * 1 if nothing of that state, and no named snapshot, was lost.
   */
  uint64_t is_complete;
  /**
   * Tables that were found.
   */
  uint64_t tables;
  /**
   * Records that were saved.
   */
  uint64_t records;
  /**
   * Records that are known to be lost.
   */
  uint64_t records_lost;
  /**
   * Tables that were not saved: a newer version created them, or their comparisons are missing.
   */
  uint64_t unsaved_tables;
  /**
   * Named snapshots, of which none is saved.
   */
  uint64_t lost_snapshots;
} teak_salvage_report;

/**
 * A named snapshot, as teak_snapshot_each tells of it.
 */
typedef struct {
  /**
   * Its name.
   */
  teak_slice name;
  /**
   * The commit whose state it is.
   */
  uint64_t transaction;
  /**
   * When that was made, in microseconds since the beginning of 1970.
   */
  uint64_t time_us;
  /**
   * Pages that would be free if nothing kept this state.
   */
  uint64_t kept_pages;
} teak_snapshot;

/**
 * What is called for each named snapshot. Another answer than 0 ends the walk.
 */
typedef int (*teak_snapshot_function)(void *user, const teak_snapshot *snapshot);

/**
 * A record that differs between two states.
 */
typedef struct {
  /**
   * A teak_change. Where a key has several values no pair is changed: it is removed, and another is inserted.
   */
  uint32_t change;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Its key.
   */
  teak_slice key;
  /**
   * Its value in the older state; empty if that does not have it.
   */
  teak_slice old_value;
  /**
   * Its value in the newer state; empty if that does not have it.
   */
  teak_slice new_value;
} teak_difference;

/**
 * What is called for each difference. Another answer than 0 ends the walk.
 */
typedef int (*teak_difference_function)(void *user, const teak_difference *difference);

/**
 * How a table is created. Zero is the default of every field but the size.
 *
 * ```c
 * teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_INTEGER};
 * teak_txn txn;
 * teak_table table;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("blocks"), &options, &table, &error));
 * uint64_t height = 840000;
 * check(teak_insert(txn, table, (teak_slice){&height, sizeof height}, teak_text("halving"), &error));
 * check(teak_txn_commit(txn, NULL, &error));
 * ```
 */
typedef struct {
  /**
   * sizeof(teak_table_options).
   */
  size_t size;
  /**
   * How keys are ordered: a teak_order.
   */
  uint32_t order;
  /**
   * 1 if each key stands whole in its page, in place of sharing a prefix with its neighbours.
   */
  uint32_t whole_keys;
  /**
   * 1 if the table counts, so that ranks are found in two descents.
   */
  uint32_t counted;
  /**
   * To how many bytes values are aligned in memory: 1 (the default), 2, 4, 8 or 16.
   */
  uint32_t value_align;
  /**
   * 1 if a key has several values.
   */
  uint32_t several_values;
  /**
   * How values of a key are ordered that has several: a teak_order.
   */
  uint32_t value_order;
  /**
   * How many bytes each value has of a key that has several: 0 for any number, or TEAK_VALUE_SIZE_AS_FIRST.
   */
  uint32_t value_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * TEAK_ORDER_CUSTOM: the name of the comparison of keys.
   */
  const char *comparison;
  /**
   * TEAK_ORDER_CUSTOM: the name of the comparison of values.
   */
  const char *value_comparison;
} teak_table_options;

/**
 * Counts of a table.
 */
typedef struct {
  /**
   * sizeof(teak_table_stat).
   */
  size_t size;
  /**
   * Records, or, where a key has several values, pairs.
   */
  uint64_t records;
  /**
   * Levels of pages.
   */
  uint64_t depth;
  /**
   * Inner pages.
   */
  uint64_t inner_pages;
  /**
   * Leaves.
   */
  uint64_t leaf_pages;
  /**
   * Pages of large values, and of the values of keys that have many.
   */
  uint64_t value_pages;
  /**
   * The commit that changed it last.
   */
  uint64_t changed;
  /**
   * The number that its sequence gives next.
   */
  uint64_t sequence;
  /**
   * 1 if a key has several values.
   */
  uint64_t several_values;
} teak_table_stat;

/**
 * What is called for each table: its name, and whether a key has several values (1) or not (0). Another answer than 0 ends the walk.
 */
typedef int32_t (*teak_table_function)(void *user, teak_slice name, uint32_t several_values);

/**
 * How short a compaction makes the file, how much it does for that, and how fast. Zeros are the defaults: as short as it can be, without a limit.
 */
typedef struct {
  /**
   * sizeof(teak_compact_options).
   */
  size_t size;
  /**
   * It ends when the file is no longer than this; 0 for no such length.
   */
  uint64_t until_file_bytes;
  /**
   * It ends when no more than this part of the file is free, of a hundred; 0 for no such part.
   */
  uint64_t until_free_percent;
  /**
   * It ends when about so many bytes were moved; 0 for no such limit.
   */
  uint64_t max_moved_bytes;
  /**
   * About so many bytes are moved with each commit, at most; 0 for 4,096 pages.
   */
  uint64_t max_commit_bytes;
  /**
   * It waits so many milliseconds between two commits that move something.
   */
  uint64_t pause_ms;
  /**
   * It ends where others write for more milliseconds than these before one of its commits; 0 to wait for as long as they do.
   */
  uint64_t max_wait_ms;
} teak_compact_options;

/**
 * What a compaction has done.
 */
typedef struct {
  /**
   * sizeof(teak_compact_report).
   */
  size_t size;
  /**
   * Pages that were moved.
   */
  uint64_t moved_pages;
  /**
   * How long the file is now.
   */
  uint64_t file_bytes;
  /**
   * A teak_compact_obstacle: what was in the way, or that the file is as short as it was to be.
   */
  uint64_t obstacle;
} teak_compact_report;

/**
 * A damage, as teak_db_check tells of it.
 */
typedef struct {
  /**
   * The page; UINT64_MAX if it is none.
   */
  uint64_t page;
  /**
   * The name of the table; empty for none.
   */
  teak_slice table;
  /**
   * What is wrong, in UTF-8.
   */
  teak_slice detail;
} teak_damage;

/**
 * What is called for each damage. Another answer than 0 ends the telling.
 */
typedef int (*teak_damage_function)(void *user, const teak_damage *damage);

/**
 * Reads records into an array, the one that the cursor is on first, and has the cursor go on to the first that is not read; TEAK_NONE if there are none any more. `count` is where their number goes.
 *
 * Threads: any, while no other call uses the cursor. Lives: keys until the next call with the cursor; values as those of teak_get, or, where a key has
 * several, as the keys.
 *
 * Errors: as teak_cursor_move.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_cursor cursor;
 * teak_record records[100];
 * size_t count, sum = 0;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
 * check(teak_insert(txn, table, teak_text("elm"), teak_text("2"), &error));
 * check(teak_cursor_open(txn, table, &cursor, &error));
 * while (teak_cursor_read(cursor, txn, TEAK_FORWARD, records, 100, &count, &error) == TEAK_OK)
 *     sum += count;
 * assert(sum == 2);
 * check(teak_cursor_close(cursor, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_cursor_read(teak_cursor cursor,
                           teak_txn txn,
                           uint32_t direction,
                           teak_record *records,
                           size_t max,
                           size_t *count,
                           teak_error *error);

/**
 * Calls a function for each record from the one that the cursor is on, without copies and without another call across the border; TEAK_NONE when there are none any more, and
 * TEAK_OK if the function has ended the scan: the cursor is on the record of that call then. The function may read by the same transaction, with other cursors.
 *
 * Threads: any, while no other call uses the cursor. Lives: what the function is given until it returns.
 *
 * Errors: as teak_cursor_move.
 */
teak_code teak_cursor_scan(teak_cursor cursor,
                           teak_txn txn,
                           uint32_t direction,
                           teak_record_function each,
                           void *user,
                           teak_error *error);

/**
 * A sentence about a code, which lives as long as the library. The message of a teak_error says more. Any thread; a number that is
 * no code is said to be none.
 *
 * ```c
 * puts(teak_code_text(TEAK_TABLE_NOT_FOUND));
 * ```
 */
const char *teak_code_text(int32_t code);

/**
 * Opens a cursor over a table. The transaction only says in which database; the cursor is nowhere yet.
 *
 * Threads: any; the cursor may go from one thread to another, and be used by one call at a time. Lives: until teak_cursor_close.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_cursor cursor;
 * teak_record record;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
 * check(teak_insert(txn, table, teak_text("elm"), teak_text("2"), &error));
 * check(teak_cursor_open(txn, table, &cursor, &error));
 * teak_code code;
 * while ((code = teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error)) == TEAK_OK)
 *     printf("%.*s\n", (int)record.key.len, (const char *)record.key.data);
 * assert(code == TEAK_NONE); // and no error
 * check(teak_cursor_close(cursor, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_cursor_open(teak_txn txn,
                           teak_table table,
                           teak_cursor *cursor,
                           teak_error *error);

/**
 * Another cursor at the same place.
 *
 * Threads: any. Lives: until teak_cursor_close.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_clone(teak_cursor cursor, teak_cursor *clone, teak_error *error);

/**
 * Closes a cursor.
 *
 * Threads: any, while no other call uses the cursor. Lives: keys, and values that it gave where a key has several, must not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_close(teak_cursor cursor,
                            teak_error *error);

/**
 * Has a cursor be nowhere again, as in the beginning.
 *
 * Threads: any, while no other call uses the cursor.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_reset(teak_cursor cursor, teak_error *error);

/**
 * Moves a cursor as a teak_move says, and gives the record that it is on then, unless `record` is NULL; TEAK_NONE if there is none, and the record is empty.
 *
 * Threads: any, while no other call uses the cursor. Lives: the key until the next call with the cursor; the value as that of teak_get, or, where a key has
 * several, as the key.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_INVALID_ARGUMENT, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO,
 * TEAK_SNAPSHOT_LOST, TEAK_FORKED. The cursor stays where it is then.
 */
teak_code teak_cursor_move(teak_cursor cursor,
                           teak_txn txn,
                           uint32_t to,
                           teak_record *record,
                           teak_error *error);

/**
 * Seeks a key as a teak_seek says, and gives the record that the cursor is on then, unless `record` is NULL; TEAK_NONE if there is none. Where a key has several values
 * it goes to the first of them, or, if it comes from behind (TEAK_LESS, TEAK_AT_MOST), to the last.
 *
 * Threads, lives, errors: as teak_cursor_move.
 */
teak_code teak_cursor_seek(teak_cursor cursor,
                           teak_txn txn,
                           uint32_t seek,
                           teak_slice key,
                           teak_record *record,
                           teak_error *error);

/**
 * Seeks a pair of key and value, in a table in which a key has several.
 *
 * Threads, lives, errors: as teak_cursor_move.
 *
 * ```c
 * teak_table_options options = {.size = sizeof options, .several_values = 1};
 * teak_txn txn;
 * teak_table lines;
 * teak_cursor cursor;
 * teak_record record;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("lines"), &options, &lines, &error));
 * check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("3"), &error));
 * check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("5"), &error));
 * check(teak_cursor_open(txn, lines, &cursor, &error));
 * check(teak_cursor_seek_pair(cursor, txn, TEAK_GREATER, teak_text("teak"), teak_text("3"), &record, &error));
 * assert(record.value.len == 1 && *(const char *)record.value.data == '5');
 * assert(teak_cursor_move(cursor, txn, TEAK_NEXT_VALUE, &record, &error) == TEAK_NONE);
 * check(teak_cursor_close(cursor, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_cursor_seek_pair(teak_cursor cursor,
                                teak_txn txn,
                                uint32_t seek,
                                teak_slice key,
                                teak_slice value,
                                teak_record *record,
                                teak_error *error);

/**
 * Seeks among the values of one key, in a table in which a key has several; if there is none the cursor stays where it is.
 *
 * Threads, lives, errors: as teak_cursor_move.
 */
teak_code teak_cursor_seek_value(teak_cursor cursor,
                                 teak_txn txn,
                                 uint32_t seek,
                                 teak_slice key,
                                 teak_slice value,
                                 teak_record *record,
                                 teak_error *error);

/**
 * Goes to a record by its number in the order of the table, counted from 0, and gives it, unless `record` is NULL; TEAK_NONE if there are not so many. Only for tables that
 * count; takes one descent. teak_rank is the reverse.
 *
 * Threads, lives, errors: as teak_cursor_move; TEAK_INVALID_ARGUMENT for a table that does not count.
 */
teak_code teak_cursor_nth(teak_cursor cursor,
                          teak_txn txn,
                          uint64_t number,
                          teak_record *record,
                          teak_error *error);

/**
 * Gives the record that a cursor is on, without moving it; TEAK_NONE if the table does not have that now.
 *
 * Threads, lives, errors: as teak_cursor_move.
 */
teak_code teak_cursor_record(teak_cursor cursor, teak_txn txn, teak_record *record, teak_error *error);

/**
 * How many values the key of a cursor's place has, known without reading them; 1 or 0 where a key has one value.
 *
 * Threads, errors: as teak_cursor_move.
 */
teak_code teak_cursor_count_values(teak_cursor cursor, teak_txn txn, uint64_t *count, teak_error *error);

/**
 * Inserts a record, in place of one that has the key already, or, where a key has several values, a pair; the cursor is on it then.
 *
 * Threads: any, while no other call uses the cursor or the transaction.
 *
 * Errors: those of teak_insert and teak_cursor_move.
 */
teak_code teak_cursor_insert(teak_cursor cursor,
                             teak_txn txn,
                             teak_slice key,
                             teak_slice value,
                             teak_error *error);

/**
 * Inserts a record if there is none of its key; TEAK_NONE if there is, and the cursor is on that then.
 *
 * Threads, errors: as teak_cursor_insert.
 */
teak_code teak_cursor_insert_new(teak_cursor cursor, teak_txn txn, teak_slice key, teak_slice value, teak_error *error);

/**
 * Gives the record that the cursor is on another value; TEAK_NONE if it is on none, or, where a key has several values, the key has that value too.
 *
 * Threads, errors: as teak_cursor_insert.
 */
teak_code teak_cursor_update(teak_cursor cursor,
                             teak_txn txn,
                             teak_slice value,
                             teak_error *error);

/**
 * Removes records as a teak_delete_scope says; TEAK_NONE if there were none. `removed` is where their number goes, or NULL. The cursor's place stays what it is: TEAK_NEXT goes on behind it.
 *
 * Threads, errors: as teak_cursor_insert.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_cursor cursor;
 * teak_record record;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
 * check(teak_insert(txn, table, teak_text("elm"), teak_text("2"), &error));
 * check(teak_cursor_open(txn, table, &cursor, &error));
 * while (teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error) == TEAK_OK)
 *     if (*(const char *)record.value.data == '1')
 *         check(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, NULL, &error));
 * check(teak_cursor_move(cursor, txn, TEAK_FIRST, &record, &error));
 * assert(memcmp(record.key.data, "elm", 3) == 0);
 * check(teak_cursor_close(cursor, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_cursor_remove(teak_cursor cursor,
                             teak_txn txn,
                             uint32_t scope,
                             uint64_t *removed,
                             teak_error *error);

/**
 * How the places of two cursors follow each other: -1, 0 or 1; TEAK_NONE if they are of different tables, or one is nowhere.
 *
 * Threads: any, while no other call uses the cursors, which must be two.
 *
 * Errors: as teak_cursor_move.
 */
teak_code teak_cursor_compare(teak_cursor cursor,
                              teak_cursor other,
                              teak_txn txn,
                              int32_t *order,
                              teak_error *error);

/**
 * Opens the database at a path, or creates it. `options` may be NULL. On an error `db` is a handle of none.
 *
 * Threads: any. Lives: until teak_db_close. What this is given need not live longer than the call, but for the comparisons and functions in the options.
 *
 * Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE, TEAK_UNKNOWN_FORMAT, TEAK_IN_USE, TEAK_OPTIONS_DIFFER,
 * TEAK_NETWORK_FILE_SYSTEM, TEAK_CORRUPTED, TEAK_IO, TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW.
 *
 * ```c
 * teak_db db;
 * check(teak_db_open(path, NULL, &db, &error));
 * check(teak_db_close(db, &error));
 * assert(teak_db_close(db, &error) == TEAK_INVALID_HANDLE);
 * ```
 */
teak_code teak_db_open(const char *path,
                       const teak_options *options,
                       teak_db *db,
                       teak_error *error);

/**
 * Writes the path of the lock file that the database at `path` has, or would have unless lock_file of the options names another, with a zero behind it into
 * `lock_file`, where there are `room` bytes. Symbolic links in `path` are followed. Neither file has to exist, but their directory does.
 *
 * Threads: any.
 *
 * Errors: TEAK_IO if the directory does not exist or cannot be read; TEAK_INVALID_ARGUMENT if the path needs more room.
 *
 * ```c
 * char lock_file[4096];
 * check(teak_lock_file_of(path, lock_file, sizeof lock_file, &error));
 * assert(strstr(lock_file, "-lock"));
 * ```
 */
teak_code teak_lock_file_of(const char *path,
                            char *lock_file,
                            size_t room,
                            teak_error *error);

/**
 * Another handle of the same opening, so that threads which begin many transactions need not share one. Tables, transactions and tickets are
 * common to both.
 *
 * Threads: any. Lives: until teak_db_close, whatever becomes of the first handle.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_db_clone(teak_db db,
                        teak_db *clone,
                        teak_error *error);

/**
 * Closes a database. The last handle of an opening brings what is committed to the disk, and what fails there is told. Read transactions and
 * tickets that are there stay usable; new ones cannot begin.
 *
 * Threads: any, while no other call uses the handle. The handle ends also if there is an error, except with the first two.
 *
 * Errors: TEAK_INVALID_HANDLE; TEAK_BUSY while the handle is used, or, of the last one, while a write transaction is open; TEAK_IO, TEAK_POISONED.
 */
teak_code teak_db_close(teak_db db,
                        teak_error *error);

/**
 * Counts of the newest state, into a structure whose size is set.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED, TEAK_CORRUPTED.
 */
teak_code teak_db_get_stat(teak_db db, teak_db_stat *stat, teak_error *error);

/**
 * Returns when all that is committed is on the disk.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_IO, TEAK_POISONED, TEAK_FORKED.
 */
teak_code teak_db_sync(teak_db db, teak_error *error);

/**
 * Has all that is committed brought to the disk; a ticket tells when it is there.
 *
 * Threads: any. Lives: the ticket until teak_ticket_end.
 *
 * Errors: those of teak_db_sync.
 */
teak_code teak_db_begin_sync(teak_db db, teak_ticket *ticket, teak_error *error);

/**
 * A ticket of a commit of this process, by its number.
 *
 * Threads: any. Lives: the ticket until teak_ticket_end.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED; TEAK_INVALID_ARGUMENT if there is no such commit yet.
 */
teak_code teak_db_ticket(teak_db db,
                         uint64_t transaction,
                         teak_ticket *ticket,
                         teak_error *error);

/**
 * What to do about an errno of the system, in UTF-8, as messages of this library say it; empty for those that are seldom. It is there as long as the
 * library.
 */
teak_slice teak_remedy(int32_t system_code);

/**
 * Calls a function for each read transaction that is open, of all processes; TEAK_NONE if it has ended that before the last one.
 *
 * Threads: any. Lives: what the function is given until it returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_CORRUPTED; TEAK_INVALID_ARGUMENT if it answers with something else.
 */
teak_code teak_db_each_reader(teak_db db,
                              teak_reader_function each,
                              void *user,
                              teak_error *error);

/**
 * Waits until there is a commit newer than `after`, of whatever process, and gives the number of the newest that readers see; for at most so many milliseconds (TEAK_NONE if that was not enough),
 * or, with UINT64_MAX, for as long as it takes. Whoever then begins to read, and compares with what he read before by teak_changed_tables and teak_differences, follows all that is committed.
 *
 * Threads: any; the database may be closed meanwhile.
 *
 * Errors: TEAK_INVALID_HANDLE; TEAK_INVALID_ARGUMENT if the database was closed meanwhile.
 *
 * ```c
 * teak_txn before, txn;
 * teak_table table;
 * uint64_t seen, newest;
 * check(teak_txn_begin_read(db, &before, &error));
 * check(teak_txn_id(before, &seen, &error));
 * assert(teak_db_wait_for_commit(db, seen, 0, &newest, &error) == TEAK_NONE);
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
 * check(teak_txn_commit(txn, NULL, &error));
 * check(teak_db_wait_for_commit(db, seen, UINT64_MAX, &newest, &error));
 * assert(newest > seen);
 * check(teak_txn_end(before, &error));
 * ```
 */
teak_code teak_db_wait_for_commit(teak_db db,
                                  uint64_t after,
                                  uint64_t limit_ms,
                                  uint64_t *newest,
                                  teak_error *error);

/**
 * Calls a function for each table that was created (TEAK_INSERTED), dropped (TEAK_REMOVED) or changed since an older state, in the order of their names; TEAK_NONE if it has ended that before the last one. One that
 * was renamed was dropped and created.
 *
 * Threads: any. Lives: the name until the function returns.
 *
 * Errors: as teak_differences.
 */
teak_code teak_changed_tables(teak_txn older,
                              teak_txn newer,
                              teak_table_change_function each,
                              void *user,
                              teak_error *error);

/**
 * Gives the id of the process that writes at this moment; TEAK_NONE if none does, or if it is not known here, as in another PID namespace. It is whom a
 * teak_txn_begin_write waits for. A process may keep its turn between two transactions, to commit what it has in memory.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 *
 * ```c
 * uint32_t writer;
 * teak_txn txn;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_db_writer_process(db, &writer, &error));
 * assert(writer != 0);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_db_writer_process(teak_db db,
                                 uint32_t *process,
                                 teak_error *error);

/**
 * Loads records that are sorted in the order of the table (where a key has several values, by key and then by value): pages are built from the leaves up, each written once and full. A table that has records takes only such as are behind
 * its last one. `count` is where the number of records goes. TEAK_NONE if the function has stopped it. Then, and with an error, nothing is changed.
 *
 * Threads: any, while no other call uses the transaction; the function must not use it either. Lives: nothing is kept.
 *
 * Errors: TEAK_NOT_SORTED; those of teak_insert.
 *
 * ```c
 * static int32_t give_number(void *user, teak_slice *key, teak_slice *value) {
 *     static unsigned char bytes[2];
 *     int *number = user;
 *     if (*number == 1000)
 *         return TEAK_GIVEN_ALL;
 *     bytes[0] = (unsigned char)(*number >> 8);
 *     bytes[1] = (unsigned char)*number;
 *     *key = (teak_slice){bytes, 2};
 *     *value = teak_text("");
 *     ++*number;
 *     return TEAK_GIVEN_RECORD;
 * }
 *
 * teak_txn txn;
 * teak_table numbers;
 * int first = 0;
 * uint64_t count;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("numbers"), NULL, &numbers, &error));
 * check(teak_bulk_load(txn, numbers, give_number, &first, &count, &error));
 * assert(count == 1000);
 * check(teak_txn_commit(txn, NULL, &error));
 * ```
 */
teak_code teak_bulk_load(teak_txn txn,
                         teak_table table,
                         teak_give_function next,
                         void *user,
                         uint64_t *count,
                         teak_error *error);

/**
 * Loads records in any order: they are sorted first, in memory and in temporary files, and then built into pages as by teak_bulk_load. Of records with equal keys the last one counts; where a key has several values, a pair that comes
 * several times is loaded once. A table that has records gets them inserted. `options` may be NULL. TEAK_NONE if the function has stopped it. Then, and with an error, nothing is changed.
 *
 * Threads, lives: as teak_bulk_load.
 *
 * Errors: TEAK_IO of the temporary files; those of teak_insert.
 */
teak_code teak_bulk_load_unsorted(teak_txn txn,
                                  teak_table table,
                                  teak_give_function next,
                                  void *user,
                                  const teak_bulk_options *options,
                                  uint64_t *count,
                                  teak_error *error);

/**
 * Copies all records of a range of keys to another table, which may have another order, and is of the same kind: of one value for each key, or of several. There they replace those with the same keys. `count` is where the number of those that
 * were copied goes. With an error nothing is changed.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_ARGUMENT if both are the same table, or the other one cannot have some of the keys or values; TEAK_TABLE_MISMATCH if it is of another kind; those of teak_insert.
 *
 * ```c
 * teak_txn txn;
 * teak_table trees, old;
 * uint64_t count;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("trees"), NULL, &trees, &error));
 * check(teak_table_create(txn, teak_text("old trees"), NULL, &old, &error));
 * check(teak_insert(txn, trees, teak_text("ash"), teak_text("1"), &error));
 * check(teak_insert(txn, trees, teak_text("oak"), teak_text("2"), &error));
 * teak_bound all = {0}, b = {.kind = TEAK_EXCLUDED, .key = teak_text("b")};
 * check(teak_move_range(txn, trees, old, all, b, &count, &error));
 * assert(count == 1);
 * teak_slice value;
 * check(teak_get(txn, old, teak_text("ash"), &value, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_copy_range(teak_txn txn,
                          teak_table from,
                          teak_table to,
                          teak_bound low,
                          teak_bound high,
                          uint64_t *count,
                          teak_error *error);

/**
 * Moves all records of a range of keys to another table: as teak_copy_range, and removes them.
 *
 * Threads, errors: as teak_copy_range.
 */
teak_code teak_move_range(teak_txn txn,
                          teak_table from,
                          teak_table to,
                          teak_bound low,
                          teak_bound high,
                          uint64_t *count,
                          teak_error *error);

/**
 * Gives counts of what was done since the database was opened. No lock is taken.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 *
 * ```c
 * teak_metrics metrics = {.size = sizeof metrics};
 * check(teak_db_metrics(db, &metrics, &error));
 * assert(metrics.commits >= metrics.deferred_commits);
 * ```
 */
teak_code teak_db_metrics(teak_db db, teak_metrics *metrics, teak_error *error);

/**
 * Commits as teak_txn_commit does, and tells how long its steps took. `id` and `latency`, whose size is set, may be NULL.
 *
 * Threads, errors: as teak_txn_commit.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_commit_latency latency = {.size = sizeof latency};
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
 * check(teak_txn_commit_measured(txn, NULL, &latency, &error));
 * assert(latency.wait_ns <= latency.whole_ns);
 * ```
 */
teak_code teak_txn_commit_measured(teak_txn txn,
                                   uint64_t *id,
                                   teak_commit_latency *latency,
                                   teak_error *error);

/**
 * Adds a value to those of a key; TEAK_NONE if the key has it already.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_insert; TEAK_VALUE_TOO_LONG.
 */
teak_code teak_insert_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Adds many values to those of a key. `inserted` is where the number of those goes that it did not have, or NULL.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_insert_values(teak_txn txn,
                             teak_table table,
                             teak_slice key,
                             const teak_slice *values,
                             size_t count,
                             uint64_t *inserted,
                             teak_error *error);

/**
 * Says whether a key has a value.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_contains_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * How many values a key has, known without reading them; TEAK_NONE if it has none.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_count_values(teak_txn txn, teak_table table, teak_slice key, uint64_t *count, teak_error *error);

/**
 * Gives a key one value in place of another; TEAK_NONE if it does not have the old one, or has the new one too.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_replace_pair(teak_txn txn,
                            teak_table table,
                            teak_slice key,
                            teak_slice old,
                            teak_slice new_value,
                            teak_error *error);

/**
 * Takes a value from a key; TEAK_NONE if it does not have it.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_remove_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Removes a key with all its values; TEAK_NONE if it has none. `removed` is where their number goes, or NULL.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_remove_values(teak_txn txn, teak_table table, teak_slice key, uint64_t *removed, teak_error *error);

/**
 * Parks a read transaction, whose handle ends: what it sees stays, unless a writer wants the space. For transactions of users who may never come back.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read must not be used any more; the parked transaction until teak_parked_resume or
 * teak_parked_end.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if there is a clone of it, TEAK_SNAPSHOT_LOST if it was cancelled, and it has ended then.
 *
 * ```c
 * teak_txn txn;
 * teak_parked parked;
 * check(teak_txn_begin_read(db, &txn, &error));
 * check(teak_txn_park(txn, &parked, &error));
 * // ... much later
 * teak_code code = teak_parked_resume(parked, &txn, &error);
 * assert(code == TEAK_OK || code == TEAK_SNAPSHOT_LOST);
 * if (code == TEAK_OK)
 *     check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_txn_park(teak_txn txn,
                        teak_parked *parked,
                        teak_error *error);

/**
 * Goes on reading the same state. The parked transaction ends, whatever the answer is.
 *
 * Threads: any. Lives: as teak_txn_begin_read.
 *
 * Errors: TEAK_SNAPSHOT_LOST if the state was given up, or the transaction cancelled: begin anew. TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_parked_resume(teak_parked parked,
                             teak_txn *txn,
                             teak_error *error);

/**
 * Ends a parked transaction: nobody will go on with it.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_parked_end(teak_parked parked, teak_error *error);

/**
 * Counts the records of a range of keys, or, where a key has several values, the pairs. In a table that counts it takes two descents.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT.
 */
teak_code teak_count_range(teak_txn txn,
                           teak_table table,
                           teak_bound low,
                           teak_bound high,
                           uint64_t *count,
                           teak_error *error);

/**
 * Estimates how many records, or pairs, a range of keys has, by looking at two paths: there are not fewer than `at_least` and not more than `at_most`. All three may be NULL.
 *
 * Threads, errors: as teak_count_range.
 */
teak_code teak_estimate_range(teak_txn txn,
                              teak_table table,
                              teak_bound low,
                              teak_bound high,
                              uint64_t *records,
                              uint64_t *at_least,
                              uint64_t *at_most,
                              teak_error *error);

/**
 * How two keys follow each other in the order of a table, whether it has them or not: -1, 0 or 1.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for an integer of another length than the keys.
 *
 * ```c
 * teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_REVERSE_BYTES};
 * teak_txn txn;
 * teak_table table;
 * int32_t order;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), &options, &table, &error));
 * check(teak_compare_keys(txn, table, teak_text("ab"), teak_text("ba"), &order, &error));
 * assert(order == 1);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_compare_keys(teak_txn txn,
                            teak_table table,
                            teak_slice a,
                            teak_slice b,
                            int32_t *order,
                            teak_error *error);

/**
 * The same for values, in a table in which a key has several.
 *
 * Threads, errors: as teak_compare_keys.
 */
teak_code teak_compare_values(teak_txn txn,
                              teak_table table,
                              teak_slice a,
                              teak_slice b,
                              int32_t *order,
                              teak_error *error);

/**
 * How many records have smaller keys: the number of this one, counted from 0, if it is there. Only for tables that count, and whose keys have one value; takes one descent.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for a table that does not count.
 *
 * ```c
 * teak_table_options options = {.size = sizeof options, .counted = 1};
 * teak_txn txn;
 * teak_table words;
 * teak_cursor cursor;
 * teak_record record;
 * uint64_t rank;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), &options, &words, &error));
 * check(teak_insert(txn, words, teak_text("ash"), teak_text("1"), &error));
 * check(teak_insert(txn, words, teak_text("elm"), teak_text("2"), &error));
 * check(teak_rank(txn, words, teak_text("elm"), &rank, &error));
 * assert(rank == 1);
 * check(teak_cursor_open(txn, words, &cursor, &error));
 * check(teak_cursor_nth(cursor, txn, rank, &record, &error));
 * assert(memcmp(record.key.data, "elm", 3) == 0);
 * check(teak_cursor_close(cursor, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_rank(teak_txn txn,
                    teak_table table,
                    teak_slice key,
                    uint64_t *rank,
                    teak_error *error);

/**
 * How many pairs are before this one, by key and then by value, in a table that counts and in which a key has several values.
 *
 * Threads, errors: as teak_rank.
 */
teak_code teak_rank_pair(teak_txn txn,
                         teak_table table,
                         teak_slice key,
                         teak_slice value,
                         uint64_t *rank,
                         teak_error *error);

/**
 * Cuts a range in parts that have about as many records, or pairs, each, for several threads or processes to read: calls a function with the key (and, where a key has several, the
 * value) with which each part begins, but the first; TEAK_NONE if it has ended that before the last one. There are `parts` of them, but no more than there are records, and no more than 65,536.
 *
 * Threads: any. Lives: what the function is given until it returns.
 *
 * Errors: as teak_count_range; TEAK_INVALID_ARGUMENT for no parts.
 */
teak_code teak_split_range(teak_txn txn,
                           teak_table table,
                           teak_bound low,
                           teak_bound high,
                           size_t parts,
                           teak_record_function each,
                           void *user,
                           teak_error *error);

/**
 * Finds the value of a key; TEAK_NONE if there is none, and the value is empty then.
 *
 * Threads: any. Lives: the value as long as a read transaction or a clone of it, and in a write transaction until its next change.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_slice value;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("ages"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("Ada"), teak_text("36"), &error));
 * check(teak_get(txn, table, teak_text("Ada"), &value, &error));
 * assert(value.len == 2 && memcmp(value.data, "36", 2) == 0);
 * assert(teak_get(txn, table, teak_text("Bob"), &value, &error) == TEAK_NONE);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_get(teak_txn txn,
                   teak_table table,
                   teak_slice key,
                   teak_slice *value,
                   teak_error *error);

/**
 * Finds the values of many keys in less time than one by one: the value of `keys[i]` goes to `values[i]`, with a data of NULL if there is none. `found` is
 * where the number of those goes that there are, or NULL.
 *
 * Threads, lives, errors: as teak_get. After an error nothing is said of the values.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("ages"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("Ada"), teak_text("36"), &error));
 * teak_slice keys[] = {teak_text("Ada"), teak_text("Bob")}, values[2];
 * size_t found;
 * check(teak_get_many(txn, table, keys, 2, values, &found, &error));
 * assert(found == 1 && values[0].len == 2 && values[1].data == NULL);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_get_many(teak_txn txn,
                        teak_table table,
                        const teak_slice *keys,
                        size_t count,
                        teak_slice *values,
                        size_t *found,
                        teak_error *error);

/**
 * Says whether there is a record of a key.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_contains(teak_txn txn, teak_table table, teak_slice key, teak_error *error);

/**
 * Inserts a record, in place of one that has the key already.
 *
 * Threads: any, while no other call uses the transaction. What is given may come from the same transaction: it is read before anything is changed.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_KEY_TOO_LONG,
 * TEAK_INVALID_ARGUMENT, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_insert(teak_txn txn,
                      teak_table table,
                      teak_slice key,
                      teak_slice value,
                      teak_error *error);

/**
 * Inserts a record if there is none of its key; TEAK_NONE if there is, which stays as it is.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_insert_new(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Gives a record another value; TEAK_NONE if there is none of that key.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_update(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Inserts a record behind the last one, without a search.
 *
 * Threads, errors: as teak_insert; TEAK_NOT_SORTED if the key is not behind the last one.
 */
teak_code teak_append(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Changes a record if it is as expected. `old` and `new_value` may be NULL: for no record, and to remove it. TEAK_NONE if it is another, which stays as it is.
 *
 * Threads, errors: as teak_insert.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("locks"), NULL, &table, &error));
 * teak_slice mine = teak_text("mine");
 * check(teak_compare_and_swap(txn, table, teak_text("door"), NULL, &mine, &error));
 * assert(teak_compare_and_swap(txn, table, teak_text("door"), NULL, &mine, &error) == TEAK_NONE);
 * check(teak_compare_and_swap(txn, table, teak_text("door"), &mine, NULL, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_compare_and_swap(teak_txn txn,
                                teak_table table,
                                teak_slice key,
                                const teak_slice *old,
                                const teak_slice *new_value,
                                teak_error *error);

/**
 * Removes the record of a key; TEAK_NONE if there is none.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_remove(teak_txn txn, teak_table table, teak_slice key, teak_error *error);

/**
 * Inserts many records, in any order, in less time than one by one; of several with one key the last counts. `inserted` is where the number of those goes whose key was
 * not there, or NULL. The table may have several values for a key: then the pairs are added.
 *
 * Threads, errors: as teak_insert. Nothing is changed if a key is impossible.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * uint64_t inserted;
 * teak_record records[] = {{teak_text("elm"), teak_text("2")}, {teak_text("ash"), teak_text("1")}};
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
 * check(teak_insert_many(txn, table, records, 2, &inserted, &error));
 * assert(inserted == 2);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_insert_many(teak_txn txn,
                           teak_table table,
                           const teak_record *records,
                           size_t count,
                           uint64_t *inserted,
                           teak_error *error);

/**
 * Removes the records of many keys. `removed` is where the number of those goes that there were, or NULL.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_remove_many(teak_txn txn,
                           teak_table table,
                           const teak_slice *keys,
                           size_t count,
                           uint64_t *removed,
                           teak_error *error);

/**
 * Removes all records of a range, or, where a key has several values, all pairs; whole pages of them go unread. `removed` is where their number goes, or NULL.
 *
 * Threads, errors: as teak_insert.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * uint64_t removed;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("log"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("2025-12-31"), teak_text("old"), &error));
 * check(teak_insert(txn, table, teak_text("2026-01-01"), teak_text("new"), &error));
 * teak_bound all = {0}, end = {.kind = TEAK_EXCLUDED, .key = teak_text("2026")};
 * check(teak_remove_range(txn, table, all, end, &removed, &error));
 * assert(removed == 1);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_remove_range(teak_txn txn,
                            teak_table table,
                            teak_bound low,
                            teak_bound high,
                            uint64_t *removed,
                            teak_error *error);

/**
 * Writes an incremental backup to a new file: what a copy of the state that `since` reads, or of a later one, lacks of the newest state; TEAK_NONE if `progress` has ended
 * it. `since` is a named snapshot as a rule, made before the copy was. `progress` may be NULL. teak_restore puts copy and increments together.
 *
 * Threads: any.
 *
 * Errors: those of teak_db_backup; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
 *
 * ```c
 * teak_txn txn, monday;
 * teak_table table;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_snapshot_create(txn, teak_text("monday"), &error));
 * check(teak_txn_commit(txn, NULL, &error)); // a full backup follows, and then
 *
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("of tuesday"), NULL, &table, &error));
 * check(teak_txn_commit(txn, NULL, &error));
 * check(teak_snapshot_open(db, teak_text("monday"), &monday, &error));
 * check(teak_db_backup_since(db, monday, path, NULL, NULL, &error));
 * check(teak_txn_end(monday, &error));
 * ```
 */
teak_code teak_db_backup_since(teak_db db,
                               teak_txn since,
                               const char *path,
                               teak_progress_function progress,
                               void *user,
                               teak_error *error);

/**
 * Makes a database from the file of a backup and those of incremental backups, in the order in which they were made, and checks every page of it; TEAK_NONE if `progress` has ended it, and
 * nothing is left. `report`, whose size is set, and `progress` may be NULL; it is given the bytes that were written, and 0.
 *
 * Threads: any.
 *
 * Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE; TEAK_INVALID_ARGUMENT for a backup that is not whole, and for increments that do not follow it; TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_restore(const char *full,
                       const char *const *increments,
                       size_t increment_count,
                       const char *target,
                       teak_check_report *report,
                       teak_progress_function progress,
                       void *user,
                       teak_error *error);

/**
 * Copies what can be read of a damaged database into a new one. The damaged file is not changed, and need not be one that can be opened. `options` and `report`, whose sizes are set, may be NULL.
 *
 * Threads: any. If there is an error there is no new database.
 *
 * Errors: TEAK_FILE_NOT_FOUND; TEAK_FILE_EXISTS; TEAK_NOT_A_DATABASE if no commit record can be read; TEAK_CORRUPTED if none leads to tables; TEAK_UNKNOWN_FORMAT, TEAK_IN_USE, TEAK_INVALID_ARGUMENT,
 * TEAK_IO.
 */
teak_code teak_salvage(const char *source,
                       const char *target,
                       const teak_salvage_options *options,
                       teak_salvage_report *report,
                       teak_error *error);

/**
 * Gives the state that a transaction makes a name, under which it stays until the snapshot is dropped; if teak_snapshot_roll_back follows, the state that it began with.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_SNAPSHOT_EXISTS; TEAK_INVALID_ARGUMENT for a name of none or more than 255 bytes;
 * TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_snapshot_create(teak_txn txn,
                               teak_slice name,
                               teak_error *error);

/**
 * Drops a named snapshot; TEAK_NONE if there is none of that name.
 *
 * Threads, errors: as teak_snapshot_create.
 */
teak_code teak_snapshot_drop(teak_txn txn, teak_slice name, teak_error *error);

/**
 * Makes all tables what they were in a named snapshot, once the transaction is committed.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
 *
 * Errors: as teak_snapshot_create; TEAK_SNAPSHOT_NOT_FOUND.
 */
teak_code teak_snapshot_roll_back(teak_txn txn,
                                  teak_slice name,
                                  teak_error *error);

/**
 * Begins to read a named snapshot; TEAK_NONE if there is none of that name.
 *
 * Threads, lives, errors: as teak_txn_begin_read; TEAK_CORRUPTED.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_snapshot_create(txn, teak_text("monday"), &error));
 * check(teak_txn_commit(txn, NULL, &error));
 * check(teak_snapshot_open(db, teak_text("monday"), &txn, &error));
 * check(teak_txn_end(txn, &error));
 * assert(teak_snapshot_open(db, teak_text("tuesday"), &txn, &error) == TEAK_NONE);
 * ```
 */
teak_code teak_snapshot_open(teak_db db, teak_slice name, teak_txn *txn, teak_error *error);

/**
 * Calls a function for each named snapshot, in the order of their names; TEAK_NONE if it has ended that before the last one.
 *
 * Threads: any. Lives: what the function is given until it returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_FORKED.
 */
teak_code teak_snapshot_each(teak_db db,
                             teak_snapshot_function each,
                             void *user,
                             teak_error *error);

/**
 * Calls a function for each record in which two states of a table differ, in the order of keys; TEAK_NONE if it has ended that before the last one. It takes as long as what
 * has changed is long, and not the table. `count` is where the number of differences that were told goes, or NULL.
 *
 * Threads: any. Lives: what the function is given until it returns. It may read by both transactions.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_WRONG_TRANSACTION, TEAK_INVALID_ARGUMENT, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 */
teak_code teak_differences(teak_txn older,
                           teak_txn newer,
                           teak_table table,
                           teak_difference_function each,
                           void *user,
                           uint64_t *count,
                           teak_error *error);

/**
 * Opens a table, of one value for each key or of several; TEAK_NONE if there is none of that name.
 *
 * Threads: any. Lives: as long as the database is open; in another transaction it is the same table, whether that has it or not.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_COMPARISON_MISSING, TEAK_COMPARISON_MISMATCH, TEAK_CORRUPTED, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * check(teak_txn_begin_read(db, &txn, &error));
 * assert(teak_table_open(txn, teak_text("no such table"), &table, &error) == TEAK_NONE);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_table_open(teak_txn txn,
                          teak_slice name,
                          teak_table *table,
                          teak_error *error);

/**
 * Opens a table, or creates it if there is none of that name. `options` may be NULL.
 *
 * Threads: any, while no other call uses the transaction. Lives: as teak_table_open.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TABLE_MISMATCH if it was created with other options; TEAK_KEY_TOO_LONG (of the name),
 * TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_create(teak_txn txn,
                            teak_slice name,
                            const teak_table_options *options,
                            teak_table *table,
                            teak_error *error);

/**
 * Drops a table with all that is in it; TEAK_NONE if there is none of that name.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_drop(teak_txn txn,
                          teak_slice name,
                          teak_error *error);

/**
 * Gives a table another name.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_table_drop; TEAK_TABLE_NOT_FOUND, TEAK_TABLE_EXISTS, TEAK_KEY_TOO_LONG.
 */
teak_code teak_table_rename(teak_txn txn, teak_slice old_name, teak_slice new_name, teak_error *error);

/**
 * Removes all records of a table.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_clear(teak_txn txn,
                           teak_table table,
                           teak_error *error);

/**
 * Draws numbers from the sequence of a table: `first` and the `count - 1` behind it are given to nobody else, once the transaction is committed.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_table_clear; TEAK_SEQUENCE_EXHAUSTED.
 */
teak_code teak_table_draw_sequence(teak_txn txn,
                                   teak_table table,
                                   uint64_t count,
                                   uint64_t *first,
                                   teak_error *error);

/**
 * Counts of a table, into a structure whose size is set.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_table_stat stat = {.size = sizeof stat};
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
 * check(teak_table_get_stat(txn, table, &stat, &error));
 * assert(stat.records == 0);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_table_get_stat(teak_txn txn, teak_table table, teak_table_stat *stat, teak_error *error);

/**
 * Calls a function for each table, in the order of their names; TEAK_NONE if it has ended that before the last one. It may read by the same transaction.
 *
 * Threads: any. Lives: the name until the function returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_SNAPSHOT_LOST.
 */
teak_code teak_table_each(teak_txn txn,
                          teak_table_function each,
                          void *user,
                          teak_error *error);

/**
 * Says whether the commit is on the disk (TEAK_OK) or not yet (TEAK_NONE); does not wait.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO or TEAK_POISONED if a write or flush failed, so that the commit may be lost when the machine goes down.
 */
teak_code teak_ticket_poll(teak_ticket ticket,
                           teak_error *error);

/**
 * Waits until the commit is on the disk (TEAK_OK), for at most so many milliseconds (TEAK_NONE if that was not enough), or, with UINT64_MAX, for as
 * long as it takes.
 *
 * Threads: any, and several may wait with one ticket.
 *
 * Errors: those of teak_ticket_poll.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * teak_ticket ticket;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("log"), NULL, &table, &error));
 * check(teak_insert(txn, table, teak_text("1"), teak_text("begun"), &error));
 * check(teak_txn_commit_async(txn, &ticket, &error)); // readers see it now
 * check(teak_ticket_wait(ticket, UINT64_MAX, &error)); // and now it is on the disk
 * check(teak_ticket_end(ticket, &error));
 * ```
 */
teak_code teak_ticket_wait(teak_ticket ticket,
                           uint64_t limit_ms,
                           teak_error *error);

/**
 * A descriptor that can be read from when it is known what became of the commit, for poll, epoll and the like. Ask teak_ticket_poll then.
 *
 * Threads: any, while no other call uses the ticket. Lives: the descriptor is the ticket's and is closed with it; each call gives the same.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO if the process has no descriptor left.
 */
teak_code teak_ticket_descriptor(teak_ticket ticket,
                                 int32_t *descriptor,
                                 teak_error *error);

/**
 * The number of the commit.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_ticket_transaction(teak_ticket ticket, uint64_t *transaction, teak_error *error);

/**
 * Ends a ticket. The commit is not concerned.
 *
 * Threads: any, while no other call uses the ticket; whoever waits with it is not disturbed.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_ticket_end(teak_ticket ticket, teak_error *error);

/**
 * Begins to read the newest state. It waits for nobody.
 *
 * Threads: any; the transaction may be used from any thread, and from several at a time. Lives: until teak_txn_end, also if the database is closed. Values
 * that are read live as long as it does, or a clone of it.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_read(db, &txn, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_txn_begin_read(teak_db db,
                              teak_txn *txn,
                              teak_error *error);

/**
 * Another handle of a read transaction: the same state, without another place among readers. Each thread that reads much had better have its own.
 *
 * Threads: any. Lives: until teak_txn_end, whatever becomes of the first handle.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
 */
teak_code teak_txn_clone(teak_txn txn,
                         teak_txn *clone,
                         teak_error *error);

/**
 * Has a read transaction go on to the newest state; TEAK_NONE if it sees that already. It is what ending it and beginning another would do, for less.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more, unless the answer
 * is TEAK_NONE. Clones stay where they are.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TOO_MANY_READERS, TEAK_FORKED; TEAK_INVALID_ARGUMENT if the database has been closed.
 */
teak_code teak_txn_refresh(teak_txn txn,
                           teak_error *error);

/**
 * Begins to write, when nobody else does, in this process or another.
 *
 * Threads: any; the transaction may be used from any thread, by one call that changes something or several that read at a time. Lives: until teak_txn_commit,
 * teak_txn_commit_async or teak_txn_end. Values that are read live until its next change.
 *
 * Errors: TEAK_INVALID_HANDLE; TEAK_BUSY if this thread has begun the transaction that it would wait for; TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_txn_end(txn, &error)); // nothing is changed
 * ```
 */
teak_code teak_txn_begin_write(teak_db db,
                               teak_txn *txn,
                               teak_error *error);

/**
 * The same, but waits for others at most so many milliseconds, and not at all with 0; TEAK_NONE if that was not enough.
 *
 * Threads, lives: as teak_txn_begin_write.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
 */
teak_code teak_txn_begin_write_within(teak_db db, uint64_t limit_ms, teak_txn *txn, teak_error *error);

/**
 * Begins to write, exactly on the state that a read transaction sees: what was decided by reading it still holds.
 *
 * Threads, lives: as teak_txn_begin_write.
 *
 * Errors: TEAK_SNAPSHOT_STALE if there is a newer state: refresh the reader and decide anew; those of teak_txn_begin_write; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
 */
teak_code teak_txn_begin_write_at(teak_db db,
                                  teak_txn reader,
                                  teak_txn *txn,
                                  teak_error *error);

/**
 * Commits. When it returns all readers that begin see the changes, and they are on the disk, unless the durability is another. `id` is where the number
 * of the commit goes, or NULL; it is that of the last commit if nothing was changed.
 *
 * Threads: any, while no other call uses the transaction. The handle ends also if there is an error, except with the first three.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is changed then;
 * TEAK_POISONED and TEAK_IO of a flush: it is uncertain what will be found when the database is opened again.
 */
teak_code teak_txn_commit(teak_txn txn,
                          uint64_t *id,
                          teak_error *error);

/**
 * Commits and does not wait for the disk: all readers that begin see the changes, and the ticket tells when they are on the disk.
 *
 * Threads, errors: as teak_txn_commit. Lives: the ticket until teak_ticket_end.
 */
teak_code teak_txn_commit_async(teak_txn txn,
                                teak_ticket *ticket,
                                teak_error *error);

/**
 * Commits, and goes on as a transaction that writes: nobody else writes in between. Savepoints end. `id` as for teak_txn_commit.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
 *
 * Errors: those of teak_txn_commit; the transaction stays, and can be ended.
 */
teak_code teak_txn_checkpoint(teak_txn txn,
                              uint64_t *id,
                              teak_error *error);

/**
 * Ends a transaction. One that writes changes nothing then.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read must not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_txn_end(teak_txn txn, teak_error *error);

/**
 * The number of the state that is read: that of the commit which made it, or, of a transaction that writes, that of the commit which it will be.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_txn_id(teak_txn txn,
                      uint64_t *id,
                      teak_error *error);

/**
 * How often a part of the file could not be read since it was opened. Whoever keeps a value for long asks before and afterwards: if both numbers are the same, what was read in between is what stands in
 * the file, and not the zeros that are there where the disk does not give anything.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
 */
teak_code teak_txn_read_faults(teak_txn txn,
                               uint64_t *faults,
                               teak_error *error);

/**
 * Says when this transaction's commit is to be on the disk: a teak_durability.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_INVALID_ARGUMENT.
 */
teak_code teak_txn_set_durability(teak_txn txn, uint32_t durability, teak_error *error);

/**
 * Undoes everything since the transaction began, or since its last checkpoint, and goes on. Savepoints end. It is also the way on after TEAK_TRANSACTION_BROKEN.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_IO, TEAK_CORRUPTED, TEAK_POISONED.
 */
teak_code teak_txn_roll_back(teak_txn txn,
                             teak_error *error);

/**
 * Sets a savepoint, and gives its number.
 *
 * Threads: any, while no other call uses the transaction. Lives: until it is released, an earlier one is released or rolled back to, or the transaction
 * ends, is rolled back or makes a checkpoint.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TRANSACTION_BROKEN.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * uint64_t savepoint;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
 * check(teak_txn_savepoint(txn, &savepoint, &error));
 * check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
 * check(teak_txn_roll_back_to(txn, savepoint, &error));
 * teak_slice value;
 * assert(teak_get(txn, table, teak_text("ash"), &value, &error) == TEAK_NONE);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_txn_savepoint(teak_txn txn,
                             uint64_t *savepoint,
                             teak_error *error);

/**
 * Undoes everything since a savepoint, which stays.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if there is no such savepoint any more; TEAK_TRANSACTION_BROKEN.
 */
teak_code teak_txn_roll_back_to(teak_txn txn,
                                uint64_t savepoint,
                                teak_error *error);

/**
 * Ends a savepoint, and those set behind it; what was done stays.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_txn_roll_back_to.
 */
teak_code teak_txn_release(teak_txn txn, uint64_t savepoint, teak_error *error);

/**
 * Writes a copy of the newest state to a new file, which gets its name when it is whole and on the disk; TEAK_NONE if `progress` has ended it, and there is no copy. Others
 * read and write meanwhile. `progress` may be NULL.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FILE_EXISTS, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * check(teak_db_backup(db, path, NULL, NULL, &error));
 * teak_db copy;
 * check(teak_db_open(path, NULL, &copy, &error));
 * check(teak_db_close(copy, &error));
 * ```
 */
teak_code teak_db_backup(teak_db db,
                         const char *path,
                         teak_progress_function progress,
                         void *user,
                         teak_error *error);

/**
 * The same, as small as it can be: its pages are full, and none is free.
 *
 * Threads, errors: as teak_db_backup. The total that `progress` is given is 0: it is not known.
 */
teak_code teak_db_backup_compact(teak_db db,
                                 const char *path,
                                 teak_progress_function progress,
                                 void *user,
                                 teak_error *error);

/**
 * Moves pages from the end of the file to free places before it, and makes the file as short as it can be: teak_db_compact_with without options, and without a report.
 *
 * Threads, errors: as teak_db_compact_with.
 */
teak_code teak_db_compact(teak_db db,
                          teak_progress_function progress,
                          void *user,
                          teak_error *error);

/**
 * Moves pages from the end of the file to free places before it, and makes the file shorter; TEAK_NONE if `progress` has ended it. `options` and `report`, whose sizes
 * are set, and `progress` may be NULL; that is given the pages that were moved and the length of the file.
 *
 * Threads: any. It commits, and waits for other writers.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO, TEAK_FORKED, TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW; TEAK_FILE_NOT_FOUND if the file
 * has lost its name, which was required.
 *
 * ```c
 * teak_compact_options half = {.size = sizeof half, .until_free_percent = 50};
 * teak_compact_report report = {.size = sizeof report};
 * check(teak_db_compact_with(db, &half, &report, NULL, NULL, &error));
 * assert(report.obstacle == TEAK_COMPACT_REACHED && report.file_bytes > 0);
 * ```
 */
teak_code teak_db_compact_with(teak_db db,
                               const teak_compact_options *options,
                               teak_compact_report *report,
                               teak_progress_function progress,
                               void *user,
                               teak_error *error);

/**
 * Looks at every page of the newest state for damage: TEAK_OK if there is none, TEAK_CORRUPTED if there is. `report`, whose size is set, and `each` may be NULL.
 *
 * Threads: any. Lives: what the function is given until it returns.
 *
 * Errors: TEAK_CORRUPTED, with the first damage; TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * teak_check_report report = {.size = sizeof report};
 * check(teak_db_check(db, &report, NULL, NULL, &error));
 * assert(report.damages == 0 && report.pages > 0);
 * ```
 */
teak_code teak_db_check(teak_db db,
                        teak_check_report *report,
                        teak_damage_function each,
                        void *user,
                        teak_error *error);

/* The bytes of a text that ends with a zero, without that. They are where the text is. */
static inline teak_slice teak_text(const char *text) {
  teak_slice slice;
  slice.data = text;
  slice.len = strlen(text);
  return slice;
}

/* The bytes at an address. */
static inline teak_slice teak_bytes(const void *data, size_t len) {
  teak_slice slice;
  slice.data = data;
  slice.len = len;
  return slice;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TEAK_H */
