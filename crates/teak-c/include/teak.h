/* Teak, an embedded ordered transactional key-value store: the C interface.
 *
 * Generated from the sources of crates/teak-c. To change it, change those and run
 * `cargo xtask header`.
 *
 * Rules for all functions:
 *
 * - A function returns a teak_code: TEAK_OK for success or yes, TEAK_NONE for no, and an error
 *   otherwise. `error` may be NULL. Otherwise it points to a teak_error that begins with its own
 *   size and is filled in after an error.
 * - Handles are checked. A closed or invalid handle gives TEAK_INVALID_HANDLE. A handle in use by
 *   another call that excludes this one gives TEAK_BUSY. "Threads: any" means that any threads may
 *   make such calls with the same handles at the same time.
 * - Other pointers are trusted: each must point to a value of its type, or to the documented number
 *   of bytes. NULL is refused for a required argument.
 * - Paths end with a zero. They are any other bytes on Unix, and UTF-8 on Windows.
 * - A function does not keep its arguments after it returns, unless documented otherwise.
 * - Output parameters (`db`, `txn`, `value`) are written if the function returns TEAK_OK. After any
 *   other code, output handles are zero.
 * - In the examples, `db` is an open database, `error` a teak_error with its size set, `path` a path
 *   without a file, and check() ends the program unless its argument is TEAK_OK.
 *
 * docs/c-interface.md describes how this file is generated, and how structures grow.
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
 * The bytes of a key.
 */
#define TEAK_KEY_LEN 32

/**
 * The bytes of the message of a teak_error.
 */
#define TEAK_MESSAGE_LEN 1024

/**
 * The expiry of a record that never expires, where C gets it as a number.
 */
#define TEAK_NEVER_EXPIRES UINT64_MAX

/**
 * journal_bytes of teak_options: commits use no journal.
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
 * The result of a function: success, "no", or the reason of a failure. Later versions may add
 * codes.
 */
typedef enum {
  /**
   * Done, or yes.
   */
  TEAK_OK = 0,
  /**
   * No: no such record, nothing after the last one, nothing newer, not durable yet. Not an
   * error.
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
   * A field is set in a structure that this library does not know.
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
   * The file does not exist and was not to be created. Or an open database's file, which must
   * keep its name, lost it.
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
   * The content of the file differs from what was written: see page.
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
   * This process has the database open with other options.
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
   * There is a newer state than the one on which the transaction was to begin.
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
  /**
   * The progress callback ended the operation.
   */
  TEAK_CANCELLED = 62,
  /**
   * The key does not open the encrypted database.
   */
  TEAK_WRONG_KEY = 63,
  /**
   * The key of the database could not be read or fetched.
   */
  TEAK_KEY_UNAVAILABLE = 64,
  /**
   * The database is encrypted, and no key was given.
   */
  TEAK_KEY_NEEDED = 65,
  /**
   * A key was given for a database that is not encrypted.
   */
  TEAK_NOT_ENCRYPTED = 66,
  /**
   * A transaction is prepared: nothing else can be written until it is decided.
   */
  TEAK_TRANSACTION_PREPARED = 67,
  /**
   * No prepared transaction has this name.
   */
  TEAK_PREPARED_NOT_FOUND = 68,
} teak_code;

/**
 * The cipher of an encrypted database.
 */
typedef enum {
  /**
   * In teak_encryption: the default. In teak_db_stat: the database is not encrypted.
   */
  TEAK_CIPHER_NONE = 0,
  /**
   * AES-256-GCM with a key for each nonce: the fastest choice on processors with instructions
   * for AES. The default of new databases.
   */
  TEAK_CIPHER_AES_256_GCM = 1,
  /**
   * XChaCha20-Poly1305: faster on other processors.
   */
  TEAK_CIPHER_XCHACHA20_POLY1305 = 2,
} teak_cipher;

/**
 * The compression of a database.
 */
typedef enum {
  /**
   * Pages are not compressed.
   */
  TEAK_COMPRESSION_NONE = 0,
  /**
   * LZ4: the fastest.
   */
  TEAK_COMPRESSION_LZ4 = 1,
  /**
   * Zstandard, with a level.
   */
  TEAK_COMPRESSION_ZSTD = 2,
} teak_compression;

/**
 * Whether a database is created.
 */
typedef enum {
  /**
   * Create the database if it does not exist.
   */
  TEAK_CREATE_IF_MISSING = 0,
  /**
   * The database must exist.
   */
  TEAK_CREATE_NEVER = 1,
  /**
   * The database must not exist.
   */
  TEAK_CREATE_NEW = 2,
} teak_create;

/**
 * The access to a database.
 */
typedef enum {
  /**
   * Reading and writing.
   */
  TEAK_ACCESS_WRITE = 0,
  /**
   * Read only.
   */
  TEAK_ACCESS_READ = 1,
} teak_access;

/**
 * Whether others may have the database open at the same time.
 */
typedef enum {
  /**
   * Other processes may open it too.
   */
  TEAK_SHARING_PROCESSES = 0,
  /**
   * This handle has exclusive access.
   */
  TEAK_SHARING_ALONE = 1,
  /**
   * Other processes may open it, and this one reads without a lock file. Writers of other
   * processes do not know that it reads. Requires TEAK_ACCESS_READ.
   */
  TEAK_SHARING_UNLOCKED = 2,
} teak_sharing;

/**
 * Whether a database may be on a network file system.
 */
typedef enum {
  /**
   * Return an error.
   */
  TEAK_NETWORK_REFUSE = 0,
  /**
   * Allow it. Only one machine may use the database.
   */
  TEAK_NETWORK_ALLOW = 1,
} teak_network;

/**
 * How to treat parts of the file that cannot be read.
 */
typedef enum {
  /**
   * Return errors. Installs a handler for SIGBUS, which passes on signals that do not concern
   * the database.
   */
  TEAK_FAULTS_HANDLE = 0,
  /**
   * Install no handler. The process gets SIGBUS.
   */
  TEAK_FAULTS_LEAVE = 1,
} teak_faults;

/**
 * When a commit becomes durable.
 */
typedef enum {
  /**
   * The durability stored in the file; TEAK_DURABILITY_DURABLE for a new one.
   */
  TEAK_DURABILITY_DEFAULT = 0,
  /**
   * Before the commit returns.
   */
  TEAK_DURABILITY_DURABLE = 1,
  /**
   * Soon after the commit returns. A ticket reports when.
   */
  TEAK_DURABILITY_ASYNC = 2,
  /**
   * When the system, a later durable commit or a limit of the options causes a flush.
   */
  TEAK_DURABILITY_LAZY = 3,
} teak_durability;

/**
 * When pages are compared with their checksums.
 */
typedef enum {
  /**
   * When a page is first read.
   */
  TEAK_VERIFICATION_FIRST_TOUCH = 0,
  /**
   * Each time a page is read.
   */
  TEAK_VERIFICATION_ALWAYS = 1,
  /**
   * Never.
   */
  TEAK_VERIFICATION_OFF = 2,
} teak_verification;

/**
 * Whether the system reads ahead in parts of the file that are not in memory.
 */
typedef enum {
  /**
   * Never.
   */
  TEAK_READ_AHEAD_OFF = 0,
  /**
   * While the file is at most half as long as the machine's memory.
   */
  TEAK_READ_AHEAD_AUTO = 1,
  /**
   * Always.
   */
  TEAK_READ_AHEAD_ON = 2,
} teak_read_ahead;

/**
 * The order of keys or values.
 */
typedef enum {
  /**
   * By bytes, from the first to the last.
   */
  TEAK_ORDER_BYTES = 0,
  /**
   * By bytes, from the last to the first.
   */
  TEAK_ORDER_REVERSE_BYTES = 1,
  /**
   * As little-endian unsigned integers of 4 or 8 bytes.
   */
  TEAK_ORDER_INTEGER = 2,
  /**
   * By a comparison that the database was opened with.
   */
  TEAK_ORDER_CUSTOM = 3,
} teak_order;

/**
 * The kind of a range's bound.
 */
typedef enum {
  /**
   * There is no bound.
   */
  TEAK_UNBOUNDED = 0,
  /**
   * The range includes the key.
   */
  TEAK_INCLUDED = 1,
  /**
   * The range excludes the key.
   */
  TEAK_EXCLUDED = 2,
} teak_bound_kind;

/**
 * A movement of a cursor.
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
   * To the next record. To the first one if the cursor has no position yet.
   */
  TEAK_NEXT = 2,
  /**
   * To the previous record. To the last one if the cursor has no position yet.
   */
  TEAK_PREV = 3,
  /**
   * Stays, or moves to the next record if the current one has been removed.
   */
  TEAK_CURRENT = 4,
  /**
   * To the first value of the next key.
   */
  TEAK_NEXT_KEY = 5,
  /**
   * To the last value of the previous key.
   */
  TEAK_PREV_KEY = 6,
  /**
   * To the next value of the current key. If there is none, the cursor does not move.
   */
  TEAK_NEXT_VALUE = 7,
  /**
   * To the previous value of the current key. If there is none, the cursor does not move.
   */
  TEAK_PREV_VALUE = 8,
  /**
   * To the first value of the current key.
   */
  TEAK_FIRST_VALUE = 9,
  /**
   * To the last value of the current key.
   */
  TEAK_LAST_VALUE = 10,
} teak_move;

/**
 * The record that a search looks for.
 */
typedef enum {
  /**
   * The first one at or after the given key or value.
   */
  TEAK_AT_LEAST = 0,
  /**
   * Exactly the given one. If there is none, the call returns TEAK_NONE and the cursor is on the
   * first one after it.
   */
  TEAK_EXACT = 1,
  /**
   * The first one after the given key or value.
   */
  TEAK_GREATER = 2,
  /**
   * The last one before the given key or value.
   */
  TEAK_LESS = 3,
  /**
   * The last one at or before the given key or value.
   */
  TEAK_AT_MOST = 4,
} teak_seek;

/**
 * The records that a cursor removes.
 */
typedef enum {
  /**
   * The current record.
   */
  TEAK_DELETE_CURRENT = 0,
  /**
   * All records before the position.
   */
  TEAK_DELETE_BEFORE = 1,
  /**
   * The current record and all before it.
   */
  TEAK_DELETE_UP_TO_CURRENT = 2,
  /**
   * The current record and all after it.
   */
  TEAK_DELETE_FROM_CURRENT = 3,
  /**
   * All records after the position.
   */
  TEAK_DELETE_AFTER = 4,
  /**
   * All records of the table.
   */
  TEAK_DELETE_ALL = 5,
  /**
   * The values of the current key before the position.
   */
  TEAK_DELETE_VALUES_BEFORE = 6,
  /**
   * The values of the current key up to and including the current one.
   */
  TEAK_DELETE_VALUES_UP_TO_CURRENT = 7,
  /**
   * The values of the current key from the current one on.
   */
  TEAK_DELETE_VALUES_FROM_CURRENT = 8,
  /**
   * The values of the current key after the position.
   */
  TEAK_DELETE_VALUES_AFTER = 9,
  /**
   * All values of the current key.
   */
  TEAK_DELETE_ALL_VALUES = 10,
} teak_delete_scope;

/**
 * The direction in which a cursor moves.
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
 * How a record differs between two states.
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
 * An event.
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
   * A reader of an old state keeps space that a writer needs.
   */
  TEAK_EVENT_SLOW_READER = 5,
  /**
   * Another process died while it was writing. Its uncommitted changes are gone.
   */
  TEAK_EVENT_WRITER_DIED = 6,
  /**
   * A write or flush failed. Nothing can be written until the database is opened again.
   */
  TEAK_EVENT_POISONED = 7,
  /**
   * This process has closed the database.
   */
  TEAK_EVENT_CLOSED = 8,
  /**
   * An event that has no number in this version of the interface. The text describes it.
   */
  TEAK_EVENT_OTHER = 9,
  /**
   * This process commits into a file that was removed, renamed or replaced since it was opened.
   */
  TEAK_EVENT_NAME_LOST = 10,
} teak_event_kind;

/**
 * The answer to a slow reader.
 */
typedef enum {
  /**
   * Grow the file, and do not ask again.
   */
  TEAK_SLOW_READER_GROW = 0,
  /**
   * Wait some milliseconds and check again. Ask again if nothing has changed.
   */
  TEAK_SLOW_READER_WAIT = 1,
  /**
   * Cancel the reader, whose next call returns TEAK_SNAPSHOT_LOST, and wait until it has ended.
   */
  TEAK_SLOW_READER_CANCEL = 2,
  /**
   * Give up: the write fails with TEAK_HELD_BY_READER.
   */
  TEAK_SLOW_READER_GIVE_UP = 3,
} teak_slow_reader_choice;

