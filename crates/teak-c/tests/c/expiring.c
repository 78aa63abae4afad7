/* Tables whose records expire. */
#include "common.h"

static teak_expiring_table cache;

static const teak_expiry by_default = {0}, never = {.kind = TEAK_EXPIRY_NEVER},
                         past = {.kind = TEAK_EXPIRY_AT, .ms = 1}, hour = {.kind = TEAK_EXPIRY_AFTER, .ms = 3600 * 1000};

static bool has(teak_txn txn, const char *key) {
  teak_slice value;
  teak_code code = teak_expiring_get(txn, cache, teak_text(key), &value, NULL, &error);
  if (code != TEAK_NONE) check(code);
  return code == TEAK_OK;
}

static teak_expiry_stat stat_of(teak_txn txn) {
  teak_expiry_stat stat = {.size = sizeof stat};
  check(teak_expiring_stat(txn, cache, &stat, &error));
  return stat;
}

static int count_some(void *count, teak_slice key, teak_slice value) {
  assert(key.len == 1 && value.len == 1);
  *(int *)count += 1;
  return *(int *)count == 2;
}

static void one_by_one(teak_txn txn) {
  teak_slice value, v = teak_text("v");
  uint64_t expires, removed;
  check(teak_expiring_insert(txn, cache, teak_text("a"), v, by_default, &error));
  check(teak_expiring_insert(txn, cache, teak_text("b"), v, never, &error));
  check(teak_expiring_insert(txn, cache, teak_text("c"), v, past, &error));
  check(teak_expiring_get(txn, cache, teak_text("a"), &value, &expires, &error));
  assert(value.len == 1 && expires != TEAK_NEVER_EXPIRES && expires > 1000000);
  check(teak_expiring_get(txn, cache, teak_text("b"), &value, &expires, &error));
  assert(expires == TEAK_NEVER_EXPIRES);
  assert(!has(txn, "c") && !has(txn, "d"));
  assert(teak_expiring_insert_new(txn, cache, teak_text("a"), v, hour, &error) == TEAK_NONE);
  check(teak_expiring_insert_new(txn, cache, teak_text("d"), v, hour, &error));
  int count = 0;
  teak_bound all = {0}, b = {.kind = TEAK_INCLUDED, .key = teak_text("b")};
  assert(teak_expiring_each(txn, cache, all, all, count_some, &count, &error) == TEAK_OK);
  assert(count == 2);
  count = -10;
  assert(teak_expiring_each(txn, cache, b, all, count_some, &count, &error) == TEAK_NONE);
  assert(count == -8);
  teak_expiry_stat stat = stat_of(txn);
  assert(stat.records == 3 && stat.expired == 1 && stat.bytes == 8 && stat.next_expiry_ms == 1);
  assert(stat.ttl_ms == 60000 && stat.max_records == 0);
  check(teak_expiring_remove_expired(txn, cache, 10, &removed, &error));
  assert(removed == 1);
  check(teak_expiring_set_expiry(txn, cache, teak_text("d"), past, &error));
  assert(teak_expiring_set_expiry(txn, cache, teak_text("d"), never, &error) == TEAK_NONE);
  check(teak_expiring_remove(txn, cache, teak_text("b"), &error));
  assert(teak_expiring_remove(txn, cache, teak_text("b"), &error) == TEAK_NONE);
}

static void limits(teak_txn txn) {
  teak_expiry_options options = {.size = sizeof options, .max_records = 2, .max_bytes = 100};
  check(teak_expiring_set_options(txn, cache, &options, &error));
  const char *keys[] = {"z", "y", "x"};
  for (int i = 0; i < 3; i++)
    check(teak_expiring_insert(txn, cache, teak_text(keys[i]), teak_text("v"), by_default, &error));
  assert(!has(txn, "a") && !has(txn, "z") && has(txn, "y") && has(txn, "x"));
  teak_expiry_stat stat = stat_of(txn);
  assert(stat.ttl_ms == 0 && stat.max_records == 2 && stat.max_bytes == 100 && stat.removed_oldest > 0);
  check(teak_expiring_clear(txn, cache, &error));
  assert(stat_of(txn).records == 0);
}

static int each_table(void *found, teak_slice name, uint32_t kind) {
  (void)name;
  *(uint32_t *)found = kind;
  return 0;
}

static void refusals(teak_db db, teak_txn txn) {
  teak_table table;
  teak_expiring_table other;
  teak_slice value;
  teak_expiry wrong = {.kind = 9};
  refused(teak_table_open(txn, teak_text("cache"), &table, &error), TEAK_TABLE_MISMATCH);
  assert(teak_expiring_open(txn, teak_text("missing"), &other, &error) == TEAK_NONE);
  check(teak_expiring_open(txn, teak_text("cache"), &other, &error));
  assert(other.number == cache.number);
  refused(teak_expiring_insert(txn, cache, teak_text("a"), teak_text("v"), wrong, &error), TEAK_INVALID_ARGUMENT);
  other.number = 0;
  refused(teak_expiring_get(txn, other, teak_text("a"), &value, NULL, &error), TEAK_INVALID_HANDLE);
  other.number = cache.number + 1;
  refused(teak_expiring_get(txn, other, teak_text("a"), &value, NULL, &error), TEAK_INVALID_HANDLE);
  refused(teak_get(txn, (teak_table){cache.number}, teak_text("a"), &value, &error), TEAK_INVALID_HANDLE);
  uint32_t kind = 0;
  check(teak_table_each(txn, each_table, &kind, &error));
  assert(kind == 2);
  teak_metrics metrics = {.size = sizeof metrics};
  check(teak_db_metrics(db, &metrics, &error));
  assert(metrics.expired_records == 0);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "expiring.teak"));
  teak_txn txn = begin_write(db);
  teak_expiry_options options = {.size = sizeof options, .ttl_ms = 60000};
  check(teak_expiring_create(txn, teak_text("cache"), &options, &cache, &error));
  one_by_one(txn);
  limits(txn);
  refusals(db, txn);
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_close(db, &error));
  return 0;
}
