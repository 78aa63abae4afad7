/* Cursors over tables with one value per key: moves, searches, changes, batches and scans. */
#include "common.h"

enum { COUNT = 1000 };

static teak_table table;

static void fill(teak_db db) {
  teak_txn txn = begin_write(db);
  table = create(txn, "numbers");
  for (int i = 0; i < COUNT; i++) {
    char key[16], value[16];
    snprintf(key, sizeof key, "%06d", 2 * i);
    snprintf(value, sizeof value, "%d", i);
    check(teak_append(txn, table, teak_text(key), teak_text(value), &error));
  }
  check(teak_txn_commit(txn, NULL, &error));
}

static void moves(teak_txn txn) {
  teak_cursor cursor, clone;
  teak_record record = {teak_text("x"), teak_text("y")};
  check(teak_cursor_open(txn, table, &cursor, &error));
  assert(teak_cursor_record(cursor, txn, &record, &error) == TEAK_NONE);
  assert(record.key.len == 0 && record.value.len == 0);
  check(teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error));
  assert(is_text(record.key, "000000") && is_text(record.value, "0"));
  check(teak_cursor_move(cursor, txn, TEAK_LAST, &record, &error));
  assert(is_text(record.key, "001998"));
  assert(teak_cursor_move(cursor, txn, TEAK_NEXT, NULL, &error) == TEAK_NONE);
  check(teak_cursor_move(cursor, txn, TEAK_PREV, &record, &error));
  assert(is_text(record.key, "001998"));
  check(teak_cursor_seek(cursor, txn, TEAK_AT_LEAST, teak_text("000501"), &record, &error));
  assert(is_text(record.key, "000502"));
  assert(teak_cursor_seek(cursor, txn, TEAK_EXACT, teak_text("000501"), &record, &error) == TEAK_NONE);
  check(teak_cursor_record(cursor, txn, &record, &error));
  assert(is_text(record.key, "000502") && is_text(record.value, "251"));
  check(teak_cursor_seek(cursor, txn, TEAK_EXACT, teak_text("000500"), &record, &error));
  check(teak_cursor_seek(cursor, txn, TEAK_GREATER, teak_text("000500"), &record, &error));
  assert(is_text(record.key, "000502"));
  check(teak_cursor_seek(cursor, txn, TEAK_LESS, teak_text("000500"), &record, &error));
  assert(is_text(record.key, "000498"));
  check(teak_cursor_seek(cursor, txn, TEAK_AT_MOST, teak_text("000501"), &record, &error));
  assert(is_text(record.key, "000500"));
  uint64_t count;
  check(teak_cursor_count_values(cursor, txn, &count, &error));
  assert(count == 1);
  int32_t order;
  check(teak_cursor_clone(cursor, &clone, &error));
  check(teak_cursor_compare(cursor, clone, txn, &order, &error));
  assert(order == 0);
  check(teak_cursor_move(clone, txn, TEAK_NEXT, &record, &error));
  check(teak_cursor_compare(cursor, clone, txn, &order, &error));
  assert(order == -1);
  refused(teak_cursor_compare(cursor, cursor, txn, &order, &error), TEAK_BUSY);
  check(teak_cursor_reset(clone, &error));
  assert(teak_cursor_compare(cursor, clone, txn, &order, &error) == TEAK_NONE);
  check(teak_cursor_close(clone, &error));
  refused(teak_cursor_move(cursor, txn, 11, &record, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_cursor_seek(cursor, txn, 5, teak_text("x"), &record, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_cursor_seek_pair(cursor, txn, 0, teak_text("x"), teak_text("y"), &record, &error), TEAK_TABLE_MISMATCH);
  refused(teak_cursor_insert(cursor, txn, teak_text("x"), teak_text("y"), &error), TEAK_WRONG_TRANSACTION);
  check(teak_cursor_record(cursor, txn, &record, &error));
  assert(is_text(record.key, "000500"));
  check(teak_cursor_close(cursor, &error));
  refused(teak_cursor_close(cursor, &error), TEAK_INVALID_HANDLE);
  refused(teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error), TEAK_INVALID_HANDLE);
}