/**
 * The result of a function that supplies records.
 */
typedef enum {
  /**
   * Key and value are set.
   */
  TEAK_GIVEN_RECORD = 0,
  /**
   * There are no more records.
   */
  TEAK_GIVEN_ALL = 1,
  /**
   * Discard all records supplied so far.
   */
  TEAK_GIVE_UP = 2,
} teak_giving;

/**
 * The decision about a reader.
 */
typedef enum {
  /**
   * Continue with the next reader.
   */
  TEAK_READER_LEAVE = 0,
  /**
   * End the walk.
   */
  TEAK_READER_STOP = 1,
  /**
   * Cancel it: its next call returns TEAK_SNAPSHOT_LOST, and its pages become free when it has
   * ended. The walk continues.
   */
  TEAK_READER_CANCEL = 2,
} teak_reader_choice;

/**
 * The reason why a file did not become as short as requested.
 */
typedef enum {
  /**
   * The file is as short as requested.
   */
  TEAK_COMPACT_REACHED = 0,
  /**
   * A limit of the options was reached, or the progress function ended it.
   */
  TEAK_COMPACT_LIMIT = 1,
  /**
   * Readers see pages that would have to be moved, or the free pages to move them to.
   */
  TEAK_COMPACT_READERS = 2,
  /**
   * Named snapshots have such pages.
   */
  TEAK_COMPACT_NAMED_SNAPSHOTS = 3,
  /**
   * There is no room for the remaining pages. Either more is in use than the requested length,
   * or values must first be copied to the end of the file, and the disk is full or the size
   * limit reached.
   */
  TEAK_COMPACT_ROOM = 4,
  /**
   * Other writers kept it waiting longer than its limit.
   */
  TEAK_COMPACT_WRITERS = 5,
  /**
   * A reason that has no number in this version of the interface.
   */
  TEAK_COMPACT_OTHER = 6,
} teak_compact_obstacle;

/**
 * How a teak_expiry says when a record expires.
 */
typedef enum {
  /**
   * After the time to live of the table, if it has one; otherwise never.
   */
  TEAK_EXPIRY_DEFAULT = 0,
  /**
   * Never.
   */
  TEAK_EXPIRY_NEVER = 1,
  /**
   * So many milliseconds after the moment of the transaction.
   */
  TEAK_EXPIRY_AFTER = 2,
  /**
   * So many milliseconds after 1970 (UTC).
   */
  TEAK_EXPIRY_AT = 3,
} teak_expiry_kind;

/**
 * A position among the records of a table. A cursor belongs to no transaction: each call names the
 * transaction to use, and the table may change between calls. Where a key has several values, each
 * pair of key and value is a record.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_cursor;

/**
 * A transaction: a read transaction sees one state, and at most one write transaction makes the
 * next one.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_txn;

/**
 * A sequence of arbitrary bytes. If the length is 0, the address may be NULL.
 */
typedef struct {
  /**
   * The first byte.
   */
  const void *data;
  /**
   * The number of bytes.
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
 * The details of an error. The caller sets size and passes its address to a function. A function
 * that fails fills in the rest; one that succeeds leaves it alone. The pointer may be NULL if the
 * details are not needed.
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
   * The teak_code that the function returned.
   */
  int32_t code;
  /**
   * With TEAK_IO: the errno of the system; otherwise 0.
   */
  int32_t system_code;
  /**
   * With TEAK_CORRUPTED: the damaged page; otherwise UINT64_MAX.
   */
  uint64_t page;
  /**
   * With TEAK_HELD_BY_READER: the process of the reader, if it is known; otherwise 0.
   */
  uint32_t process;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * With TEAK_HELD_BY_READER: the system's number of the reader's thread; otherwise 0.
   */
  uint64_t thread;
  /**
   * With TEAK_HELD_BY_READER: the state that the reader sees; with TEAK_SNAPSHOT_STALE: the
   * newest one; with TEAK_NOT_SORTED: the index of the record in the input, from 0; otherwise 0.
   */
  uint64_t number;
  /**
   * A description and advice, in UTF-8, zero-terminated, and cut off if it does not fit.
   */
  char message[TEAK_MESSAGE_LEN];
} teak_error;

/**
 * A function that is called for each record. A result other than 0 ends the scan.
 */
typedef int (*teak_record_function)(void *user, teak_slice key, teak_slice value);

/**
 * An open database.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_db;

/**
 * A read transaction of any process.
 */
typedef struct {
  /**
   * The id of its process, 0 if that is not known here.
   */
  uint32_t process;
  /**
   * 1 if it is parked: its state is given up when the space is needed.
   */
  uint32_t is_parked;
  /**
   * The system's number of the thread that began it.
   */
  uint64_t thread;
  /**
   * The time since then, in milliseconds.
   */
  uint64_t age_ms;
  /**
   * The state that it reads.
   */
  uint64_t transaction;
  /**
   * The number of commits that have become visible since.
   */
  uint64_t lag;
  /**
   * Pages that would be free without this reader.
   */
  uint64_t kept_pages;
  /**
   * 1 if it was cancelled and has not ended yet.
   */
  uint64_t is_cancelled;
} teak_reader;

/**
 * A function that is called for each reader. It returns a teak_reader_choice.
 */
typedef int (*teak_reader_function)(void *user, const teak_reader *reader);

/**
 * A function that is called for each table that differs between two states, with its name and a
 * teak_change. An answer other than 0 ends the walk.
 */
typedef int (*teak_table_change_function)(void *user, teak_slice name, uint32_t change);

/**
 * A table: a number that is valid while its database is open. It is the same number in
 * every transaction and for every caller that opens the table. Tables are not closed.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t number;
} teak_table;

/**
 * The limits of a file's length, and how the file grows and shrinks.
 */
typedef struct {
  /**
   * The minimum length in bytes.
   */
  uint64_t lower_limit_bytes;
  /**
   * The maximum length in bytes; 0 for no limit.
   */
  uint64_t upper_limit_bytes;
  /**
   * Bytes by which it grows; 0 for the engine's choice.
   */
  uint64_t growth_step_bytes;
  /**
   * Bytes that must be free at its end before it is truncated; 0 for the engine's choice,
   * UINT64_MAX for never.
   */
  uint64_t shrink_threshold_bytes;
} teak_geometry;

/**
 * Compares two keys and returns a number below, equal to or above zero, like memcmp. It may be
 * called from several threads at a time, and must not call this library.
 */
typedef int (*teak_compare_function)(void *user, teak_slice a, teak_slice b);

/**
 * An order of the application, under a name that is stored in the file. The function and the
 * target of `user` must stay valid while the process has the database open.
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
   * Passed to the function, or NULL.
   */
  void *user;
} teak_comparison;

/**
 * Receives events: their kind, a teak_event_kind, and a line of text for a log. It is called in
 * the thread that caused the event, possibly in several threads at a time. It must not call this
 * library, and should return soon.
 */
typedef void (*teak_event_function)(void *user, uint32_t kind, teak_slice text);

/**
 * A reader of an old state that keeps space which a write transaction needs.
 */
typedef struct {
  /**
   * The id of its process, 0 if that is not known here.
   */
  uint32_t process;
  /**
   * The number of earlier questions about the same pages.
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
   * The number of commits that have become visible since.
   */
  uint64_t lag;
  /**
   * The time since it began, in milliseconds.
   */
  uint64_t age_ms;
  /**
   * Pages that would be free without it.
   */
  uint64_t kept_pages;
  /**
   * The number of pages that the writer needs.
   */
  uint64_t wanted_pages;
  /**
   * The length of the file in bytes.
   */
  uint64_t file_bytes;
  /**
   * 1 if it was cancelled and has not ended yet.
   */
  uint64_t is_cancelled;
} teak_slow_reader;

/**
 * Decides about a slow reader: returns a teak_slow_reader_choice. Any other number means
 * TEAK_SLOW_READER_GROW. It is called in the thread that writes, and must not use that thread's
 * transaction.
 */
typedef int (*teak_slow_reader_function)(void *user, const teak_slow_reader *reader);

/**
 * Writes the key of a database to `key`, which has room for TEAK_KEY_LEN bytes, and returns 0. Any
 * other number means that there is no key. `database_id` has 16 bytes, which the database and its
 * copies have in common. It is called while a database is being opened or copied, and must not
 * call this library.
 */
typedef int (*teak_key_function)(void *user, teak_slice database_id, void *key);

/**
 * The key of an encrypted database, and how a new one is encrypted. Zero is the default of every
 * field except size. Exactly one source of the key is set: key, key_file, key_env, passphrase,
 * passphrase_file or on_key. The library overwrites its copies of the key when the database is
 * closed; the caller overwrites its own.
 *
 * ```c
 * char key_file[4096];
 * snprintf(key_file, sizeof key_file, "%s.key", path);
 * check(teak_key_create(key_file, &error));
 * teak_encryption encryption = {.size = sizeof encryption, .key_file = key_file};
 * teak_options options = {.size = sizeof options, .encryption = &encryption};
 * teak_db db;
 * check(teak_db_open(path, &options, &db, &error));
 * check(teak_db_close(db, &error));
 * assert(teak_db_open(path, NULL, &db, &error) == TEAK_KEY_NEEDED);
 * ```
 */
typedef struct {
  /**
   * sizeof(teak_encryption).
   */
  size_t size;
  /**
   * A key of TEAK_KEY_LEN bytes. They must be random, or come from a function that derives keys.
   */
  teak_slice key;
  /**
   * The path of a file with a key, as teak_key_create makes one, or with its bytes. On Unix only
   * its owner may have access to it.
   */
  const char *key_file;
  /**
   * The name of an environment variable with a key: 64 hexadecimal digits.
   */
  const char *key_env;
  /**
   * A passphrase. Opening takes about a second then, and 64 MiB of memory.
   */
  teak_slice passphrase;
  /**
   * The path of a file with a passphrase. On Unix only its owner may have access to it.
   */
  const char *passphrase_file;
  /**
   * Returns the key.
   */
  teak_key_function on_key;
  /**
   * Passed to on_key, or NULL. Both must stay valid while the process has the database open.
   */
  void *key_user;
  /**
   * The cipher of a new database: a teak_cipher. An existing database keeps its cipher.
   */
  uint32_t cipher;
  /**
   * Zero.
   */
  uint32_t reserved;
} teak_encryption;

/**
 * Options for opening a database. Zero is the default of every field except size.
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
   * The page size of a new database in bytes: a power of two from 4096 (the default) to 65536.
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
   * A teak_durability, for commits that do not set one. Stored in the file.
   */
  uint32_t durability;
  /**
   * A teak_verification.
   */
  uint32_t verification;
  /**
   * Bytes that lazy commits may write before they are flushed; UINT64_MAX for no limit, 0 for
   * the file's value. Stored in the file.
   */
  uint64_t flush_after_bytes;
  /**
   * The age in milliseconds at which a lazy commit is flushed; 0 for the file's value. Stored in
   * the file.
   */
  uint64_t flush_after_ms;
  /**
   * The maximum length of the file; UINT64_MAX for no limit, 0 for the file's value. Stored in
   * the file.
   */
  uint64_t size_limit_bytes;
  /**
   * All sizes of the file, instead of size_limit_bytes alone, or NULL for the file's values.
   * Stored in the file.
   */
  const teak_geometry *geometry;
  /**
   * The bytes of pages that a write transaction keeps in memory; 0 for 256 MiB.
   */
  uint64_t write_memory_bytes;
  /**
   * The number of pages that a commit may move from the end of the file, in per cent of those
   * that it writes; 0 for 100, or TEAK_MOVE_NOTHING.
   */
  uint32_t move_percent;
  /**
   * A teak_read_ahead.
   */
  uint32_t read_ahead;
  /**
   * Comparisons of the application, or NULL.
   */
  const teak_comparison *comparisons;
  /**
   * The number of comparisons.
   */
  size_t comparison_count;
  /**
   * Receives events, or NULL.
   */
  teak_event_function on_event;
  /**
   * Passed to on_event, or NULL.
   */
  void *event_user;
  /**
   * Decides about slow readers, or NULL: then the file grows.
   */
  teak_slow_reader_function on_slow_reader;
  /**
   * Passed to on_slow_reader, or NULL.
   */
  void *slow_reader_user;
  /**
   * The path of the lock file, or NULL for the path of the database with -lock appended.
   * All processes that have the database open at the same time must use the same path.
   */
  const char *lock_file;
  /**
   * The permissions of files that are created, less the mask of the process; 0 for 0666.
   */
  uint32_t file_mode;
  /**
   * If the file was removed, renamed or replaced since it was opened: 1 to fail commits with
   * TEAK_FILE_NOT_FOUND, 0 to make them and report TEAK_EVENT_NAME_LOST for the first one.
   */
  uint32_t require_name;
  /**
   * Bytes of the journal that the file gets for small durable commits; 0 for a sixty-fourth of a
   * file of 32 MiB or more and 4 MiB at most, or TEAK_NO_JOURNAL.
   */
  uint64_t journal_bytes;
  /**
   * 1 to close without a flush if every open commit is lazy: the next opening in the same boot
   * finds them, and a power cut may take them. 0 to flush.
   */
  uint32_t leave_lazy;
  /**
   * 1 to leave the lock file when the last process closes the database; 0 to remove it.
   */
  uint32_t leave_lock_file;
  /**
   * The key of an encrypted database, with which a new database is encrypted; NULL for none.
   */
  const teak_encryption *encryption;
  /**
   * The compression of a new database: a teak_compression. An existing database is what it is.
   */
  uint32_t compression;
  /**
   * The level of TEAK_COMPRESSION_ZSTD, from 1 to 19; 0 for 3.
   */
  uint32_t compression_level;
  /**
   * The bytes of decoded pages of an encrypted or compressed database that this process keeps in
   * memory; 0 for 256 MiB.
   */
  uint64_t decoded_cache_bytes;
} teak_options;

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
   * The newest durable commit.
   */
  uint64_t durable_transaction;
  /**
   * The number of tables.
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
  /**
   * A teak_cipher; TEAK_CIPHER_NONE if the database is not encrypted.
   */
  uint64_t cipher;
  /**
   * A teak_compression; TEAK_COMPRESSION_NONE if the database is not compressed.
   */
  uint64_t compression;
  /**
   * The level of TEAK_COMPRESSION_ZSTD; otherwise 0.
   */
  uint64_t compression_level;
} teak_db_stat;

