/* The twins with scalar arguments: a handle is its number, a slice an address and a length. */
#include "common.h"

#define TEXT(text) (text), strlen(text)

static uint64_t flat_create(uint64_t txn, const char *name) {
  uint64_t table = 0;
  check(teak_flat_table_create(txn, TEXT(name), NULL, &table, &error));
  return table;
}

static void records(uint64_t db) {
  uint64_t txn, table, id, count;
  check(teak_flat_txn_begin_write(db, &txn, &error));
  table = flat_create(txn, "ages");
  check(teak_flat_insert(txn, table, TEXT("Ada"), TEXT("36"), &error));
  assert(teak_flat_insert_new(txn, table, TEXT("Ada"), TEXT("37"), &error) == TEAK_NONE);
  check(teak_flat_insert_new(txn, table, TEXT("Bob"), NULL, 0, &error));
  check(teak_flat_update(txn, table, TEXT("Bob"), TEXT("8"), &error));
  check(teak_flat_append(txn, table, TEXT("Zoe"), TEXT("1"), &error));
  refused(teak_flat_append(txn, table, TEXT("Yve"), TEXT("1"), &error), TEAK_NOT_SORTED);
  check(teak_flat_contains(txn, table, TEXT("Bob"), &error));
  assert(teak_flat_update(txn, table, TEXT("Tim"), TEXT("8"), &error) == TEAK_NONE);
  assert(teak_flat_contains(txn, table, TEXT("Tim"), &error) == TEAK_NONE);
  teak_slice value;
  check(teak_flat_get(txn, table, TEXT("Ada"), &value, &error));
  assert(is_text(value, "36"));
  check(teak_flat_get(txn, table, TEXT("Bob"), &value, &error));
  assert(is_text(value, "8"));
  check(teak_flat_get(txn, table, TEXT("Zoe"), &value, &error));
  assert(is_text(value, "1"));
  assert(teak_flat_get(txn, table, TEXT("Tim"), &value, &error) == TEAK_NONE);
  check(teak_flat_remove(txn, table, TEXT("Bob"), &error));
  assert(teak_flat_remove(txn, table, TEXT("Bob"), &error) == TEAK_NONE);
  check(teak_flat_count_range(txn, table, TEAK_INCLUDED, TEXT("Ada"), TEAK_UNBOUNDED, NULL, 0, &count, &error));
  assert(count == 2);
  check(teak_flat_remove_range(txn, table, TEAK_EXCLUDED, TEXT("Ada"), TEAK_UNBOUNDED, NULL, 0, &count, &error));
  assert(count == 1);
  int32_t order = 0;
  check(teak_flat_compare_keys(txn, table, TEXT("a"), TEXT("b"), &order, &error));
  assert(order == -1);
  check(teak_flat_compare_keys(txn, table, TEXT("b"), TEXT("a"), &order, &error));
  assert(order == 1);
  uint64_t first = 1;
  check(teak_flat_table_draw_sequence(txn, table, 3, &first, &error));
  assert(first == 0);
  check(teak_flat_table_draw_sequence(txn, table, 1, &first, &error));
  assert(first == 3);
  teak_table_stat stat = {.size = sizeof stat};
  check(teak_flat_table_get_stat(txn, table, &stat, &error));
  assert(stat.records == 1);
  refused(teak_flat_txn_set_durability(txn, 99, &error), TEAK_INVALID_ARGUMENT);
  check(teak_flat_txn_set_durability(txn, TEAK_DURABILITY_LAZY, &error));
  check(teak_flat_txn_commit(txn, &id, &error));
  refused(teak_flat_txn_commit(txn, &id, &error), TEAK_INVALID_HANDLE);

  check(teak_flat_txn_begin_read(db, &txn, &error));
  uint64_t same = 0;
  check(teak_flat_table_open(txn, TEXT("ages"), &same, &error));
  assert(same == table);
  check(teak_flat_txn_id(txn, &count, &error));
  assert(count == id);
  check(teak_flat_get(txn, table, TEXT("Ada"), &value, &error));
  assert(is_text(value, "36"));
  assert(teak_flat_txn_refresh(txn, &error) == TEAK_NONE);
  refused(teak_flat_insert(txn, table, TEXT("Bob"), TEXT("8"), &error), TEAK_WRONG_TRANSACTION);
  refused(teak_flat_remove(txn, table, TEXT("Ada"), &error), TEAK_WRONG_TRANSACTION);
  refused(teak_flat_txn_commit(txn, NULL, &error), TEAK_WRONG_TRANSACTION);
  refused(teak_flat_get(txn, table + 99, TEXT("Ada"), &value, &error), TEAK_INVALID_HANDLE);
  uint64_t writer;
  check(teak_flat_txn_begin_write(db, &writer, &error));
  check(teak_flat_remove(writer, table, TEXT("Ada"), &error));
  check(teak_flat_txn_commit(writer, NULL, &error));
  check(teak_flat_contains(txn, table, TEXT("Ada"), &error));
  check(teak_flat_txn_refresh(txn, &error));
  assert(teak_flat_contains(txn, table, TEXT("Ada"), &error) == TEAK_NONE);
  check(teak_flat_txn_end(txn, &error));
  refused(teak_flat_txn_end(txn, &error), TEAK_INVALID_HANDLE);
}

