/* Loading, copying between tables, parked transactions, counts and times. */
#include "common.h"

struct numbers {
  unsigned next, end, stop_at, step;
  char key[16];
  teak_txn used;
};

static int32_t give(void *user, teak_slice *key, teak_slice *value) {
  struct numbers *numbers = user;
  if (numbers->used.handle) {
    /* The transaction that loads is in use. */
    refused(teak_txn_end(numbers->used, &error), TEAK_BUSY);
    numbers->used.handle = 0;
  }
  if (numbers->next == numbers->stop_at) return TEAK_GIVE_UP;
  if (numbers->next >= numbers->end) return TEAK_GIVEN_ALL;
  snprintf(numbers->key, sizeof numbers->key, "%06u", numbers->next);
  *key = (teak_slice){numbers->key, 6};
  *value = (teak_slice){numbers->key + 5, 1};
  numbers->next += numbers->step;
  return TEAK_GIVEN_RECORD;
}

static int32_t give_nonsense(void *user, teak_slice *key, teak_slice *value) {
  (void)user, (void)key, (void)value;
  return 7;
}

static int32_t give_nowhere(void *user, teak_slice *key, teak_slice *value) {
  (void)user;
  *key = (teak_slice){NULL, 5};
  *value = (teak_slice){NULL, 0};
  return TEAK_GIVEN_RECORD;
}

static int32_t give_back(void *user, teak_slice *key, teak_slice *value) {
  int32_t answer = give(user, key, value);
  struct numbers *numbers = user;
  if (answer == TEAK_GIVEN_RECORD) snprintf(numbers->key, sizeof numbers->key, "%06u", 900000 - numbers->next);
  return answer;
}

static uint64_t records_of(teak_txn txn, teak_table table) {
  teak_table_stat stat = {.size = sizeof stat};
  check(teak_table_get_stat(txn, table, &stat, &error));
  return stat.records;
}

struct stages {
  uint64_t sorted, built;
};

static void note_stage(void *user, uint64_t done, uint64_t total) {
  struct stages *stages = user;
  assert(total == 0 || total == 20000);
  *(total == 0 ? &stages->sorted : &stages->built) = done;
}