/**
 * A ticket of a commit. It reports when the commit is on the disk.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_ticket;

/**
 * A table whose records expire: a number that is valid while its database is open.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t number;
} teak_expiring_table;

/**
 * The time to live and the limits of a table whose records expire. All zero for none.
 */
typedef struct {
  /**
   * sizeof(teak_expiry_options).
   */
  size_t size;
  /**
   * How long records live that are inserted without an expiry of their own, in milliseconds; 0
   * for ever.
   */
  uint64_t ttl_ms;
  /**
   * The most records; the oldest ones above are removed. 0 for no limit.
   */
  uint64_t max_records;
  /**
   * The most bytes of keys and values; the oldest records above are removed. 0 for no limit.
   */
  uint64_t max_bytes;
} teak_expiry_options;

/**
 * When a record expires. All zero for the time to live of the table.
 */
typedef struct {
  /**
   * A teak_expiry_kind.
   */
  uint32_t kind;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Milliseconds, for the last two kinds.
   */
  uint64_t ms;
} teak_expiry;

/**
 * Counts and settings of a table whose records expire.
 */
typedef struct {
  /**
   * sizeof(teak_expiry_stat).
   */
  size_t size;
  /**
   * Records that have not expired.
   */
  uint64_t records;
  /**
   * Records that have expired and are not removed yet.
   */
  uint64_t expired;
  /**
   * Bytes of all keys and values, of expired records too.
   */
  uint64_t bytes;
  /**
   * Records that were removed because they had expired.
   */
  uint64_t removed_expired;
  /**
   * Records that were removed because the table was above its limits.
   */
  uint64_t removed_oldest;
  /**
   * When the next record expires, in milliseconds since 1970; TEAK_NEVER_EXPIRES if none does.
   */
  uint64_t next_expiry_ms;
  /**
   * As in teak_expiry_options.
   */
  uint64_t ttl_ms;
  /**
   * As in teak_expiry_options.
   */
  uint64_t max_records;
  /**
   * As in teak_expiry_options.
   */
  uint64_t max_bytes;
} teak_expiry_stat;

/**
 * A bound of a range. All zero for no bound.
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
 * Counts since the database was opened, for this process. A transaction is counted when it
 * commits.
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
   * Of these, the commits that were deferred to the next flush, to be written together.
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
   * Of these, the pages that replaced a page of an earlier state and started with its bytes.
   */
  uint64_t copied_pages;
  /**
   * Pages of earlier states that commits do not use any more.
   */
  uint64_t dead_pages;
  /**
   * Pages that no state uses any more, found when a write transaction began.
   */
  uint64_t reclaimed_pages;
  /**
   * Leaves that were written before their commit because the memory limit was reached.
   */
  uint64_t early_pages;
  /**
   * Pages that were added to trees because others were full. Bulk loads do not count.
   */
  uint64_t splits;
  /**
   * Pages whose contents were moved to a neighbour.
   */
  uint64_t merges;
  /**
   * Values that were written to pages of their own.
   */
  uint64_t large_values;
  /**
   * Pages of an encrypted database that were decrypted.
   */
  uint64_t decrypted_pages;
  /**
   * Of these, the pages whose memory was given back.
   */
  uint64_t evicted_pages;
  /**
   * Records that were removed because they had expired.
   */
  uint64_t expired_records;
  /**
   * Records that were removed because they were the oldest of a table above its limits.
   */
  uint64_t evicted_records;
} teak_metrics;

/**
 * A record that differs between two states.
 */
typedef struct {
  /**
   * A teak_change. If keys have several values, pairs are not changed: one is removed and
   * another inserted.
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
   * Its value in the older state; empty if that state does not have the record.
   */
  teak_slice old_value;
  /**
   * Its value in the newer state; empty if that state does not have the record.
   */
  teak_slice new_value;
} teak_difference;

/**
 * A function that is called for each difference. A result other than 0 ends the walk.
 */
typedef int (*teak_difference_function)(void *user, const teak_difference *difference);

/**
 * Options for creating a table. Zero is the default of every field except size.
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
   * The order of keys: a teak_order.
   */
  uint32_t order;
  /**
   * 1 to store each key whole in its page, instead of sharing a prefix with its neighbours.
   */
  uint32_t whole_keys;
  /**
   * 1 for a counted table, in which ranks are found in two descents.
   */
  uint32_t counted;
  /**
   * The alignment of values in memory in bytes: 1 (the default), 2, 4, 8 or 16.
   */
  uint32_t value_align;
  /**
   * 1 if a key can have several values.
   */
  uint32_t several_values;
  /**
   * If keys have several values, the order of the values of a key: a teak_order.
   */
  uint32_t value_order;
  /**
   * If keys have several values, the size of each value in bytes: 0 for any size, or
   * TEAK_VALUE_SIZE_AS_FIRST.
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
   * Records, or pairs if keys have several values.
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
   * The last commit that changed the table.
   */
  uint64_t changed;
  /**
   * The next number of its sequence.
   */
  uint64_t sequence;
  /**
   * 1 if a key has several values.
   */
  uint64_t several_values;
} teak_table_stat;

/**
 * A function that supplies the next record and returns a teak_giving. The slices must stay valid
 * until its next call, or until the load returns.
 */
typedef int (*teak_give_function)(void *user, teak_slice *key, teak_slice *value);

/**
 * A function that is called from time to time during a long operation that cannot be ended, with
 * the work done and the total.
 */
typedef void (*teak_watch_function)(void *user, uint64_t done, uint64_t total);

/**
 * Options for loading records in any order. Zeros are the defaults.
 */
typedef struct {
  /**
   * sizeof(teak_bulk_options).
   */
  size_t size;
  /**
   * Bytes of records to sort in memory. Further records go to temporary files. 0 for 256 MiB.
   */
  uint64_t memory_bytes;
  /**
   * The directory for temporary files; NULL for that of the database.
   */
  const char *directory;
  /**
   * Receives the number of records, or NULL: first with a total of 0 while they are read and
   * sorted, then how many of the total are built into pages.
   */
  teak_watch_function progress;
  /**
   * Passed to progress, or NULL.
   */
  void *progress_user;
} teak_bulk_options;

/**
 * A function that is called from time to time during a long operation, with the work done and the
 * total. A result other than 0 ends the operation.
 */
typedef int (*teak_progress_function)(void *user, uint64_t done, uint64_t total);

/**
 * Limits of a compaction. Zeros are the defaults: make the file as short as possible, without
 * limits.
 */
typedef struct {
  /**
   * sizeof(teak_compact_options).
   */
  size_t size;
  /**
   * Stop when the file is no longer than this; 0 for no such length.
   */
  uint64_t until_file_bytes;
  /**
   * Stop when no more than this percentage of the file is free; 0 for no such limit.
   */
  uint64_t until_free_percent;
  /**
   * Stop after moving about this many bytes; 0 for no such limit.
   */
  uint64_t max_moved_bytes;
  /**
   * The bytes to move per commit, at most; 0 for 4,096 pages.
   */
  uint64_t max_commit_bytes;
  /**
   * Milliseconds to pause between two commits that move pages.
   */
  uint64_t pause_ms;
  /**
   * Stop if other writers keep one of the commits waiting for more than this many milliseconds;
   * 0 to wait without a limit.
   */
  uint64_t max_wait_ms;
} teak_compact_options;

/**
 * The result of a compaction.
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
   * The length of the file in bytes.
   */
  uint64_t file_bytes;
  /**
   * A teak_compact_obstacle.
   */
  uint64_t obstacle;
} teak_compact_report;

/**
 * The findings of a check.
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
   * The number of damages.
   */
  uint64_t damages;
  /**
   * Tables of a newer version, which only that version can check.
   */
  uint64_t unknown_tables;
  /**
   * Tables in orders whose comparisons are missing: everything but the order of their keys was
   * checked.
   */
  uint64_t unordered_tables;
} teak_check_report;

/**
 * A damage that teak_db_check reports.
 */
typedef struct {
  /**
   * The page; UINT64_MAX if the damage is not in a page.
   */
  uint64_t page;
  /**
   * The name of the table; empty for none.
   */
  teak_slice table;
  /**
   * A description of the damage, in UTF-8.
   */
  teak_slice detail;
} teak_damage;

/**
 * A function that is called for each damage. A result other than 0 ends the calls.
 */
typedef int (*teak_damage_function)(void *user, const teak_damage *damage);

/**
 * The durations of the steps of a commit in nanoseconds. A small durable commit that arrives while
 * another one is being flushed is written together with others. All of that is in `wait_ns`.
 */
typedef struct {
  /**
   * sizeof(teak_commit_latency).
   */
  size_t size;
  /**
   * Releasing part of the dropped tables, and moving pages from the end of the file.
   */
  uint64_t tail_ns;
  /**
   * Computing checksums, and writing the roots of tables to the catalog.
   */
  uint64_t roots_ns;
  /**
   * Recording which pages were allocated and which became unused.
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
   * Waiting for the disk. Others may write meanwhile.
   */
  uint64_t wait_ns;
  /**
   * The whole commit.
   */
  uint64_t whole_ns;
} teak_commit_latency;

/**
 * A read transaction that is unused for now. A writer that needs the space may give up its state.
 */
typedef struct {
  /**
   * Zero for none.
   */
  uint64_t handle;
} teak_parked;

/**
 * A prepared transaction, as teak_prepared_each reports it.
 */
typedef struct {
  /**
   * Its name.
   */
  teak_slice name;
  /**
   * Its number.
   */
  uint64_t transaction;
  /**
   * When it was prepared, in microseconds since the beginning of 1970.
   */
  uint64_t time_us;
  /**
   * Pages that it wrote.
   */
  uint64_t changed_pages;
} teak_prepared;

/**
 * A function that is called for each prepared transaction. A result other than 0 ends the walk.
 */
typedef int (*teak_prepared_function)(void *user, const teak_prepared *prepared);

/**
 * A function that is called for each line of a text, in UTF-8. A result other than 0 ends the
 * calls.
 */
typedef int (*teak_line_function)(void *user, teak_slice line);

/**
 * Options for saving a damaged database. Zeros are the defaults.
 */
typedef struct {
  /**
   * sizeof(teak_salvage_options).
   */
  size_t size;
  /**
   * The comparisons of the database's tables, or NULL. They must stay valid like those of
   * teak_options.
   */
  const teak_comparison *comparisons;
  /**
   * The number of comparisons.
   */
  size_t comparison_count;
  /**
   * Receives a line of text for each thing that was saved or lost, or NULL.
   */
  teak_line_function each;
  /**
   * Passed to each, or NULL.
   */
  void *each_user;
  /**
   * Receives the number of pages read, and the total, or NULL.
   */
  teak_progress_function progress;
  /**
   * Passed to progress, or NULL.
   */
  void *progress_user;
  /**
   * The key of an encrypted database, which the new one gets, too; NULL for none.
   */
  const teak_encryption *encryption;
} teak_salvage_options;