static void transactions(uint64_t db) {
  uint64_t txn, other, savepoint, ticket, id, newest;
  check(teak_flat_txn_begin_write(db, &txn, &error));
  assert(teak_flat_txn_begin_write_within(db, 0, &other, &error) == TEAK_NONE);
  uint64_t table = flat_create(txn, "words");
  check(teak_flat_txn_savepoint(txn, &savepoint, &error));
  check(teak_flat_insert(txn, table, TEXT("ash"), TEXT("1"), &error));
  check(teak_flat_txn_roll_back_to(txn, savepoint, &error));
  assert(teak_flat_contains(txn, table, TEXT("ash"), &error) == TEAK_NONE);
  check(teak_flat_txn_release(txn, savepoint, &error));
  refused(teak_flat_txn_roll_back_to(txn, savepoint, &error), TEAK_INVALID_ARGUMENT);
  check(teak_flat_txn_checkpoint(txn, &id, &error));
  check(teak_flat_snapshot_create(txn, TEXT("kept"), &error));
  check(teak_flat_table_rename(txn, TEXT("words"), TEXT("terms"), &error));
  check(teak_flat_txn_commit_async(txn, &ticket, &error));
  check(teak_flat_ticket_wait(ticket, UINT64_MAX, &error));
  check(teak_flat_ticket_poll(ticket, &error));
  uint64_t before = id;
  check(teak_flat_ticket_transaction(ticket, &id, &error));
  assert(id == before + 1);
  check(teak_flat_ticket_end(ticket, &error));
  refused(teak_flat_ticket_poll(ticket, &error), TEAK_INVALID_HANDLE);
  check(teak_flat_db_wait_for_commit(db, id - 1, 0, &newest, &error));
  assert(newest == id);
  assert(teak_flat_db_wait_for_commit(db, id, 0, &newest, &error) == TEAK_NONE);
  check(teak_flat_db_ticket(db, id, &ticket, &error));
  check(teak_flat_ticket_poll(ticket, &error));
  check(teak_flat_ticket_end(ticket, &error));
  refused(teak_flat_db_ticket(db, id + 1, &ticket, &error), TEAK_INVALID_ARGUMENT);

  check(teak_flat_snapshot_open(db, TEXT("kept"), &txn, &error));
  check(teak_flat_table_open(txn, TEXT("terms"), &table, &error));
  check(teak_flat_txn_end(txn, &error));
  check(teak_flat_txn_begin_write(db, &txn, &error));
  check(teak_flat_snapshot_drop(txn, TEXT("kept"), &error));
  assert(teak_flat_snapshot_drop(txn, TEXT("kept"), &error) == TEAK_NONE);
  check(teak_flat_insert(txn, table, TEXT("ash"), TEXT("1"), &error));
  check(teak_flat_table_clear(txn, table, &error));
  assert(teak_flat_contains(txn, table, TEXT("ash"), &error) == TEAK_NONE);
  check(teak_flat_table_drop(txn, TEXT("terms"), &error));
  assert(teak_flat_table_open(txn, TEXT("terms"), &other, &error) != TEAK_OK);
  check(teak_flat_txn_roll_back(txn, &error));
  check(teak_flat_table_open(txn, TEXT("terms"), &other, &error));
  assert(other == table);
  check(teak_flat_txn_end(txn, &error));

  check(teak_flat_db_sync(db, &error));
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_flat_db_get_stat(db, &stat, &error));
  assert(stat.table_count == 2);
  teak_metrics metrics = {.size = sizeof metrics};
  check(teak_flat_db_metrics(db, &metrics, &error));
  assert(metrics.commits >= 3);
}

