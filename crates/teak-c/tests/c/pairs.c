/* Tables in which keys have several values. */
#include "common.h"

static teak_table lines;

static teak_slice number(uint32_t *place, uint32_t number) {
  *place = number;
  return teak_bytes(place, sizeof *place);
}

static uint32_t of(teak_slice slice) {
  uint32_t number;
  assert(slice.len == sizeof number);
  memcpy(&number, slice.data, sizeof number);
  return number;
}

static void one_by_one(teak_txn txn) {
  uint32_t place, other;
  uint64_t count;
  teak_slice teak = teak_text("teak");
  check(teak_insert_pair(txn, lines, teak, number(&place, 3), &error));
  assert(teak_insert_pair(txn, lines, teak, number(&place, 3), &error) == TEAK_NONE);
  check(teak_insert_pair(txn, lines, teak, number(&place, 300), &error));
  check(teak_contains_pair(txn, lines, teak, number(&place, 300), &error));
  assert(teak_contains_pair(txn, lines, teak, number(&place, 4), &error) == TEAK_NONE);
  check(teak_replace_pair(txn, lines, teak, number(&place, 3), number(&other, 4), &error));
  assert(teak_replace_pair(txn, lines, teak, number(&place, 3), number(&other, 5), &error) == TEAK_NONE);
  check(teak_count_values(txn, lines, teak, &count, &error));
  assert(count == 2);
  check(teak_remove_pair(txn, lines, teak, number(&place, 4), &error));
  assert(teak_remove_pair(txn, lines, teak, number(&place, 4), &error) == TEAK_NONE);
  check(teak_remove_values(txn, lines, teak, &count, &error));
  assert(count == 1);
  assert(teak_remove_values(txn, lines, teak, NULL, &error) == TEAK_NONE);
  assert(teak_count_values(txn, lines, teak, &count, &error) == TEAK_NONE);
  assert(count == 0);
  refused(teak_insert_pair(txn, lines, teak, teak_text("no integer"), &error), TEAK_INVALID_ARGUMENT);
  teak_table plain = create(txn, "plain");
  refused(teak_insert_pair(txn, plain, teak, teak, &error), TEAK_TABLE_MISMATCH);
  refused(teak_count_values(txn, plain, teak, &count, &error), TEAK_TABLE_MISMATCH);
  refused(teak_insert(txn, lines, teak, teak, &error), TEAK_TABLE_MISMATCH);
}

enum { VALUES = 5000 };

static void many(teak_txn txn) {
  static uint32_t numbers[VALUES];
  static teak_slice values[VALUES];
  for (uint32_t i = 0; i < VALUES; i++) values[i] = number(&numbers[i], (i * 7919) % VALUES);
  uint64_t count;
  check(teak_insert_values(txn, lines, teak_text("teak"), values, VALUES, &count, &error));
  assert(count == VALUES);
  check(teak_insert_values(txn, lines, teak_text("ash"), values, 3, &count, &error));
  check(teak_insert_values(txn, lines, teak_text("oak"), values, 1, NULL, &error));
  check(teak_insert_values(txn, lines, teak_text("oak"), NULL, 0, &count, &error));
  assert(count == 0);
  teak_bound all = {0}, ash = {.kind = TEAK_INCLUDED, .key = teak_text("ash")};
  check(teak_count_range(txn, lines, all, ash, &count, &error));
  assert(count == 3);
  check(teak_count_range(txn, lines, all, all, &count, &error));
  assert(count == VALUES + 4);
}