/**
 * The parts of a damaged database that were saved, and those that were lost.
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
  /**
   * Prepared transactions, of which none is saved.
   */
  uint64_t lost_prepared;
} teak_salvage_report;

/**
 * A named snapshot, as teak_snapshot_each reports it.
 */
typedef struct {
  /**
   * Its name.
   */
  teak_slice name;
  /**
   * The commit that made its state.
   */
  uint64_t transaction;
  /**
   * The time of that commit, in microseconds since the beginning of 1970.
   */
  uint64_t time_us;
  /**
   * Pages that would be free if nothing kept this state.
   */
  uint64_t kept_pages;
} teak_snapshot;

/**
 * A function that is called for each named snapshot. A result other than 0 ends the walk.
 */
typedef int (*teak_snapshot_function)(void *user, const teak_snapshot *snapshot);

/**
 * A function that is called for each table, with its name, and 1 if a key has several values, 2 if
 * its records expire, or 0. A result other than 0 ends the walk.
 */
typedef int32_t (*teak_table_function)(void *user, teak_slice name, uint32_t several_values);

/**
 * Reads records into an array, beginning with the one that the cursor is on, and moves the cursor
 * to the first record that was not read. Returns TEAK_NONE if no records are left. Stores the
 * number of records read in `count`.
 *
 * Threads: any, while no other call uses the cursor. Lives: keys until the next call with the
 * cursor; values as those of teak_get, or as the keys if keys have several values.
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
 * Calls a function for each record from the one that the cursor is on, without copies and without
 * further calls across the border. Returns TEAK_NONE when no records are left, and TEAK_OK if the
 * function ended the scan; the cursor is then on the record of that call. The function may read
 * with the same transaction, through other cursors.
 *
 * Threads: any, while no other call uses the cursor. Lives: the function's arguments until it
 * returns.
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
 * Calls a function for each open read transaction of all processes. Returns TEAK_NONE if the
 * function ended the walk before the last one.
 *
 * Threads: any. Lives: the function's arguments until it returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_CORRUPTED; TEAK_INVALID_ARGUMENT if the function
 * returns another number.
 */
teak_code teak_db_each_reader(teak_db db, teak_reader_function each, void *user, teak_error *error);

/**
 * Waits until there is a commit newer than `after`, of any process, and stores the number of the
 * newest visible commit. Waits at most the given number of milliseconds and then returns
 * TEAK_NONE; UINT64_MAX waits without a limit. A program that then begins to read, and compares
 * with its previous state by teak_changed_tables and teak_differences, follows all commits.
 *
 * Threads: any; the database may be closed while the call waits.
 *
 * Errors: TEAK_INVALID_HANDLE; TEAK_INVALID_ARGUMENT if the database was closed during the wait.
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
teak_code teak_db_wait_for_commit(teak_db db, uint64_t after, uint64_t limit_ms, uint64_t *newest, teak_error *error);

/**
 * Calls a function for each table that was created (TEAK_INSERTED), dropped (TEAK_REMOVED) or
 * changed since an older state, in the order of their names. Returns TEAK_NONE if the function
 * ended the walk before the last one. A renamed table counts as dropped and created.
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
 * Stores the id of the process that is writing now, which is the one that teak_txn_begin_write
 * waits for. Returns TEAK_NONE if there is none, or if it is unknown, as in another PID namespace.
 * A process may keep the writer lock between two transactions, to commit what it has in memory.
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
teak_code teak_db_writer_process(teak_db db, uint32_t *process, teak_error *error);

/**
 * Returns a sentence that describes a code. The string lives as long as the library. The message
 * of a teak_error says more. Any thread. Unknown numbers are described as such.
 *
 * ```c
 * puts(teak_code_text(TEAK_TABLE_NOT_FOUND));
 * ```
 */
const char *teak_code_text(int32_t code);

/**
 * Opens a cursor over a table. The transaction only identifies the database. The cursor has no
 * position yet.
 *
 * Threads: any; the cursor may go from one thread to another, and be used by one call at a time.
 * Lives: until teak_cursor_close.
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
teak_code teak_cursor_open(teak_txn txn, teak_table table, teak_cursor *cursor, teak_error *error);

/**
 * Creates another cursor at the same position.
 *
 * Threads: any. Lives: until teak_cursor_close.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_clone(teak_cursor cursor, teak_cursor *clone, teak_error *error);

/**
 * Closes a cursor.
 *
 * Threads: any, while no other call uses the cursor. Lives: keys that it returned must not be used
 * any more, nor its values if keys have several.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_close(teak_cursor cursor, teak_error *error);

/**
 * Clears the position of a cursor, as if it had just been opened.
 *
 * Threads: any, while no other call uses the cursor.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_cursor_reset(teak_cursor cursor, teak_error *error);

/**
 * Returns the record that a cursor is on, without moving it. Returns TEAK_NONE if the record has
 * been removed from the table.
 *
 * Threads, lives, errors: as teak_cursor_move.
 */
teak_code teak_cursor_record(teak_cursor cursor, teak_txn txn, teak_record *record, teak_error *error);

/**
 * Stores the number of values of the cursor's key, without reading them. If keys have one
 * value, the number is 1, or 0 without a record.
 *
 * Threads, errors: as teak_cursor_move.
 */
teak_code teak_cursor_count_values(teak_cursor cursor, teak_txn txn, uint64_t *count, teak_error *error);

/**
 * Compares the positions of two cursors: -1, 0 or 1. Returns TEAK_NONE if they are over different
 * tables, or if one has no position.
 *
 * Threads: any, while no other call uses the cursors, which must be different ones.
 *
 * Errors: as teak_cursor_move.
 */
teak_code teak_cursor_compare(teak_cursor cursor, teak_cursor other, teak_txn txn, int32_t *order, teak_error *error);

/**
 * Inserts a record, and replaces the record with the same key if there is one. Where a key has
 * several values, adds the pair. Afterwards the cursor is on it.
 *
 * Threads: any, while no other call uses the cursor or the transaction.
 *
 * Errors: those of teak_insert and teak_cursor_move.
 */
teak_code teak_cursor_insert(teak_cursor cursor, teak_txn txn, teak_slice key, teak_slice value, teak_error *error);

/**
 * Inserts a record if its key is new. Returns TEAK_NONE if the key exists; the cursor is then on
 * its record.
 *
 * Threads, errors: as teak_cursor_insert.
 */
teak_code teak_cursor_insert_new(teak_cursor cursor, teak_txn txn, teak_slice key, teak_slice value, teak_error *error);

/**
 * Replaces the value of the record that the cursor is on. Returns TEAK_NONE if it is on no record,
 * or if the key has several values and `value` is one of them already.
 *
 * Threads, errors: as teak_cursor_insert.
 */
teak_code teak_cursor_update(teak_cursor cursor, teak_txn txn, teak_slice value, teak_error *error);

/**
 * Removes records as a teak_delete_scope says. Returns TEAK_NONE if there were none. Stores their
 * number in `removed`, unless that is NULL. The cursor keeps its position: TEAK_NEXT continues
 * after the removed records.
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
teak_code teak_cursor_remove(teak_cursor cursor, teak_txn txn, uint32_t scope, uint64_t *removed, teak_error *error);

/**
 * Moves a cursor as a teak_move says, and stores the record that it is on afterwards in `record`,
 * unless that is NULL. Returns TEAK_NONE and an empty record if there is none.
 *
 * Threads: any, while no other call uses the cursor. Lives: the key until the next call with the
 * cursor; the value as that of teak_get, or, where a key has several, as the key.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_INVALID_ARGUMENT,
 * TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST,
 * TEAK_FORKED. After an error the cursor has not moved.
 */
teak_code teak_cursor_move(teak_cursor cursor, teak_txn txn, uint32_t to, teak_record *record, teak_error *error);

/**
 * Seeks a key as a teak_seek says, and stores the record that the cursor is on afterwards in
 * `record`, unless that is NULL. Returns TEAK_NONE if there is none. Where a key has several
 * values, the cursor goes to the first of them; with TEAK_LESS and TEAK_AT_MOST it goes to the
 * last.
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
 * Seeks among the values of one key, in a table in which a key has several. If no value is found,
 * the cursor does not move.
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
 * Moves to the record with a number, counted from 0 in the order of the table, and stores it in
 * `record`, unless that is NULL. Returns TEAK_NONE if the table has fewer records. Only for
 * counted tables; costs one descent. teak_rank is the inverse.
 *
 * Threads, lives, errors: as teak_cursor_move; TEAK_INVALID_ARGUMENT for a table that is not
 * counted.
 */
teak_code teak_cursor_nth(teak_cursor cursor, teak_txn txn, uint64_t number, teak_record *record, teak_error *error);

/**
 * Opens the database at a path, or creates it. `options` may be NULL. After an error `db` is an
 * invalid handle.
 *
 * Threads: any. Lives: until teak_db_close. The arguments need not outlive the call, except for
 * the comparisons and functions in the options.
 *
 * Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE, TEAK_UNKNOWN_FORMAT,
 * TEAK_IN_USE, TEAK_OPTIONS_DIFFER, TEAK_NETWORK_FILE_SYSTEM, TEAK_CORRUPTED, TEAK_IO,
 * TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW, TEAK_KEY_NEEDED, TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE,
 * TEAK_NOT_ENCRYPTED.
 *
 * ```c
 * teak_db db;
 * check(teak_db_open(path, NULL, &db, &error));
 * check(teak_db_close(db, &error));
 * assert(teak_db_close(db, &error) == TEAK_INVALID_HANDLE);
 * ```
 */
teak_code teak_db_open(const char *path, const teak_options *options, teak_db *db, teak_error *error);

/**
 * Creates a database in memory. It ends with its last handle. `options` may be NULL.
 *
 * Threads: any. Lives: until teak_db_close.
 *
 * Errors: TEAK_INVALID_ARGUMENT, also for an option about a file that stays (access,
 * TEAK_CREATE_NEVER, lock_file, leave_lock_file, file_mode, require_name, journal_bytes); TEAK_IO
 * if there is no memory.
 *
 * ```c
 * teak_db db;
 * check(teak_db_open_in_memory(NULL, &db, &error));
 * check(teak_db_close(db, &error));
 * ```
 */
teak_code teak_db_open_in_memory(const teak_options *options, teak_db *db, teak_error *error);

/**
 * Opens a database whose file is in memory: a download, or a part of the program. The bytes are
 * copied, and the database is only read. `options` may be NULL.
 *
 * Threads: any. Lives: until teak_db_close.
 *
 * Errors: TEAK_INVALID_ARGUMENT, also for an option about a file (TEAK_CREATE_NEW, lock_file,
 * leave_lock_file, file_mode, require_name, journal_bytes), and if the newest commits are only in
 * the journal because the machine went down; TEAK_NOT_A_DATABASE, TEAK_UNKNOWN_FORMAT,
 * TEAK_CORRUPTED for other bytes.
 *
 * ```c
 * teak_slice file = teak_text("hardly a database");
 * assert(teak_db_open_bytes(file, NULL, &db, &error) == TEAK_NOT_A_DATABASE);
 * ```
 */
teak_code teak_db_open_bytes(teak_slice bytes, const teak_options *options, teak_db *db, teak_error *error);

/**
 * Deletes the database at `path` with its lock file. TEAK_NONE if there is none. A symbolic link
 * is followed, and stays.
 *
 * Threads: any.
 *
 * Errors: TEAK_IN_USE if a process has it open; TEAK_NOT_A_DATABASE if the file is not a database,
 * and stays; TEAK_IO.
 *
 * ```c
 * teak_db db;
 * check(teak_db_open(path, NULL, &db, &error));
 * assert(teak_db_delete(path, &error) == TEAK_IN_USE);
 * check(teak_db_close(db, &error));
 * check(teak_db_delete(path, &error));
 * assert(teak_db_delete(path, &error) == TEAK_NONE);
 * ```
 */
teak_code teak_db_delete(const char *path, teak_error *error);

/**
 * Writes the path of the lock file of the database at `path`, zero-terminated, to `lock_file`,
 * which has `room` bytes. Databases use this path unless lock_file of the options names another.
 * Symbolic links in `path` are followed. Neither file has to exist, but their directory does.
 *
 * Threads: any.
 *
 * Errors: TEAK_IO if the directory does not exist or cannot be read; TEAK_INVALID_ARGUMENT if the
 * path needs more room.
 *
 * ```c
 * char lock_file[4096];
 * check(teak_lock_file_of(path, lock_file, sizeof lock_file, &error));
 * assert(strstr(lock_file, "-lock"));
 * ```
 */
