/* Orders: integers, and an order of the application. */
#include "common.h"

/* By length, then by bytes. The target of user counts the calls. */
static int by_length(void *user, teak_slice a, teak_slice b) {
  ++*(_Atomic unsigned long *)user;
  if (a.len != b.len) return a.len < b.len ? -1 : 1;
  return a.len == 0 ? 0 : memcmp(a.data, b.data, a.len);
}

static _Atomic unsigned long calls;

static teak_db open_with(const char *path, teak_code expected) {
  teak_comparison comparisons[] = {{"by length", by_length, (void *)&calls}};
  teak_options options = {.size = sizeof options, .comparisons = comparisons, .comparison_count = 1};
  teak_db db;
  teak_code code = teak_db_open(path, &options, &db, &error);
  if (code != expected) fprintf(stderr, "%s\n", error.message);
  assert(code == expected);
  return db;
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const char *path = path_of(argv[1], "orders.teak");
  teak_db db = open_with(path, TEAK_OK);
  teak_txn txn = begin_write(db);
  teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_CUSTOM, .comparison = "by length"};
  teak_table table;
  check(teak_table_create(txn, teak_text("words"), &options, &table, &error));
  check(teak_append(txn, table, teak_text("zz"), teak_text("1"), &error));
  check(teak_append(txn, table, teak_text("aaa"), teak_text("2"), &error));
  refused(teak_append(txn, table, teak_text("b"), teak_text("3"), &error), TEAK_NOT_SORTED);
  check(teak_insert(txn, table, teak_text("b"), teak_text("3"), &error));
  assert(calls > 0);
  teak_bound all = {0}, three = {.kind = TEAK_EXCLUDED, .key = teak_text("aaa")};
  uint64_t removed;
  check(teak_remove_range(txn, table, all, three, &removed, &error));
  assert(removed == 2);

  options = (teak_table_options){.size = sizeof options, .order = TEAK_ORDER_INTEGER};
  check(teak_table_create(txn, teak_text("numbers"), &options, &table, &error));
  for (uint32_t i = 0; i < 1000; i++)
    check(teak_append(txn, table, teak_bytes(&i, sizeof i), teak_text(""), &error));
  refused(teak_insert(txn, table, teak_text("abc"), teak_text(""), &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_close(db, &error));

  db = open_at(path);
  txn = begin_read(db);
  refused(teak_table_open(txn, teak_text("words"), &table, &error), TEAK_COMPARISON_MISSING);
  check(teak_table_open(txn, teak_text("numbers"), &table, &error));
  check(teak_txn_end(txn, &error));
  open_with(path, TEAK_OPTIONS_DIFFER);
  check(teak_db_close(db, &error));
  db = open_with(path, TEAK_OK);
  txn = begin_read(db);
  check(teak_table_open(txn, teak_text("words"), &table, &error));
  check(teak_contains(txn, table, teak_text("aaa"), &error));
  check(teak_txn_end(txn, &error));
  check(teak_db_close(db, &error));
  return 0;
}