static void batches(teak_txn txn, size_t max) {
  teak_cursor cursor;
  check(teak_cursor_open(txn, table, &cursor, &error));
  teak_record *records = calloc(max + 1, sizeof *records);
  for (uint32_t direction = TEAK_FORWARD; direction <= TEAK_BACKWARD; direction++) {
    int next = direction == TEAK_FORWARD ? 0 : COUNT - 1, step = direction == TEAK_FORWARD ? 1 : -1;
    size_t count;
    teak_code code;
    check(teak_cursor_reset(cursor, &error));
    while ((code = teak_cursor_read(cursor, txn, direction, records, max, &count, &error)) == TEAK_OK) {
      assert(count > 0 && count <= max);
      for (size_t i = 0; i < count; i++, next += step) {
        char key[16], value[16];
        snprintf(key, sizeof key, "%06d", 2 * next);
        snprintf(value, sizeof value, "%d", next);
        assert(is_text(records[i].key, key) && is_text(records[i].value, value));
      }
    }
    assert(code == TEAK_NONE && count == 0);
    assert(next == (direction == TEAK_FORWARD ? COUNT : -1));
    assert(teak_cursor_read(cursor, txn, direction, records, max, &count, &error) == TEAK_NONE);
  }
  size_t count;
  refused(teak_cursor_read(cursor, txn, 2, records, max, &count, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_cursor_read(cursor, txn, 0, NULL, max, &count, &error), TEAK_INVALID_ARGUMENT);
  assert(teak_cursor_read(cursor, txn, 0, NULL, 0, &count, &error) == TEAK_NONE);
  free(records);
  check(teak_cursor_close(cursor, &error));
}

struct scan {
  teak_txn txn;
  teak_cursor cursor;
  int seen;
};

static int until_ten(void *user, teak_slice key, teak_slice value) {
  struct scan *scan = user;
  teak_slice again;
  check(teak_get(scan->txn, table, key, &again, &error));
  assert(again.len == value.len && memcmp(again.data, value.data, value.len) == 0);
  refused(teak_cursor_move(scan->cursor, scan->txn, TEAK_NEXT, NULL, &error), TEAK_BUSY);
  refused(teak_cursor_close(scan->cursor, &error), TEAK_BUSY);
  return ++scan->seen == 10;
}

static void scans(teak_txn txn) {
  struct scan scan = {.txn = txn};
  teak_record record;
  check(teak_cursor_open(txn, table, &scan.cursor, &error));
  check(teak_cursor_scan(scan.cursor, txn, TEAK_FORWARD, until_ten, &scan, &error));
  check(teak_cursor_record(scan.cursor, txn, &record, &error));
  assert(is_text(record.key, "000018"));
  assert(teak_cursor_scan(scan.cursor, txn, TEAK_BACKWARD, until_ten, &scan, &error) == TEAK_NONE);
  assert(scan.seen == 20);
  refused(teak_cursor_scan(scan.cursor, txn, TEAK_FORWARD, NULL, &scan, &error), TEAK_INVALID_ARGUMENT);
  check(teak_cursor_close(scan.cursor, &error));
}

static void changes(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_cursor cursor;
  teak_record record;
  check(teak_cursor_open(txn, table, &cursor, &error));
  /* Every record is visited once, although every second one is removed. */
  int met = 0;
  while (teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error) == TEAK_OK)
    if (met++ % 2 == 0) check(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, NULL, &error));
  assert(met == COUNT);
  check(teak_cursor_insert(cursor, txn, teak_text("000001"), teak_text("one"), &error));
  check(teak_cursor_update(cursor, txn, teak_text("eins"), &error));
  check(teak_cursor_record(cursor, txn, &record, &error));
  assert(is_text(record.key, "000001") && is_text(record.value, "eins"));
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, NULL, &error));
  assert(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, NULL, &error) == TEAK_NONE);
  assert(teak_cursor_update(cursor, txn, teak_text("uno"), &error) == TEAK_NONE);
  assert(teak_cursor_record(cursor, txn, &record, &error) == TEAK_NONE);
  check(teak_cursor_move(cursor, txn, TEAK_CURRENT, &record, &error));
  assert(is_text(record.key, "000002"));
  assert(teak_cursor_insert_new(cursor, txn, teak_text("000006"), teak_text("x"), &error) == TEAK_NONE);
  check(teak_cursor_record(cursor, txn, &record, &error));
  assert(is_text(record.key, "000006") && is_text(record.value, "3"));
  uint64_t removed;
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_BEFORE, &removed, &error));
  assert(removed == 1);
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_AFTER, &removed, &error));
  assert(removed == COUNT / 2 - 2);
  refused(teak_cursor_remove(cursor, txn, 11, &removed, &error), TEAK_INVALID_ARGUMENT);
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_ALL, &removed, &error));
  assert(removed == 1);
  check(teak_txn_end(txn, &error));

  /* The cursor continues in another transaction, which does not see the changes. */
  txn = begin_read(db);
  check(teak_cursor_move(cursor, txn, TEAK_CURRENT, &record, &error));
  assert(is_text(record.key, "000006"));
  check(teak_txn_end(txn, &error));
  refused(teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error), TEAK_INVALID_HANDLE);
  check(teak_cursor_close(cursor, &error));
}

static void ranges(teak_txn txn) {
  teak_bound all = {0}, low = {.kind = TEAK_EXCLUDED, .key = teak_text("000100")};
  teak_bound high = {.kind = TEAK_INCLUDED, .key = teak_text("000200")};
  uint64_t count, at_least, at_most;
  check(teak_count_range(txn, table, all, all, &count, &error));
  assert(count == COUNT);
  check(teak_count_range(txn, table, low, high, &count, &error));
  assert(count == 50);
  check(teak_estimate_range(txn, table, low, high, &count, &at_least, &at_most, &error));
  assert(at_least <= 50 && at_most >= 50 && count >= at_least && count <= at_most);
  check(teak_estimate_range(txn, table, low, high, NULL, NULL, NULL, &error));
  low.kind = 7;
  refused(teak_count_range(txn, table, low, high, &count, &error), TEAK_INVALID_ARGUMENT);
}

static void other_databases(teak_db db, const char *directory) {
  teak_db other = open_at(path_of(directory, "other.teak"));
  teak_txn here = begin_read(db), there = begin_read(other);
  teak_cursor cursor;
  check(teak_cursor_open(here, table, &cursor, &error));
  refused(teak_cursor_move(cursor, there, TEAK_NEXT, NULL, &error), TEAK_WRONG_DATABASE);
  teak_cursor none;
  refused(teak_cursor_open(there, table, &none, &error), TEAK_WRONG_DATABASE);
  assert(none.handle == 0);
  check(teak_txn_end(there, &error));
  check(teak_db_close(other, &error));
  check(teak_txn_end(here, &error));
  check(teak_cursor_close(cursor, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "cursors.teak"));
  fill(db);
  teak_txn txn = begin_read(db);
  moves(txn);
  batches(txn, 1);
  batches(txn, 7);
  batches(txn, COUNT);
  batches(txn, 3 * COUNT);
  scans(txn);
  ranges(txn);
  check(teak_txn_end(txn, &error));
  changes(db);
  other_databases(db, argv[1]);
  check(teak_db_close(db, &error));
  return 0;
}