teak_code teak_lock_file_of(const char *path, char *lock_file, size_t room, teak_error *error);

/**
 * Creates another handle of the same opening, so that threads which begin many transactions need
 * not share one. Tables, transactions and tickets are valid with all handles.
 *
 * Threads: any. Lives: until teak_db_close, independently of the first handle.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_db_clone(teak_db db, teak_db *clone, teak_error *error);

/**
 * Closes a database. The last handle of an opening flushes all commits to the disk, and reports a
 * failure to do so. Open read transactions and tickets stay usable, but no new ones can begin.
 * Calls that wait for a writer at that time return TEAK_INVALID_HANDLE when it has ended. Those
 * calls, backups, checks and compactions keep the file open until they return.
 *
 * Threads: any, while no other call uses the handle. The handle ends even if there is an error,
 * except with the first two.
 *
 * Errors: TEAK_INVALID_HANDLE; TEAK_BUSY while the handle is used, or, for the last one, while a
 * write transaction is open; TEAK_IO, TEAK_POISONED.
 */
teak_code teak_db_close(teak_db db, teak_error *error);

/**
 * Stores counts of the newest state in a structure whose size is set.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED, TEAK_CORRUPTED.
 */
teak_code teak_db_get_stat(teak_db db, teak_db_stat *stat, teak_error *error);

/**
 * Waits until all commits are on the disk.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_IO, TEAK_POISONED, TEAK_FORKED.
 */
teak_code teak_db_sync(teak_db db, teak_error *error);

/**
 * Starts to flush all commits to the disk. A ticket reports when they are there.
 *
 * Threads: any. Lives: the ticket until teak_ticket_end.
 *
 * Errors: those of teak_db_sync.
 */
teak_code teak_db_begin_sync(teak_db db, teak_ticket *ticket, teak_error *error);

/**
 * Makes a ticket for a commit of this process, by its number.
 *
 * Threads: any. Lives: the ticket until teak_ticket_end.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED; TEAK_INVALID_ARGUMENT if
 * there is no such commit yet.
 */
teak_code teak_db_ticket(teak_db db, uint64_t transaction, teak_ticket *ticket, teak_error *error);

/**
 * Returns advice about an errno of the system, in UTF-8, in the words of this library's messages.
 * Empty for rare ones. The string lives as long as the library.
 */
teak_slice teak_remedy(int32_t system_code);

/**
 * Opens a table whose records expire. Returns TEAK_NONE if no table has that name.
 *
 * Threads: any. Lives: as teak_table_open.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED,
 * TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 */
teak_code teak_expiring_open(teak_txn txn, teak_slice name, teak_expiring_table *table, teak_error *error);

/**
 * Opens a table whose records expire, or creates it if no table has that name. `options` may be
 * NULL. Those of a table that exists do not change.
 *
 * Threads: any, while no other call uses the transaction. Lives: as teak_table_open.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TABLE_MISMATCH for a table
 * of another kind; TEAK_KEY_TOO_LONG (of the name), TEAK_INVALID_ARGUMENT,
 * TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 *
 * ```c
 * teak_expiry_options options = {.size = sizeof options, .ttl_ms = 3600 * 1000};
 * teak_txn txn;
 * teak_expiring_table sessions;
 * teak_expiry minute = {.kind = TEAK_EXPIRY_AFTER, .ms = 60 * 1000};
 * teak_expiry past = {.kind = TEAK_EXPIRY_AT, .ms = 1};
 * teak_slice value;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_expiring_create(txn, teak_text("sessions"), &options, &sessions, &error));
 * check(teak_expiring_insert(txn, sessions, teak_text("a"), teak_text("Ada"), minute, &error));
 * check(teak_expiring_insert(txn, sessions, teak_text("b"), teak_text("Bob"), past, &error));
 * check(teak_expiring_get(txn, sessions, teak_text("a"), &value, NULL, &error));
 * assert(value.len == 3);
 * assert(teak_expiring_get(txn, sessions, teak_text("b"), &value, NULL, &error) == TEAK_NONE);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_expiring_create(teak_txn txn,
                               teak_slice name,
                               const teak_expiry_options *options,
                               teak_expiring_table *table,
                               teak_error *error);

/**
 * Finds the value of a key. Returns TEAK_NONE and an empty value if there is no such record, or if
 * it has expired. `expires_ms` may be NULL; otherwise it gets the time at which the record
 * expires, in milliseconds since 1970, or TEAK_NEVER_EXPIRES.
 *
 * Threads, lives, errors: as teak_get.
 */
teak_code teak_expiring_get(teak_txn txn,
                            teak_expiring_table table,
                            teak_slice key,
                            teak_slice *value,
                            uint64_t *expires_ms,
                            teak_error *error);

/**
 * Inserts a record, or replaces it.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
 * TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_KEY_TOO_LONG, TEAK_INVALID_ARGUMENT,
 * TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_expiring_insert(teak_txn txn,
                               teak_expiring_table table,
                               teak_slice key,
                               teak_slice value,
                               teak_expiry expiry,
                               teak_error *error);

/**
 * Inserts a record. Returns TEAK_NONE and changes nothing if there is one with this key that has
 * not expired.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_insert_new(teak_txn txn,
                                   teak_expiring_table table,
                                   teak_slice key,
                                   teak_slice value,
                                   teak_expiry expiry,
                                   teak_error *error);

/**
 * Changes when a record expires. Returns TEAK_NONE if there is none that has not expired. Its
 * value is written again.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_set_expiry(teak_txn txn,
                                   teak_expiring_table table,
                                   teak_slice key,
                                   teak_expiry expiry,
                                   teak_error *error);

/**
 * Removes a record. Returns TEAK_NONE if there is none that has not expired.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_remove(teak_txn txn, teak_expiring_table table, teak_slice key, teak_error *error);

/**
 * Removes up to `limit` expired records, those that expired first. `removed` may be NULL; it gets
 * their number. Commits remove a few, too.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_remove_expired(teak_txn txn,
                                       teak_expiring_table table,
                                       uint64_t limit,
                                       uint64_t *removed,
                                       teak_error *error);

/**
 * Removes all records.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_clear(teak_txn txn, teak_expiring_table table, teak_error *error);

/**
 * Changes the time to live of records that are inserted from now on, and the limits. Removes the
 * oldest records above the limits. The first limits take time in proportion to the records.
 *
 * Threads, errors: as teak_expiring_insert.
 */
teak_code teak_expiring_set_options(teak_txn txn,
                                    teak_expiring_table table,
                                    const teak_expiry_options *options,
                                    teak_error *error);

/**
 * Stores counts and settings. Takes a few descents.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_expiring_stat(teak_txn txn, teak_expiring_table table, teak_expiry_stat *stat, teak_error *error);

/**
 * Calls a function for each record of a range of keys that has not expired, in key order. Returns
 * TEAK_NONE when no records are left, and TEAK_OK if the function ended the walk by returning
 * another number than 0. The function may read with the same transaction.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT. Lives: the function's arguments until it
 * returns.
 */
teak_code teak_expiring_each(teak_txn txn,
                             teak_expiring_table table,
                             teak_bound low,
                             teak_bound high,
                             teak_record_function each,
                             void *user,
                             teak_error *error);

/**
 * Copies the value of a key to `buffer`, which has room for `room` bytes, and stores its length in
 * `len`. Copies nothing if it does not fit: call again with at least `len` bytes. Returns TEAK_NONE
 * if the key does not exist.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_flat_copy_value(uint64_t txn,
                               uint64_t table,
                               const void *key,
                               size_t key_len,
                               void *buffer,
                               size_t room,
                               size_t *len,
                               teak_error *error);

/**
 * Copies packed records to `buffer`, beginning with the one that the cursor is on, and moves the
 * cursor to the first record that was not copied. Copies at most `max` records, as many as fit in
 * `room` bytes, and none after the bound, which is an upper one for TEAK_FORWARD and a lower one
 * for TEAK_BACKWARD. Stores the number of records in `count` and their bytes in `used`.
 *
 * Returns TEAK_NONE if no records are left after these. If the first record does not fit, `count`
 * is 0 and `used` is the room that it needs.
 *
 * Threads: any, while no other call uses the cursor. Errors: as teak_cursor_move.
 */
teak_code teak_flat_cursor_copy(uint64_t cursor,
                                uint64_t txn,
                                uint32_t direction,
                                uint32_t bound_kind,
                                const void *bound_key,
                                size_t bound_key_len,
                                void *buffer,
                                size_t room,
                                size_t max,
                                size_t *count,
                                size_t *used,
                                teak_error *error);

/**
 * Copies one packed record to `buffer`: the one that a teak_seek finds for the key, without a
 * cursor. Without a key (NULL), it is the first record for TEAK_AT_LEAST and the last one for
 * TEAK_AT_MOST. Stores its bytes in `used`. Copies nothing if they do not fit: call again with
 * that room. Returns TEAK_NONE if there is no such record.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_flat_find(uint64_t txn,
                         uint64_t table,
                         uint32_t seek,
                         const void *key,
                         size_t key_len,
                         void *buffer,
                         size_t room,
                         size_t *used,
                         teak_error *error);

/**
 * Inserts the packed records of `records`, which has `len` bytes: as teak_insert_many.
 *
 * Threads: any, while no other call uses the transaction. Errors: as teak_insert_many.
 */
teak_code teak_flat_insert_packed(uint64_t txn,
                                  uint64_t table,
                                  const void *records,
                                  size_t len,
                                  uint64_t *inserted,
                                  teak_error *error);

/**
 * teak_snapshot_create with scalar arguments.
 */
teak_code teak_flat_snapshot_create(uint64_t txn, const void *name, size_t name_len, teak_error *error);

/**
 * teak_snapshot_drop with scalar arguments.
 */
teak_code teak_flat_snapshot_drop(uint64_t txn, const void *name, size_t name_len, teak_error *error);

/**
 * teak_snapshot_open with scalar arguments.
 */
teak_code teak_flat_snapshot_open(uint64_t db, const void *name, size_t name_len, uint64_t *txn, teak_error *error);

/**
 * teak_cursor_open with scalar arguments.
 */
teak_code teak_flat_cursor_open(uint64_t txn, uint64_t table, uint64_t *cursor, teak_error *error);

/**
 * teak_cursor_close with scalar arguments.
 */
teak_code teak_flat_cursor_close(uint64_t cursor, teak_error *error);

/**
 * teak_cursor_move with scalar arguments.
 */
teak_code teak_flat_cursor_move(uint64_t cursor, uint64_t txn, uint32_t to, teak_record *record, teak_error *error);

/**
 * teak_cursor_seek with scalar arguments.
 */
teak_code teak_flat_cursor_seek(uint64_t cursor,
                                uint64_t txn,
                                uint32_t seek,
                                const void *key,
                                size_t key_len,
                                teak_record *record,
                                teak_error *error);

/**
 * teak_cursor_seek_pair with scalar arguments.
 */
teak_code teak_flat_cursor_seek_pair(uint64_t cursor,
                                     uint64_t txn,
                                     uint32_t seek,
                                     const void *key,
                                     size_t key_len,
                                     const void *value,
                                     size_t value_len,
                                     teak_record *record,
                                     teak_error *error);

/**
 * teak_cursor_read with scalar arguments.
 */
teak_code teak_flat_cursor_read(uint64_t cursor,
                                uint64_t txn,
                                uint32_t direction,
                                teak_record *records,
                                size_t max,
                                size_t *count,
                                teak_error *error);

/**
 * teak_db_open_bytes with scalar arguments.
 */
teak_code teak_flat_db_open_bytes(const void *bytes,
                                  size_t bytes_len,
                                  const teak_options *options,
                                  uint64_t *db,
                                  teak_error *error);

/**
 * teak_db_close with scalar arguments.
 */
teak_code teak_flat_db_close(uint64_t db, teak_error *error);

/**
 * teak_db_sync with scalar arguments.
 */
teak_code teak_flat_db_sync(uint64_t db, teak_error *error);

/**
 * teak_db_ticket with scalar arguments.
 */
teak_code teak_flat_db_ticket(uint64_t db, uint64_t transaction, uint64_t *ticket, teak_error *error);

/**
 * teak_db_get_stat with scalar arguments.
 */
teak_code teak_flat_db_get_stat(uint64_t db, teak_db_stat *stat, teak_error *error);

/**
 * teak_db_metrics with scalar arguments.
 */
teak_code teak_flat_db_metrics(uint64_t db, teak_metrics *metrics, teak_error *error);

/**
 * teak_db_wait_for_commit with scalar arguments.
 */
teak_code teak_flat_db_wait_for_commit(uint64_t db,
                                       uint64_t after,
                                       uint64_t limit_ms,
                                       uint64_t *newest,
                                       teak_error *error);