static void pairs(uint64_t db) {
  uint64_t txn, table, count;
  teak_table_options options = {.size = sizeof options, .several_values = 1};
  check(teak_flat_txn_begin_write(db, &txn, &error));
  check(teak_flat_table_create(txn, TEXT("lines"), &options, &table, &error));
  check(teak_flat_insert_pair(txn, table, TEXT("teak"), TEXT("3"), &error));
  check(teak_flat_insert_pair(txn, table, TEXT("teak"), TEXT("5"), &error));
  check(teak_flat_contains_pair(txn, table, TEXT("teak"), TEXT("5"), &error));
  check(teak_flat_count_values(txn, table, TEXT("teak"), &count, &error));
  assert(count == 2);
  uint64_t cursor;
  teak_record record;
  check(teak_flat_cursor_open(txn, table, &cursor, &error));
  check(teak_flat_cursor_seek_pair(cursor, txn, TEAK_GREATER, TEXT("teak"), TEXT("3"), &record, &error));
  assert(is_text(record.value, "5"));
  check(teak_flat_cursor_close(cursor, &error));
  check(teak_flat_remove_pair(txn, table, TEXT("teak"), TEXT("3"), &error));
  assert(teak_flat_remove_pair(txn, table, TEXT("teak"), TEXT("3"), &error) == TEAK_NONE);
  assert(teak_flat_contains_pair(txn, table, TEXT("teak"), TEXT("3"), &error) == TEAK_NONE);
  check(teak_flat_remove_values(txn, table, TEXT("teak"), &count, &error));
  assert(count == 1);
  check(teak_flat_txn_end(txn, &error));
}

/* Reads a packed record, and returns the bytes after it. */
static const char *unpack(const char *at, teak_slice *key, teak_slice *value) {
  uint32_t lengths[2];
  memcpy(lengths, at, sizeof lengths);
  *key = teak_bytes(at + 8, lengths[0]);
  *value = teak_bytes(at + 8 + lengths[0], lengths[1]);
  return at + 8 + lengths[0] + lengths[1];
}