static void loading(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table numbers = create(txn, "numbers");
  uint64_t count = 9;
  struct numbers given = {.end = 5000, .stop_at = 1u << 31, .step = 1, .used = txn};
  check(teak_bulk_load(txn, numbers, give, &given, &count, &error));
  assert(count == 5000 && records_of(txn, numbers) == 5000);
  /* After the last key, and before it. */
  given = (struct numbers){.next = 6000, .end = 6010, .stop_at = 1u << 31, .step = 1};
  check(teak_bulk_load(txn, numbers, give, &given, &count, &error));
  assert(count == 10);
  given = (struct numbers){.next = 10, .end = 20, .stop_at = 1u << 31, .step = 1};
  refused(teak_bulk_load(txn, numbers, give, &given, &count, &error), TEAK_NOT_SORTED);
  assert(count == 0 && records_of(txn, numbers) == 5010);
  /* The function stops the load. */
  given = (struct numbers){.next = 7000, .end = 9000, .stop_at = 8500, .step = 1};
  assert(teak_bulk_load(txn, numbers, give, &given, &count, &error) == TEAK_NONE);
  assert(count == 0 && records_of(txn, numbers) == 5010);
  refused(teak_bulk_load(txn, numbers, NULL, NULL, &count, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_bulk_load(txn, numbers, give_nonsense, NULL, &count, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_bulk_load(txn, numbers, give_nowhere, NULL, &count, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_bulk_load(txn, numbers, give, &given, NULL, &error), TEAK_INVALID_ARGUMENT);
  /* In any order, and larger than the memory limit. */
  teak_table back = create(txn, "back");
  struct stages stages = {0};
  teak_bulk_options options = {
      .size = sizeof options, .memory_bytes = 65536, .progress = note_stage, .progress_user = &stages};
  given = (struct numbers){.end = 20000, .stop_at = 1u << 31, .step = 1};
  check(teak_bulk_load_unsorted(txn, back, give_back, &given, &options, &count, &error));
  assert(count == 20000 && records_of(txn, back) == 20000);
  assert(stages.sorted > 0 && stages.sorted <= 20000 && stages.built > 0 && stages.built <= 20000);
  given = (struct numbers){.end = 20000, .stop_at = 100, .step = 1};
  assert(teak_bulk_load_unsorted(txn, back, give, &given, NULL, &count, &error) == TEAK_NONE);
  options.directory = "/no/such/directory";
  given = (struct numbers){.end = 20000, .stop_at = 1u << 31, .step = 1};
  refused(teak_bulk_load_unsorted(txn, back, give, &given, &options, &count, &error), TEAK_IO);
  assert(records_of(txn, back) == 20000);
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_read(db);
  given = (struct numbers){.next = 7000, .end = 9000, .stop_at = 1u << 31, .step = 1};
  refused(teak_bulk_load(txn, numbers, give, &given, &count, &error), TEAK_WRONG_TRANSACTION);
  check(teak_txn_end(txn, &error));
}

static void copying(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table numbers = create(txn, "numbers"), other = create(txn, "other"), pairs;
  teak_table_options several = {.size = sizeof several, .several_values = 1};
  check(teak_table_create(txn, teak_text("pairs"), &several, &pairs, &error));
  teak_bound all = {0}, low = {.kind = TEAK_INCLUDED, .key = teak_text("000100")};
  teak_bound high = {.kind = TEAK_EXCLUDED, .key = teak_text("000200")}, wrong = {.kind = 9};
  uint64_t count;
  check(teak_copy_range(txn, numbers, other, low, high, &count, &error));
  assert(count == 100 && records_of(txn, other) == 100 && records_of(txn, numbers) == 5010);
  check(teak_move_range(txn, numbers, other, low, all, &count, &error));
  assert(count == 4910 && records_of(txn, other) == 4910 && records_of(txn, numbers) == 100);
  refused(teak_copy_range(txn, numbers, numbers, all, all, &count, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_copy_range(txn, numbers, pairs, all, all, &count, &error), TEAK_TABLE_MISMATCH);
  refused(teak_move_range(txn, pairs, numbers, all, all, &count, &error), TEAK_TABLE_MISMATCH);
  refused(teak_move_range(txn, numbers, other, wrong, all, &count, &error), TEAK_INVALID_ARGUMENT);
  teak_metrics metrics = {.size = sizeof metrics};
  check(teak_db_metrics(db, &metrics, &error));
  assert(metrics.commits == 1 && metrics.taken_pages > 0);
  teak_commit_latency latency = {.size = sizeof latency};
  uint64_t id;
  check(teak_txn_commit_measured(txn, &id, &latency, &error));
  assert(id > 0 && latency.whole_ns > 0);
  txn = begin_write(db);
  check(teak_txn_commit_measured(txn, NULL, NULL, &error));
  txn = begin_read(db);
  refused(teak_txn_commit_measured(txn, NULL, NULL, &error), TEAK_WRONG_TRANSACTION);
  check(teak_txn_end(txn, &error));
}

static void parking(teak_db db) {
  teak_txn txn = begin_read(db), clone;
  teak_parked parked, none = {0};
  uint64_t id, again;
  check(teak_txn_id(txn, &id, &error));
  check(teak_txn_park(txn, &parked, &error));
  refused(teak_txn_id(txn, &again, &error), TEAK_INVALID_HANDLE);
  check(teak_parked_resume(parked, &txn, &error));
  refused(teak_parked_resume(parked, &clone, &error), TEAK_INVALID_HANDLE);
  check(teak_txn_id(txn, &again, &error));
  assert(again == id);
  /* A transaction with a clone cannot be parked, and has ended. */
  check(teak_txn_clone(txn, &clone, &error));
  refused(teak_txn_park(txn, &parked, &error), TEAK_INVALID_ARGUMENT);
  assert(parked.handle == 0);
  refused(teak_txn_id(txn, &again, &error), TEAK_INVALID_HANDLE);
  check(teak_txn_park(clone, &parked, &error));
  check(teak_parked_end(parked, &error));
  refused(teak_parked_end(parked, &error), TEAK_INVALID_HANDLE);
  refused(teak_parked_end(none, &error), TEAK_INVALID_HANDLE);
  txn = begin_write(db);
  refused(teak_txn_park(txn, &parked, &error), TEAK_WRONG_TRANSACTION);
  check(teak_txn_end(txn, &error));
  /* A transaction that was parked before the database was closed can be resumed. */
  txn = begin_read(db);
  check(teak_txn_park(txn, &parked, &error));
  check(teak_db_close(db, &error));
  check(teak_parked_resume(parked, &txn, &error));
  check(teak_txn_end(txn, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "loading.teak"));
  loading(db);
  copying(db);
  parking(db);
  return 0;
}