/**
 * teak_txn_begin_read with scalar arguments.
 */
teak_code teak_flat_txn_begin_read(uint64_t db, uint64_t *txn, teak_error *error);

/**
 * teak_txn_begin_write with scalar arguments.
 */
teak_code teak_flat_txn_begin_write(uint64_t db, uint64_t *txn, teak_error *error);

/**
 * teak_txn_begin_write_within with scalar arguments.
 */
teak_code teak_flat_txn_begin_write_within(uint64_t db, uint64_t limit_ms, uint64_t *txn, teak_error *error);

/**
 * teak_txn_refresh with scalar arguments.
 */
teak_code teak_flat_txn_refresh(uint64_t txn, teak_error *error);

/**
 * teak_txn_commit with scalar arguments.
 */
teak_code teak_flat_txn_commit(uint64_t txn, uint64_t *id, teak_error *error);

/**
 * teak_txn_commit_async with scalar arguments.
 */
teak_code teak_flat_txn_commit_async(uint64_t txn, uint64_t *ticket, teak_error *error);

/**
 * teak_txn_checkpoint with scalar arguments.
 */
teak_code teak_flat_txn_checkpoint(uint64_t txn, uint64_t *id, teak_error *error);

/**
 * teak_txn_end with scalar arguments.
 */
teak_code teak_flat_txn_end(uint64_t txn, teak_error *error);

/**
 * teak_txn_id with scalar arguments.
 */
teak_code teak_flat_txn_id(uint64_t txn, uint64_t *id, teak_error *error);

/**
 * teak_txn_set_durability with scalar arguments.
 */
teak_code teak_flat_txn_set_durability(uint64_t txn, uint32_t durability, teak_error *error);

/**
 * teak_txn_roll_back with scalar arguments.
 */
teak_code teak_flat_txn_roll_back(uint64_t txn, teak_error *error);

/**
 * teak_txn_savepoint with scalar arguments.
 */
teak_code teak_flat_txn_savepoint(uint64_t txn, uint64_t *savepoint, teak_error *error);

/**
 * teak_txn_roll_back_to with scalar arguments.
 */
teak_code teak_flat_txn_roll_back_to(uint64_t txn, uint64_t savepoint, teak_error *error);

/**
 * teak_txn_release with scalar arguments.
 */
teak_code teak_flat_txn_release(uint64_t txn, uint64_t savepoint, teak_error *error);

/**
 * teak_ticket_poll with scalar arguments.
 */
teak_code teak_flat_ticket_poll(uint64_t ticket, teak_error *error);

/**
 * teak_ticket_wait with scalar arguments.
 */
teak_code teak_flat_ticket_wait(uint64_t ticket, uint64_t limit_ms, teak_error *error);

/**
 * teak_ticket_transaction with scalar arguments.
 */
teak_code teak_flat_ticket_transaction(uint64_t ticket, uint64_t *transaction, teak_error *error);

/**
 * teak_ticket_end with scalar arguments.
 */
teak_code teak_flat_ticket_end(uint64_t ticket, teak_error *error);

/**
 * As teak_differences, for the differences after a record; for all if `after` is NULL. Its value
 * counts only if keys have several. Walking on from the last difference of an earlier call costs
 * one descent.
 *
 * Threads, lives, errors: as teak_differences.
 */
teak_code teak_flat_differences(uint64_t older,
                                uint64_t newer,
                                uint64_t table,
                                const teak_record *after,
                                teak_difference_function each,
                                void *user,
                                uint64_t *count,
                                teak_error *error);

/**
 * teak_get with scalar arguments. In a read transaction it is faster for keys that are looked up
 * in their order.
 */
teak_code teak_flat_get(uint64_t txn,
                        uint64_t table,
                        const void *key,
                        size_t key_len,
                        teak_slice *value,
                        teak_error *error);

/**
 * teak_contains with scalar arguments.
 */
teak_code teak_flat_contains(uint64_t txn, uint64_t table, const void *key, size_t key_len, teak_error *error);

/**
 * teak_insert with scalar arguments.
 */
teak_code teak_flat_insert(uint64_t txn,
                           uint64_t table,
                           const void *key,
                           size_t key_len,
                           const void *value,
                           size_t value_len,
                           teak_error *error);

/**
 * teak_insert_new with scalar arguments.
 */
teak_code teak_flat_insert_new(uint64_t txn,
                               uint64_t table,
                               const void *key,
                               size_t key_len,
                               const void *value,
                               size_t value_len,
                               teak_error *error);

/**
 * teak_update with scalar arguments.
 */
teak_code teak_flat_update(uint64_t txn,
                           uint64_t table,
                           const void *key,
                           size_t key_len,
                           const void *value,
                           size_t value_len,
                           teak_error *error);

/**
 * teak_append with scalar arguments.
 */
teak_code teak_flat_append(uint64_t txn,
                           uint64_t table,
                           const void *key,
                           size_t key_len,
                           const void *value,
                           size_t value_len,
                           teak_error *error);

/**
 * teak_remove with scalar arguments.
 */
teak_code teak_flat_remove(uint64_t txn, uint64_t table, const void *key, size_t key_len, teak_error *error);

/**
 * teak_remove_range with scalar arguments.
 */
teak_code teak_flat_remove_range(uint64_t txn,
                                 uint64_t table,
                                 uint32_t low_kind,
                                 const void *low,
                                 size_t low_len,
                                 uint32_t high_kind,
                                 const void *high,
                                 size_t high_len,
                                 uint64_t *removed,
                                 teak_error *error);

/**
 * teak_count_range with scalar arguments.
 */
teak_code teak_flat_count_range(uint64_t txn,
                                uint64_t table,
                                uint32_t low_kind,
                                const void *low,
                                size_t low_len,
                                uint32_t high_kind,
                                const void *high,
                                size_t high_len,
                                uint64_t *count,
                                teak_error *error);

/**
 * teak_compare_keys with scalar arguments.
 */
teak_code teak_flat_compare_keys(uint64_t txn,
                                 uint64_t table,
                                 const void *a,
                                 size_t a_len,
                                 const void *b,
                                 size_t b_len,
                                 int32_t *order,
                                 teak_error *error);

/**
 * teak_insert_pair with scalar arguments.
 */
teak_code teak_flat_insert_pair(uint64_t txn,
                                uint64_t table,
                                const void *key,
                                size_t key_len,
                                const void *value,
                                size_t value_len,
                                teak_error *error);

/**
 * teak_contains_pair with scalar arguments.
 */
teak_code teak_flat_contains_pair(uint64_t txn,
                                  uint64_t table,
                                  const void *key,
                                  size_t key_len,
                                  const void *value,
                                  size_t value_len,
                                  teak_error *error);

/**
 * teak_count_values with scalar arguments.
 */
teak_code teak_flat_count_values(uint64_t txn,
                                 uint64_t table,
                                 const void *key,
                                 size_t key_len,
                                 uint64_t *count,
                                 teak_error *error);

/**
 * teak_remove_pair with scalar arguments.
 */
teak_code teak_flat_remove_pair(uint64_t txn,
                                uint64_t table,
                                const void *key,
                                size_t key_len,
                                const void *value,
                                size_t value_len,
                                teak_error *error);

/**
 * teak_remove_values with scalar arguments.
 */
teak_code teak_flat_remove_values(uint64_t txn,
                                  uint64_t table,
                                  const void *key,
                                  size_t key_len,
                                  uint64_t *removed,
                                  teak_error *error);

/**
 * teak_table_open with scalar arguments.
 */
teak_code teak_flat_table_open(uint64_t txn, const void *name, size_t name_len, uint64_t *table, teak_error *error);

/**
 * teak_table_create with scalar arguments.
 */
teak_code teak_flat_table_create(uint64_t txn,
                                 const void *name,
                                 size_t name_len,
                                 const teak_table_options *options,
                                 uint64_t *table,
                                 teak_error *error);

/**
 * teak_table_drop with scalar arguments.
 */
teak_code teak_flat_table_drop(uint64_t txn, const void *name, size_t name_len, teak_error *error);

/**
 * teak_table_rename with scalar arguments.
 */
teak_code teak_flat_table_rename(uint64_t txn,
                                 const void *old_name,
                                 size_t old_name_len,
                                 const void *new_name,
                                 size_t new_name_len,
                                 teak_error *error);

/**
 * teak_table_clear with scalar arguments.
 */
teak_code teak_flat_table_clear(uint64_t txn, uint64_t table, teak_error *error);

/**
 * teak_table_draw_sequence with scalar arguments.
 */
teak_code teak_flat_table_draw_sequence(uint64_t txn,
                                        uint64_t table,
                                        uint64_t count,
                                        uint64_t *first,
                                        teak_error *error);

/**
 * teak_table_get_stat with scalar arguments.
 */
teak_code teak_flat_table_get_stat(uint64_t txn, uint64_t table, teak_table_stat *stat, teak_error *error);

/**
 * Changes the key of an encrypted database, which no other process may have open. Only the key in
 * `encryption` opens it afterwards. Pages are not written again. The cipher of `encryption` does
 * not matter.
 *
 * Threads: any.
 *
 * Errors: TEAK_NOT_ENCRYPTED; TEAK_IN_USE; TEAK_KEY_UNAVAILABLE; those of a commit.
 */
teak_code teak_db_change_key(teak_db db, const teak_encryption *encryption, teak_error *error);

/**
 * Writes a new random key to a new file, as 64 hexadecimal digits. On Unix only this user may read
 * it. Returns when the file is on the disk.
 *
 * Threads: any.
 *
 * Errors: TEAK_FILE_EXISTS; TEAK_IO.
 */
teak_code teak_key_create(const char *path, teak_error *error);

/**
 * Loads records that are sorted in the order of the table (by key and then by value, if keys have
 * several values). Pages are built from the leaves up, each written once and full. A table that
 * is not empty takes only records after its last one. Stores the number of records in `count`.
 * Returns TEAK_NONE if the function stopped the load. Then, and after an error, nothing is
 * changed.
 *
 * Threads: any, while no other call uses the transaction; the function must not use it either.
 * Lives: nothing is kept after the call.
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
 * Loads records in any order: sorts them first, in memory and in temporary files, and then builds
 * pages as teak_bulk_load does. Of several records with the same key the last one counts. If keys
 * have several values, repeated pairs are loaded once. If the table is not empty, the records
 * are inserted into it. `options` may be NULL. Returns TEAK_NONE if the function stopped the load.
 * Then, and after an error, nothing is changed.
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
 * Copies all records of a range of keys to another table. That table may have another order, but
 * the same number of values per key, one or several. Records there with the same keys are
 * replaced. Stores the number of copied records in `count`. After an error nothing is changed.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_ARGUMENT if both are the same table, or the target cannot hold some of the
 * keys or values; TEAK_TABLE_MISMATCH if one table has several values per key and the other does
 * not; those of teak_insert.
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
 * Writes a copy of the newest state to a new file, which gets its name when it is complete and on
 * the disk. Others can read and write during the backup. `progress` may be NULL. Returns TEAK_NONE
 * if `progress` ended it; there is no copy then.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FILE_EXISTS, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED,
 * TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * check(teak_db_backup(db, path, NULL, NULL, &error));
 * teak_db copy;
 * check(teak_db_open(path, NULL, &copy, &error));
 * check(teak_db_close(copy, &error));
 * ```
 */
teak_code teak_db_backup(teak_db db, const char *path, teak_progress_function progress, void *user, teak_error *error);

/**
 * Writes a copy that is as small as possible: its pages are full, and none is free.
 *
 * The copy of an encrypted database is encrypted with the same key.
 *
 * Threads, errors: as teak_db_backup. `progress` receives a total of 0, because it is not known.
 */
teak_code teak_db_backup_compact(teak_db db,
                                 const char *path,
                                 teak_progress_function progress,
                                 void *user,
                                 teak_error *error);

/**
 * Writes a copy as small as that of teak_db_backup_compact. It is encrypted with this key and
 * cipher, or not encrypted if `encryption` is NULL. The default cipher is that of the database, if
 * it is encrypted.
 *
 * Threads, errors: as teak_db_backup; TEAK_KEY_UNAVAILABLE.
 *
 * ```c
 * unsigned char key[TEAK_KEY_LEN] = {7}; // of a real key, every byte is random
 * teak_encryption encryption = {.size = sizeof encryption, .key = {key, sizeof key}};
 * check(teak_db_backup_compact_encrypted(db, path, &encryption, NULL, NULL, &error));
 * teak_options options = {.size = sizeof options, .encryption = &encryption};
 * teak_db copy;
 * check(teak_db_open(path, &options, &copy, &error));
 * check(teak_db_close(copy, &error));
 * ```
 */