static void cursors(teak_txn txn) {
  teak_cursor cursor;
  teak_record record;
  uint32_t place;
  uint64_t count;
  check(teak_cursor_open(txn, lines, &cursor, &error));
  check(teak_cursor_seek(cursor, txn, TEAK_EXACT, teak_text("teak"), &record, &error));
  assert(of(record.value) == 0);
  check(teak_cursor_count_values(cursor, txn, &count, &error));
  assert(count == VALUES);
  check(teak_cursor_seek_value(cursor, txn, TEAK_LESS, teak_text("teak"), number(&place, 256), &record, &error));
  assert(of(record.value) == 255);
  check(teak_cursor_move(cursor, txn, TEAK_NEXT_VALUE, &record, &error));
  assert(of(record.value) == 256);
  check(teak_cursor_move(cursor, txn, TEAK_LAST_VALUE, &record, &error));
  assert(of(record.value) == VALUES - 1);
  assert(teak_cursor_move(cursor, txn, TEAK_NEXT_VALUE, &record, &error) == TEAK_NONE);
  check(teak_cursor_move(cursor, txn, TEAK_PREV_KEY, &record, &error));
  assert(is_text(record.key, "oak") && of(record.value) == 0);
  check(teak_cursor_move(cursor, txn, TEAK_NEXT_KEY, &record, &error));
  check(teak_cursor_seek_pair(cursor, txn, TEAK_EXACT, teak_text("teak"), number(&place, 9), &record, &error));
  check(teak_cursor_move(cursor, txn, TEAK_PREV_VALUE, &record, &error));
  assert(of(record.value) == 8);
  check(teak_cursor_move(cursor, txn, TEAK_FIRST_VALUE, &record, &error));
  assert(of(record.value) == 0);
  assert(teak_cursor_move(cursor, txn, TEAK_NEXT_KEY, &record, &error) == TEAK_NONE);
  check(teak_cursor_close(cursor, &error));
}

static void batches(teak_txn txn, size_t max) {
  teak_cursor cursor;
  check(teak_cursor_open(txn, lines, &cursor, &error));
  teak_record *records = calloc(max, sizeof *records);
  for (uint32_t direction = TEAK_FORWARD; direction <= TEAK_BACKWARD; direction++) {
    size_t count, all = 0;
    uint32_t next = direction == TEAK_FORWARD ? 0 : VALUES - 1;
    check(teak_cursor_reset(cursor, &error));
    while (teak_cursor_read(cursor, txn, direction, records, max, &count, &error) == TEAK_OK) {
      all += count;
      for (size_t i = 0; i < count; i++)
        if (is_text(records[i].key, "teak")) {
          assert(of(records[i].value) == next);
          next += direction == TEAK_FORWARD ? 1 : -1;
        }
    }
    assert(all == VALUES + 4);
    assert(next == (direction == TEAK_FORWARD ? VALUES : UINT32_MAX));
  }
  free(records);
  check(teak_cursor_close(cursor, &error));
}

static void changes(teak_txn txn) {
  teak_cursor cursor;
  teak_record record;
  uint32_t place;
  uint64_t count;
  check(teak_cursor_open(txn, lines, &cursor, &error));
  check(teak_cursor_seek_pair(cursor, txn, TEAK_EXACT, teak_text("teak"), number(&place, 100), NULL, &error));
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_VALUES_BEFORE, &count, &error));
  assert(count == 100);
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, &count, &error));
  check(teak_cursor_move(cursor, txn, TEAK_NEXT_VALUE, &record, &error));
  assert(of(record.value) == 101);
  check(teak_cursor_update(cursor, txn, number(&place, 50), &error));
  check(teak_cursor_record(cursor, txn, &record, &error));
  assert(of(record.value) == 50);
  check(teak_cursor_insert(cursor, txn, teak_text("elm"), number(&place, 1), &error));
  check(teak_cursor_move(cursor, txn, TEAK_NEXT_KEY, &record, &error));
  assert(is_text(record.key, "oak"));
  check(teak_cursor_seek(cursor, txn, TEAK_AT_MOST, teak_text("zebra"), &record, &error));
  assert(of(record.value) == VALUES - 1);
  check(teak_cursor_remove(cursor, txn, TEAK_DELETE_ALL_VALUES, &count, &error));
  assert(count == VALUES - 101);
  check(teak_cursor_close(cursor, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "pairs.teak"));
  teak_table_options options = {.size = sizeof options,
                                .several_values = 1,
                                .value_order = TEAK_ORDER_INTEGER,
                                .value_size = sizeof(uint32_t)};
  teak_txn txn = begin_write(db);
  check(teak_table_create(txn, teak_text("lines"), &options, &lines, &error));
  one_by_one(txn);
  many(txn);
  cursors(txn);
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_read(db);
  cursors(txn);
  batches(txn, 1);
  batches(txn, 100);
  batches(txn, 100000);
  check(teak_txn_end(txn, &error));
  txn = begin_write(db);
  changes(txn);
  check(teak_txn_end(txn, &error));
  check(teak_db_close(db, &error));
  return 0;
}