static void copies(uint64_t db) {
  enum { COUNT = 100 };
  uint64_t txn, table, inserted, cursor;
  char packed[COUNT * 24], *end = packed;
  for (int i = 0; i < COUNT; i++) {
    uint32_t lengths[2] = {6, 2};
    memcpy(end, lengths, 8);
    char text[32];
    snprintf(text, sizeof text, "key%03dvw", i);
    memcpy(end + 8, text, 8);
    end += 16;
  }
  check(teak_flat_txn_begin_write(db, &txn, &error));
  table = flat_create(txn, "packed");
  check(teak_flat_insert_packed(txn, table, packed, (size_t)(end - packed), &inserted, &error));
  assert(inserted == COUNT);
  refused(teak_flat_insert_packed(txn, table, packed, (size_t)(end - packed) - 1, &inserted, &error),
          TEAK_INVALID_ARGUMENT);

  char room[160];
  size_t len = 0, count = 0, used = 0, all = 0;
  check(teak_flat_copy_value(txn, table, TEXT("key007"), room, sizeof room, &len, &error));
  assert(len == 2 && memcmp(room, "vw", 2) == 0);
  room[0] = 0;
  check(teak_flat_copy_value(txn, table, TEXT("key007"), room, 1, &len, &error));
  assert(len == 2 && room[0] == 0);
  assert(teak_flat_copy_value(txn, table, TEXT("none"), room, 1, &len, &error) == TEAK_NONE);
  refused(teak_flat_copy_value(txn, table, TEXT("key007"), NULL, 1, &len, &error), TEAK_INVALID_ARGUMENT);

  teak_slice key, value;
  check(teak_flat_find(txn, table, TEAK_GREATER, TEXT("key007"), room, sizeof room, &used, &error));
  unpack(room, &key, &value);
  assert(used == 16 && is_text(key, "key008"));
  check(teak_flat_find(txn, table, TEAK_AT_MOST, NULL, 0, room, sizeof room, &used, &error));
  unpack(room, &key, &value);
  assert(is_text(key, "key099"));
  check(teak_flat_find(txn, table, TEAK_AT_LEAST, NULL, 0, room, 15, &used, &error));
  assert(used == 16);
  assert(teak_flat_find(txn, table, TEAK_GREATER, TEXT("key099"), room, sizeof room, &used, &error) == TEAK_NONE);
  refused(teak_flat_find(txn, table, TEAK_LESS, NULL, 0, room, sizeof room, &used, &error), TEAK_INVALID_ARGUMENT);

  /* Ten records fit at a time; the bound ends the last part. */
  check(teak_flat_cursor_open(txn, table, &cursor, &error));
  check(teak_flat_cursor_seek(cursor, txn, TEAK_AT_LEAST, TEXT("key010"), NULL, &error));
  teak_code code;
  do {
    code = teak_flat_cursor_copy(cursor, txn, TEAK_FORWARD, TEAK_EXCLUDED, TEXT("key035"), room, sizeof room, 1000,
                                 &count, &used, &error);
    assert(code == TEAK_OK || code == TEAK_NONE);
    const char *at = room;
    for (size_t i = 0; i < count; i++, all++) {
      char expected[32];
      at = unpack(at, &key, &value);
      snprintf(expected, sizeof expected, "key%03d", 10 + (int)all);
      assert(is_text(key, expected) && is_text(value, "vw"));
    }
    assert((size_t)(at - room) == used);
  } while (code == TEAK_OK);
  assert(all == 25);
  check(teak_flat_cursor_move(cursor, txn, TEAK_LAST, NULL, &error));
  check(teak_flat_cursor_copy(cursor, txn, TEAK_BACKWARD, TEAK_UNBOUNDED, NULL, 0, room, sizeof room, 2, &count, &used,
                              &error));
  unpack(unpack(room, &key, &value), &key, &value);
  assert(count == 2 && is_text(key, "key098"));
  /* A record that does not fit says what it needs, and is not lost. */
  check(teak_flat_cursor_copy(cursor, txn, TEAK_BACKWARD, TEAK_UNBOUNDED, NULL, 0, room, 15, 2, &count, &used, &error));
  assert(count == 0 && used == 16);
  assert(teak_flat_cursor_copy(cursor, txn, TEAK_BACKWARD, TEAK_INCLUDED, TEXT("key098"), room, 15, 2, &count, &used,
                               &error) == TEAK_NONE);
  assert(count == 0 && used == 0);
  teak_record records[4];
  check(teak_flat_cursor_move(cursor, txn, TEAK_FIRST, NULL, &error));
  check(teak_flat_cursor_read(cursor, txn, TEAK_FORWARD, records, 4, &count, &error));
  assert(count == 4 && is_text(records[3].key, "key003"));
  check(teak_flat_cursor_close(cursor, &error));
  check(teak_flat_txn_end(txn, &error));
}

static int note(void *noted, const teak_difference *difference) {
  char *end = strchr(noted, 0);
  snprintf(end, 64, "%.*s:%.*s>%.*s ", (int)difference->key.len, (const char *)difference->key.data,
           (int)difference->old_value.len, (const char *)difference->old_value.data, (int)difference->new_value.len,
           (const char *)difference->new_value.data);
  return 0;
}