teak_code teak_db_backup_compact_encrypted(teak_db db,
                                           const char *path,
                                           const teak_encryption *encryption,
                                           teak_progress_function progress,
                                           void *user,
                                           teak_error *error);

/**
 * Moves pages from the end of the file to free pages before it, and makes the file as short as
 * possible: teak_db_compact_with without options and report.
 *
 * Threads, errors: as teak_db_compact_with.
 */
teak_code teak_db_compact(teak_db db, teak_progress_function progress, void *user, teak_error *error);

/**
 * Moves pages from the end of the file to free pages before it, and truncates the file. `options`
 * and `report`, whose sizes are set, and `progress` may be NULL. `progress` receives the number of
 * pages moved and the length of the file. Returns TEAK_NONE if `progress` ended it.
 *
 * Threads: any. It commits, and waits for other writers.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FULL,
 * TEAK_CORRUPTED, TEAK_IO, TEAK_FORKED, TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW; TEAK_FILE_NOT_FOUND
 * if the file has lost its name, which was required.
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
 * Checks every page of the newest state. Returns TEAK_OK if there is no damage, TEAK_CORRUPTED if
 * there is, and TEAK_NONE if `progress` ended the check. `progress` receives the number of pages
 * checked, and the total. `report`, whose size is set, `each` and `progress` may be NULL.
 *
 * Threads: any. Lives: the arguments of the functions until they return.
 *
 * Errors: TEAK_CORRUPTED, with the first damage; TEAK_INVALID_HANDLE, TEAK_BUSY,
 * TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * teak_check_report report = {.size = sizeof report};
 * check(teak_db_check(db, &report, NULL, NULL, NULL, NULL, &error));
 * assert(report.damages == 0 && report.pages > 0);
 * ```
 */
teak_code teak_db_check(teak_db db,
                        teak_check_report *report,
                        teak_damage_function each,
                        void *each_user,
                        teak_progress_function progress,
                        void *progress_user,
                        teak_error *error);

/**
 * Stores the counts of the work done since the database was opened. Takes no lock.
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
 * Commits as teak_txn_commit does, and stores how long each step took. `id` and `latency`, whose
 * size is set, may be NULL.
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
teak_code teak_txn_commit_measured(teak_txn txn, uint64_t *id, teak_commit_latency *latency, teak_error *error);

/**
 * Adds a value to a key. Returns TEAK_NONE if the key has that value already.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_insert; TEAK_VALUE_TOO_LONG.
 */
teak_code teak_insert_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Adds many values to a key. Stores the number of new ones in `inserted`, unless that is NULL.
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
 * Returns TEAK_OK if a key has a value, and TEAK_NONE if not.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_contains_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Stores the number of values of a key, without reading them. Returns TEAK_NONE if it has none.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_count_values(teak_txn txn, teak_table table, teak_slice key, uint64_t *count, teak_error *error);

/**
 * Replaces one value of a key by another. Returns TEAK_NONE if the key does not have the old one,
 * or has the new one too.
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
 * Removes a value of a key. Returns TEAK_NONE if the key does not have it.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_remove_pair(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Removes a key with all its values. Returns TEAK_NONE if the key does not exist. Stores the
 * number of values in `removed`, unless that is NULL.
 *
 * Threads, errors: as teak_insert_pair.
 */
teak_code teak_remove_values(teak_txn txn, teak_table table, teak_slice key, uint64_t *removed, teak_error *error);

/**
 * Parks a read transaction, and ends its handle. Its state is kept unless a writer needs the
 * space. Meant for transactions of clients that may never return.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read must not be
 * used any more; the parked transaction until teak_parked_resume or teak_parked_end.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if there
 * is a clone of it; TEAK_SNAPSHOT_LOST if it was cancelled, after which it has ended.
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
teak_code teak_txn_park(teak_txn txn, teak_parked *parked, teak_error *error);

/**
 * Resumes reading the same state. The parked transaction ends even after an error.
 *
 * Threads: any. Lives: as teak_txn_begin_read.
 *
 * Errors: TEAK_SNAPSHOT_LOST if the state was given up, or the transaction cancelled: begin a new
 * one. TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_parked_resume(teak_parked parked, teak_txn *txn, teak_error *error);

/**
 * Ends a parked transaction that will not be resumed.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_parked_end(teak_parked parked, teak_error *error);

/**
 * Makes the changes of a transaction durable under a name, without committing them. Readers see
 * them after teak_prepared_commit, and teak_prepared_roll_back undoes them; either is possible in
 * any process, also after a crash. Until then no other transaction begins to write. The
 * transaction ends. Stores its number in `id`, unless that is NULL.
 *
 * Threads: any, while no other call uses the transaction. The handle ends even if there is an
 * error, except with the first three.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT for a name
 * of none or more than 255 bytes, and for a transaction that creates or drops a named snapshot or
 * sets the geometry; TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is
 * prepared; TEAK_POISONED and TEAK_IO of a flush: teak_prepared_each tells when the database is
 * opened again.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_txn_prepare(txn, teak_text("transfer 7"), NULL, &error));
 * // When all others are prepared, too:
 * check(teak_prepared_commit(db, teak_text("transfer 7"), NULL, &error));
 * ```
 */
teak_code teak_txn_prepare(teak_txn txn, teak_slice name, uint64_t *id, teak_error *error);

/**
 * Commits a prepared transaction. Stores the number of the commit in `id`, unless that is NULL.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY; TEAK_PREPARED_NOT_FOUND if none has that name, or not
 * any more; TEAK_READ_ONLY, TEAK_FORKED; TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: it stays prepared;
 * TEAK_POISONED and TEAK_IO of a flush: teak_prepared_each tells when the database is opened
 * again.
 */
teak_code teak_prepared_commit(teak_db db, teak_slice name, uint64_t *id, teak_error *error);

/**
 * Undoes a prepared transaction. Stores the number of the commit that undoes it in `id`, unless
 * that is NULL.
 *
 * Threads, errors: as teak_prepared_commit.
 */
teak_code teak_prepared_roll_back(teak_db db, teak_slice name, uint64_t *id, teak_error *error);

/**
 * Begins to read the state that a prepared transaction would make visible. Returns TEAK_NONE if
 * none has that name.
 *
 * Threads, lives, errors: as teak_txn_begin_read; TEAK_CORRUPTED.
 */
teak_code teak_prepared_open(teak_db db, teak_slice name, teak_txn *txn, teak_error *error);

/**
 * Calls a function for each prepared transaction, of which there is at most one. Returns TEAK_NONE
 * if the function ended the walk. A program that prepares transactions calls this when it starts,
 * before it writes.
 *
 * Threads: any. Lives: the function's arguments until it returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_FORKED.
 */
teak_code teak_prepared_each(teak_db db, teak_prepared_function each, void *user, teak_error *error);

/**
 * Counts the records of a range of keys, or the pairs if keys have several values. In a counted
 * table this costs two descents.
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
 * Estimates the number of records, or pairs, in a range of keys. Reads two paths of the tree.
 * There are at least `at_least` and at most `at_most`. All three pointers may be NULL.
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
 * Compares two keys in the order of a table: -1, 0 or 1. The keys need not exist.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for an integer of another length than the
 * keys.
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
 * Compares two values in the order of a table in which keys have several values.
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
 * Stores the number of records with smaller keys, which is the number of the key's own record,
 * counted from 0, if that exists. Only for counted tables with one value per key; costs one
 * descent.
 *
 * Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for a table that is not counted.
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
teak_code teak_rank(teak_txn txn, teak_table table, teak_slice key, uint64_t *rank, teak_error *error);

/**
 * Stores the number of pairs before this one, by key and then by value. Only for counted tables in
 * which keys have several values.
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
 * Splits a range into parts with about equal numbers of records, or pairs, for several threads or
 * processes to read. Calls a function with the key at which each part except the first begins, and
 * with the value if the part begins among the values of the key; the value is empty otherwise.
 * Returns TEAK_NONE if the function ended the calls before the last one. There are `parts` parts,
 * but never more than records, nor more than 65,536.
 *
 * Threads: any. Lives: the function's arguments until it returns.
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
 * Finds the value of a key. Returns TEAK_NONE and an empty value if the key does not exist.
 *
 * Threads: any. Lives: the value as long as the read transaction or a clone of it; in a write
 * transaction until its next change.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND,
 * TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
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
teak_code teak_get(teak_txn txn, teak_table table, teak_slice key, teak_slice *value, teak_error *error);

/**
 * Finds the values of many keys, faster than one by one. Stores the value of `keys[i]` in
 * `values[i]`, with a data of NULL if the key does not exist. Stores the number of keys found in
 * `found`, unless that is NULL.
 *
 * Threads, lives, errors: as teak_get. After an error the values are undefined.
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
 * Returns TEAK_OK if a key exists, and TEAK_NONE if not.
 *
 * Threads, errors: as teak_get.
 */
teak_code teak_contains(teak_txn txn, teak_table table, teak_slice key, teak_error *error);

/**
 * Inserts a record, and replaces the record with the same key if there is one.
 *
 * Threads: any, while no other call uses the transaction. The arguments may point to values of the
 * same transaction: they are read before anything is changed.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
 * TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_KEY_TOO_LONG, TEAK_INVALID_ARGUMENT,
 * TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_insert(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Inserts a record if its key is new. Returns TEAK_NONE if the key exists; its record is not
 * changed.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_insert_new(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Replaces the value of a record. Returns TEAK_NONE if the key does not exist.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_update(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Inserts a record after the last one, without a search.
 *
 * Threads, errors: as teak_insert; TEAK_NOT_SORTED if the key does not come after the last one.
 */
teak_code teak_append(teak_txn txn, teak_table table, teak_slice key, teak_slice value, teak_error *error);

/**
 * Changes a record if its value is the expected one. `old` may be NULL for a key that is expected
 * not to exist, and `new_value` may be NULL to remove the record. Returns TEAK_NONE if the value
 * differs; the record is not changed.
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
 * Removes the record of a key. Returns TEAK_NONE if the key does not exist.
 *
 * Threads, errors: as teak_insert.
 */
teak_code teak_remove(teak_txn txn, teak_table table, teak_slice key, teak_error *error);

/**
 * Inserts many records in any order, faster than one by one. Of several records with the same key
 * the last one counts. Stores the number of new keys in `inserted`, unless that is NULL. If the
 * table has several values per key, the pairs are added.
 *
 * Threads, errors: as teak_insert. Nothing is changed if a key is invalid.
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
 * Removes the records of many keys. Stores the number of removed records in `removed`, unless that
 * is NULL.
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
 * Removes all records of a range, or all pairs if keys have several values. Pages that lie within
 * the range are released unread. Stores the number of removed records in `removed`, unless
 * that is NULL.
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
 * Writes an incremental backup to a new file. It has the pages of the newest state that a copy of
 * the state read by `since`, or of a later one, lacks. Usually `since` reads a named snapshot that
 * was made before the copy. `progress` may be NULL. Returns TEAK_NONE if `progress` ended the
 * backup. teak_restore combines copy and increments.
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
 * Creates a database from the file of a backup and the files of its incremental backups, in the
 * order in which they were made, and checks every page of it. `report`, whose size is set, and
 * `progress` may be NULL. `progress` receives the number of bytes written, and a total of 0.
 * Returns TEAK_NONE if `progress` ended it. No file remains then.
 *
 * Threads: any.
 *
 * Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE; TEAK_INVALID_ARGUMENT for an
 * incomplete backup, and for increments that do not follow it; TEAK_CORRUPTED, TEAK_IO.
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
 * teak_restore for backups of an encrypted database, with its key.
 *
 * Threads: any.
 *
 * Errors: as teak_restore; TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE, TEAK_NOT_ENCRYPTED.
 */
teak_code teak_restore_encrypted(const char *full,
                                 const char *const *increments,
                                 size_t increment_count,
                                 const char *target,
                                 const teak_encryption *encryption,
                                 teak_check_report *report,
                                 teak_progress_function progress,
                                 void *user,
                                 teak_error *error);

/**
 * Copies all readable records of a damaged database into a new one. The damaged file is not
 * changed. It works even if the file cannot be opened as a database. `options` and `report`, whose
 * sizes are set, may be NULL. Returns TEAK_NONE if `progress` ended it.
 *
 * Threads: any. After an error, or if `progress` ended it, there is no new database.
 *
 * Errors: TEAK_FILE_NOT_FOUND; TEAK_FILE_EXISTS; TEAK_NOT_A_DATABASE if no commit record is
 * readable; TEAK_CORRUPTED if none leads to tables; TEAK_UNKNOWN_FORMAT, TEAK_IN_USE,
 * TEAK_INVALID_ARGUMENT, TEAK_IO; TEAK_KEY_NEEDED, TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE,
 * TEAK_NOT_ENCRYPTED.
 */
teak_code teak_salvage(const char *source,
                       const char *target,
                       const teak_salvage_options *options,
                       teak_salvage_report *report,
                       teak_error *error);

/**
 * Creates a named snapshot of the state that a transaction makes. The state is kept until the
 * snapshot is dropped. If teak_snapshot_roll_back follows in the transaction, the snapshot has the
 * state that the transaction began with.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_SNAPSHOT_EXISTS;
 * TEAK_INVALID_ARGUMENT for a name of none or more than 255 bytes; TEAK_TRANSACTION_BROKEN,
 * TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_snapshot_create(teak_txn txn, teak_slice name, teak_error *error);

/**
 * Drops a named snapshot. Returns TEAK_NONE if none has that name.
 *
 * Threads, errors: as teak_snapshot_create.
 */
teak_code teak_snapshot_drop(teak_txn txn, teak_slice name, teak_error *error);

/**
 * Resets all tables to their contents in a named snapshot. Takes effect when the transaction is
 * committed.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must
 * not be used any more.
 *
 * Errors: as teak_snapshot_create; TEAK_SNAPSHOT_NOT_FOUND.
 */
teak_code teak_snapshot_roll_back(teak_txn txn, teak_slice name, teak_error *error);

/**
 * Begins to read a named snapshot. Returns TEAK_NONE if none has that name.
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
 * Calls a function for each named snapshot, in the order of their names. Returns TEAK_NONE if the
 * function ended the walk before the last one.
 *
 * Threads: any. Lives: the function's arguments until it returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_FORKED.
 */
teak_code teak_snapshot_each(teak_db db, teak_snapshot_function each, void *user, teak_error *error);

/**
 * Calls a function for each record in which two states of a table differ, in the order of keys.
 * Returns TEAK_NONE if the function ended the walk before the last one. The time depends on the
 * amount of change, not on the size of the table. Stores the number of reported differences in
 * `count`, unless that is NULL.
 *
 * Threads: any. Lives: the function's arguments until it returns. It may read with both
 * transactions.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_WRONG_TRANSACTION,
 * TEAK_INVALID_ARGUMENT, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED,
 * TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 */
teak_code teak_differences(teak_txn older,
                           teak_txn newer,
                           teak_table table,
                           teak_difference_function each,
                           void *user,
                           uint64_t *count,
                           teak_error *error);

/**
 * Opens a table, with one or with several values per key. Returns TEAK_NONE if none has that name.
 *
 * Threads: any. Lives: as long as the database is open. In another transaction it means the same
 * table, whether or not the table exists there.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_COMPARISON_MISSING, TEAK_COMPARISON_MISMATCH,
 * TEAK_CORRUPTED, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * teak_table table;
 * check(teak_txn_begin_read(db, &txn, &error));
 * assert(teak_table_open(txn, teak_text("no such table"), &table, &error) == TEAK_NONE);
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_table_open(teak_txn txn, teak_slice name, teak_table *table, teak_error *error);

/**
 * Opens a table, or creates it if none has that name. `options` may be NULL.
 *
 * Threads: any, while no other call uses the transaction. Lives: as teak_table_open.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TABLE_MISMATCH if it was
 * created with other options; TEAK_KEY_TOO_LONG (of the name), TEAK_INVALID_ARGUMENT,
 * TEAK_TOO_NEW, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_create(teak_txn txn,
                            teak_slice name,
                            const teak_table_options *options,
                            teak_table *table,
                            teak_error *error);

/**
 * Drops a table with all its records. Returns TEAK_NONE if none has that name.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TRANSACTION_BROKEN,
 * TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_drop(teak_txn txn, teak_slice name, teak_error *error);

/**
 * Renames a table.
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
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
 * TEAK_TABLE_NOT_FOUND, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
 */
teak_code teak_table_clear(teak_txn txn, teak_table table, teak_error *error);

/**
 * Draws numbers from the sequence of a table. Once the transaction is committed, `first` and the
 * `count - 1` numbers after it are never drawn again.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_table_clear; TEAK_SEQUENCE_EXHAUSTED.
 */
teak_code teak_table_draw_sequence(teak_txn txn, teak_table table, uint64_t count, uint64_t *first, teak_error *error);

/**
 * Stores counts of a table in a structure whose size is set.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND,
 * TEAK_SNAPSHOT_LOST, TEAK_FORKED.
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
 * Calls a function for each table, in the order of their names. Returns TEAK_NONE if the function
 * ended the walk before the last one. The function may read with the same transaction.
 *
 * Threads: any. Lives: the name until the function returns.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED,
 * TEAK_SNAPSHOT_LOST.
 */
teak_code teak_table_each(teak_txn txn, teak_table_function each, void *user, teak_error *error);

/**
 * Returns TEAK_OK if the commit is on the disk, and TEAK_NONE if not yet. Does not wait.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO or TEAK_POISONED if a write or
 * flush failed, so the commit may be lost in a power failure.
 */
teak_code teak_ticket_poll(teak_ticket ticket, teak_error *error);

/**
 * Waits until the commit is on the disk, and returns TEAK_OK. Waits at most the given number of
 * milliseconds and then returns TEAK_NONE; UINT64_MAX waits without a limit.
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
teak_code teak_ticket_wait(teak_ticket ticket, uint64_t limit_ms, teak_error *error);

/**
 * Stores a descriptor for poll, epoll and the like. It becomes readable when the outcome of the
 * commit is known; teak_ticket_poll then returns it.
 *
 * Threads: any, while no other call uses the ticket. Lives: the descriptor belongs to the ticket
 * and is closed with it; each call returns the same one.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO if the process has no descriptor
 * left, and on Windows, where use teak_ticket_wait or teak_ticket_poll.
 */
teak_code teak_ticket_descriptor(teak_ticket ticket, int32_t *descriptor, teak_error *error);

/**
 * Stores the number of the commit.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_ticket_transaction(teak_ticket ticket, uint64_t *transaction, teak_error *error);

/**
 * Ends a ticket. This does not affect the commit.
 *
 * Threads: any, while no other call uses the ticket; threads that wait with it continue to wait.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_ticket_end(teak_ticket ticket, teak_error *error);

/**
 * Begins to read the newest state. Does not wait for writers.
 *
 * Threads: any; the transaction may be used from any thread, and from several at a time. Lives:
 * until teak_txn_end, even if the database is closed. Values stay valid as long as the transaction
 * or a clone of it.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_read(db, &txn, &error));
 * check(teak_txn_end(txn, &error));
 * ```
 */
teak_code teak_txn_begin_read(teak_db db, teak_txn *txn, teak_error *error);

/**
 * Creates another handle of a read transaction: it reads the same state and takes no further
 * reader slot. Threads that read a lot should each have a handle.
 *
 * Threads: any. Lives: until teak_txn_end, independently of the first handle.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
 */
teak_code teak_txn_clone(teak_txn txn, teak_txn *clone, teak_error *error);

/**
 * Moves a read transaction to the newest state. Returns TEAK_NONE if it reads that already. This
 * is cheaper than ending it and beginning another.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must
 * not be used any more, unless the result is TEAK_NONE. Clones still read their states.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TOO_MANY_READERS,
 * TEAK_FORKED; TEAK_INVALID_ARGUMENT if the database has been closed.
 */
teak_code teak_txn_refresh(teak_txn txn, teak_error *error);

/**
 * Begins to write. Waits until no other transaction writes, in this process or another.
 *
 * Threads: any; the transaction may be used from any thread, by one call that changes something or
 * by several that read. Lives: until teak_txn_commit, teak_txn_commit_async or teak_txn_end.
 * Values that were read are valid until its next change.
 *
 * Errors: TEAK_INVALID_HANDLE, also if the database is closed meanwhile; TEAK_BUSY if this thread
 * began the transaction that the call would wait for; TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
 *
 * ```c
 * teak_txn txn;
 * check(teak_txn_begin_write(db, &txn, &error));
 * check(teak_txn_end(txn, &error)); // nothing is changed
 * ```
 */
teak_code teak_txn_begin_write(teak_db db, teak_txn *txn, teak_error *error);

/**
 * Like teak_txn_begin_write, but waits at most the given number of milliseconds, and with 0 not at
 * all. Returns TEAK_NONE if that time has passed.
 *
 * Threads, lives: as teak_txn_begin_write.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
 */
teak_code teak_txn_begin_write_within(teak_db db, uint64_t limit_ms, teak_txn *txn, teak_error *error);

/**
 * Begins to write on exactly the state that a read transaction sees, so that decisions based on it
 * still hold.
 *
 * Threads, lives: as teak_txn_begin_write.
 *
 * Errors: TEAK_SNAPSHOT_STALE if there is a newer state: refresh the reader and decide again;
 * those of teak_txn_begin_write; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
 */
teak_code teak_txn_begin_write_at(teak_db db, teak_txn reader, teak_txn *txn, teak_error *error);

/**
 * Commits. When it returns, all readers that begin see the changes, and unless another durability
 * was chosen, the changes are on the disk. Stores the number of the commit in `id`, unless that is
 * NULL; if nothing was changed, it is the number of the last commit.
 *
 * Threads: any, while no other call uses the transaction. The handle ends even if there is an
 * error, except with the first three.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TRANSACTION_BROKEN,
 * TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is changed; TEAK_POISONED and TEAK_IO of a flush: it
 * is uncertain whether the commit will be found when the database is opened again.
 */
teak_code teak_txn_commit(teak_txn txn, uint64_t *id, teak_error *error);

/**
 * Commits without waiting for the disk: all readers that begin see the changes, and the ticket
 * reports when they are on the disk.
 *
 * Threads, errors: as teak_txn_commit. Lives: the ticket until teak_ticket_end.
 */
teak_code teak_txn_commit_async(teak_txn txn, teak_ticket *ticket, teak_error *error);

/**
 * Commits, and continues as a write transaction: no other writer comes in between. Savepoints end.
 * `id` as for teak_txn_commit.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must
 * not be used any more.
 *
 * Errors: those of teak_txn_commit; the transaction stays, and can be ended.
 */
teak_code teak_txn_checkpoint(teak_txn txn, uint64_t *id, teak_error *error);

/**
 * Ends a transaction. The changes of a write transaction are undone.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read must not be
 * used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_txn_end(teak_txn txn, teak_error *error);

/**
 * Stores the number of the commit that made the state being read. For a write transaction it is
 * the number that its commit will have.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
 */
teak_code teak_txn_id(teak_txn txn, uint64_t *id, teak_error *error);

/**
 * Stores how often a part of the file could not be read since it was opened. A program that keeps
 * a value for a long time calls this before and after: if both numbers are equal, the bytes read
 * in between are those of the file, and not the zeros that replace unreadable parts.
 *
 * Threads: any.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
 */
teak_code teak_txn_read_faults(teak_txn txn, uint64_t *faults, teak_error *error);

/**
 * Sets when this transaction's commit is to be on the disk: a teak_durability.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_INVALID_ARGUMENT.
 */
teak_code teak_txn_set_durability(teak_txn txn, uint32_t durability, teak_error *error);

/**
 * Undoes all changes since the transaction began, or since its last checkpoint. The transaction
 * stays usable. Savepoints end. This also recovers from TEAK_TRANSACTION_BROKEN.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must
 * not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_IO, TEAK_CORRUPTED,
 * TEAK_POISONED.
 */
teak_code teak_txn_roll_back(teak_txn txn, teak_error *error);

/**
 * Sets a savepoint, and stores its number.
 *
 * Threads: any, while no other call uses the transaction. Lives: until it is released, an earlier
 * one is released or rolled back to, or the transaction ends, is rolled back or makes a
 * checkpoint.
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
teak_code teak_txn_savepoint(teak_txn txn, uint64_t *savepoint, teak_error *error);

/**
 * Undoes all changes since a savepoint, which stays.
 *
 * Threads: any, while no other call uses the transaction. Lives: values that were read before must
 * not be used any more.
 *
 * Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if the
 * savepoint has ended; TEAK_TRANSACTION_BROKEN.
 */
teak_code teak_txn_roll_back_to(teak_txn txn, uint64_t savepoint, teak_error *error);

/**
 * Ends a savepoint and all later ones. The changes stay.
 *
 * Threads: any, while no other call uses the transaction.
 *
 * Errors: those of teak_txn_roll_back_to.
 */
teak_code teak_txn_release(teak_txn txn, uint64_t savepoint, teak_error *error);

/* The bytes of a zero-terminated text, without the zero. The text is not copied. */
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