static void differences(uint64_t db) {
  uint64_t older, newer, txn, table, count;
  check(teak_flat_txn_begin_write(db, &txn, &error));
  table = flat_create(txn, "trees");
  check(teak_flat_insert(txn, table, TEXT("ash"), TEXT("1"), &error));
  check(teak_flat_insert(txn, table, TEXT("elm"), TEXT("2"), &error));
  check(teak_flat_txn_commit(txn, NULL, &error));
  check(teak_flat_txn_begin_read(db, &older, &error));
  check(teak_flat_txn_begin_write(db, &txn, &error));
  check(teak_flat_remove(txn, table, TEXT("ash"), &error));
  check(teak_flat_update(txn, table, TEXT("elm"), TEXT("3"), &error));
  check(teak_flat_insert(txn, table, TEXT("oak"), TEXT("4"), &error));
  refused(teak_flat_differences(older, txn, table, NULL, note, NULL, &count, &error), TEAK_WRONG_TRANSACTION);
  check(teak_flat_txn_commit(txn, NULL, &error));
  check(teak_flat_txn_begin_read(db, &newer, &error));
  char text[256] = "";
  check(teak_flat_differences(older, newer, table, NULL, note, text, &count, &error));
  assert(count == 3 && strcmp(text, "ash:1> elm:2>3 oak:>4 ") == 0);
  teak_record after = {.key = teak_text("ash"), .value = teak_text("")};
  text[0] = 0;
  check(teak_flat_differences(older, newer, table, &after, note, text, NULL, &error));
  assert(strcmp(text, "elm:2>3 oak:>4 ") == 0);
  after.key = teak_text("oak");
  check(teak_flat_differences(older, newer, table, &after, note, text, &count, &error));
  assert(count == 0);
  refused(teak_flat_differences(older, newer, table, NULL, NULL, text, &count, &error), TEAK_INVALID_ARGUMENT);
  check(teak_flat_txn_end(older, &error));
  refused(teak_flat_differences(older, newer, table, NULL, note, text, &count, &error), TEAK_INVALID_HANDLE);
  check(teak_flat_txn_end(newer, &error));
}

/* The first argument of each function is the handle that it checks. */
#define ENDED(function, ...) refused(teak_flat_##function(__VA_ARGS__, &error), TEAK_INVALID_HANDLE)
#define NO_RANGE TEAK_UNBOUNDED, NULL, 0, TEAK_UNBOUNDED, NULL, 0

static void ended_handles(uint64_t db, uint64_t txn, uint64_t table, uint64_t cursor, uint64_t ticket) {
  uint64_t out;
  size_t len, used;
  int32_t order;
  teak_slice value;
  teak_record records[1];
  char room[64];
  teak_db_stat db_stat = {.size = sizeof db_stat};
  teak_metrics metrics = {.size = sizeof metrics};
  teak_table_stat table_stat = {.size = sizeof table_stat};
  ENDED(db_sync, db);
  ENDED(db_ticket, db, 1, &out);
  ENDED(db_get_stat, db, &db_stat);
  ENDED(db_metrics, db, &metrics);
  ENDED(db_wait_for_commit, db, 0, 0, &out);
  ENDED(snapshot_open, db, TEXT("x"), &out);
  ENDED(txn_begin_read, db, &out);
  ENDED(txn_begin_write, db, &out);
  ENDED(txn_begin_write_within, db, 1, &out);
  ENDED(ticket_poll, ticket);
  ENDED(ticket_wait, ticket, 1);
  ENDED(ticket_transaction, ticket, &out);
  ENDED(ticket_end, ticket);
  ENDED(txn_refresh, txn);
  ENDED(txn_commit, txn, NULL);
  ENDED(txn_commit_async, txn, &out);
  ENDED(txn_checkpoint, txn, &out);
  ENDED(txn_end, txn);
  ENDED(txn_id, txn, &out);
  ENDED(txn_set_durability, txn, TEAK_DURABILITY_LAZY);
  ENDED(txn_roll_back, txn);
  ENDED(txn_savepoint, txn, &out);
  ENDED(txn_roll_back_to, txn, 1);
  ENDED(txn_release, txn, 1);
  ENDED(snapshot_create, txn, TEXT("x"));
  ENDED(snapshot_drop, txn, TEXT("x"));
  ENDED(table_open, txn, TEXT("x"), &out);
  ENDED(table_create, txn, TEXT("x"), NULL, &out);
  ENDED(table_drop, txn, TEXT("x"));
  ENDED(table_rename, txn, TEXT("x"), TEXT("y"));
  ENDED(table_clear, txn, table);
  ENDED(table_draw_sequence, txn, table, 1, &out);
  ENDED(table_get_stat, txn, table, &table_stat);
  ENDED(get, txn, table, TEXT("x"), &value);
  ENDED(copy_value, txn, table, TEXT("x"), room, sizeof room, &len);
  ENDED(contains, txn, table, TEXT("x"));
  ENDED(insert, txn, table, TEXT("x"), TEXT("y"));
  ENDED(insert_new, txn, table, TEXT("x"), TEXT("y"));
  ENDED(update, txn, table, TEXT("x"), TEXT("y"));
  ENDED(append, txn, table, TEXT("x"), TEXT("y"));
  ENDED(insert_packed, txn, table, NULL, 0, &out);
  ENDED(remove, txn, table, TEXT("x"));
  ENDED(remove_range, txn, table, NO_RANGE, &out);
  ENDED(count_range, txn, table, NO_RANGE, &out);
  ENDED(compare_keys, txn, table, TEXT("x"), TEXT("y"), &order);
  ENDED(find, txn, table, TEAK_AT_LEAST, TEXT("x"), room, sizeof room, &used);
  ENDED(insert_pair, txn, table, TEXT("x"), TEXT("y"));
  ENDED(contains_pair, txn, table, TEXT("x"), TEXT("y"));
  ENDED(count_values, txn, table, TEXT("x"), &out);
  ENDED(remove_pair, txn, table, TEXT("x"), TEXT("y"));
  ENDED(remove_values, txn, table, TEXT("x"), &out);
  ENDED(cursor_open, txn, table, &out);
  ENDED(cursor_move, cursor, txn, TEAK_FIRST, NULL);
  ENDED(cursor_seek, cursor, txn, TEAK_AT_LEAST, TEXT("x"), NULL);
  ENDED(cursor_seek_pair, cursor, txn, TEAK_AT_LEAST, TEXT("x"), TEXT("y"), NULL);
  ENDED(cursor_read, cursor, txn, TEAK_FORWARD, records, 1, &len);
  ENDED(cursor_copy, cursor, txn, TEAK_FORWARD, TEAK_UNBOUNDED, NULL, 0, room, sizeof room, 1, &len, &used);
  ENDED(cursor_close, cursor);
}

/* Handles that were never given, and handles whose objects have ended. */
static void invalid_handles(uint64_t db) {
  uint64_t closed = 0, txn = 0, table = 0, cursor = 0, ticket = 0;
  ended_handles(closed, txn, table, cursor, ticket);
  check(teak_flat_txn_begin_write(db, &txn, &error));
  table = flat_create(txn, "short");
  check(teak_flat_cursor_open(txn, table, &cursor, &error));
  check(teak_flat_cursor_close(cursor, &error));
  check(teak_flat_txn_commit_async(txn, &ticket, &error));
  check(teak_flat_ticket_end(ticket, &error));
  teak_db other, clone;
  other.handle = db;
  check(teak_db_clone(other, &clone, &error));
  check(teak_flat_db_close(clone.handle, &error));
  ended_handles(clone.handle, txn, table, cursor, ticket);
}

static void bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  assert(file != NULL);
  char *content = malloc(1 << 20);
  size_t len = fread(content, 1, 1 << 20, file);
  assert(len > 0 && len < 1 << 20 && fclose(file) == 0);
  teak_options options = {.size = sizeof options, .access = TEAK_ACCESS_READ};
  uint64_t db;
  check(teak_flat_db_open_bytes(content, len, &options, &db, &error));
  uint64_t txn, table;
  teak_slice value;
  check(teak_flat_txn_begin_read(db, &txn, &error));
  check(teak_flat_table_open(txn, TEXT("trees"), &table, &error));
  check(teak_flat_get(txn, table, TEXT("oak"), &value, &error));
  assert(is_text(value, "4"));
  check(teak_flat_txn_end(txn, &error));
  check(teak_flat_db_close(db, &error));
  free(content);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const char *path = path_of(argv[1], "flat.teak");
  teak_db db = open_at(path);
  records(db.handle);
  transactions(db.handle);
  pairs(db.handle);
  copies(db.handle);
  differences(db.handle);
  invalid_handles(db.handle);
  check(teak_flat_db_close(db.handle, &error));
  refused(teak_flat_db_close(db.handle, &error), TEAK_INVALID_HANDLE);
  bytes(path);
  return 0;
}
