/* Durability of each commit, tickets, and their descriptors. */
#include "common.h"
#include <poll.h>
#include <unistd.h>

static teak_table counters;

static void count(teak_txn txn, int number) {
  char text[20];
  snprintf(text, sizeof text, "%d", number);
  check(teak_insert(txn, counters, teak_text("counter"), teak_text(text), &error));
}

static void tickets(teak_db db) {
  teak_txn txn = begin_write(db);
  count(txn, 1);
  teak_ticket ticket;
  check(teak_txn_commit_async(txn, &ticket, &error));
  uint64_t commit;
  check(teak_ticket_transaction(ticket, &commit, &error));
  assert(commit == 2);
  check(teak_ticket_wait(ticket, UINT64_MAX, &error));
  check(teak_ticket_poll(ticket, &error));
  check(teak_ticket_wait(ticket, 0, &error));
  int32_t descriptor, same;
  check(teak_ticket_descriptor(ticket, &descriptor, &error));
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  assert(poll(&polled, 1, 0) == 1); /* the commit was durable already */
  check(teak_ticket_descriptor(ticket, &same, &error));
  assert(same == descriptor);
  check(teak_ticket_end(ticket, &error));
  refused(teak_ticket_poll(ticket, &error), TEAK_INVALID_HANDLE);
  refused(teak_ticket_end(ticket, &error), TEAK_INVALID_HANDLE);
}

static void a_descriptor_tells(teak_db db) {
  teak_txn txn = begin_write(db);
  count(txn, 2);
  check(teak_txn_set_durability(txn, TEAK_DURABILITY_LAZY, &error));
  uint64_t commit;
  check(teak_txn_commit(txn, &commit, &error));
  teak_ticket lazy, synced;
  check(teak_db_ticket(db, commit, &lazy, &error));
  assert(teak_ticket_poll(lazy, &error) == TEAK_NONE);
  assert(teak_ticket_wait(lazy, 1, &error) == TEAK_NONE);
  int32_t descriptor;
  check(teak_ticket_descriptor(lazy, &descriptor, &error));
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  assert(poll(&polled, 1, 0) == 0);
  check(teak_db_begin_sync(db, &synced, &error));
  assert(poll(&polled, 1, 60000) == 1);
  check(teak_ticket_poll(lazy, &error));
  check(teak_ticket_wait(synced, UINT64_MAX, &error));
  check(teak_ticket_end(lazy, &error));
  check(teak_ticket_end(synced, &error));
  refused(teak_db_ticket(db, commit + 1, &lazy, &error), TEAK_INVALID_ARGUMENT);
  assert(lazy.handle == 0);
}

static void closing_leaves_lazy_commits(const char *path) {
  teak_options options = {.size = sizeof options, .leave_lazy = 1, .leave_lock_file = 1};
  teak_db db;
  check(teak_db_open(path, &options, &db, &error));
  teak_txn txn = begin_write(db);
  teak_table words = create(txn, "words");
  check(teak_insert(txn, words, teak_text("oak"), teak_text("1"), &error));
  check(teak_txn_set_durability(txn, TEAK_DURABILITY_LAZY, &error));
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_close(db, &error));
  char lock_file[4096];
  check(teak_lock_file_of(path, lock_file, sizeof lock_file, &error));
  assert(access(lock_file, F_OK) == 0);
  db = open_at(path);
  txn = begin_read(db);
  check(teak_table_open(txn, teak_text("words"), &words, &error));
  teak_slice value;
  check(teak_get(txn, words, teak_text("oak"), &value, &error));
  assert(is_text(value, "1"));
  check(teak_txn_end(txn, &error));
  check(teak_db_close(db, &error));
  assert(access(lock_file, F_OK) != 0);
  options.leave_lazy = 2;
  refused(teak_db_open(path, &options, &db, &error), TEAK_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const char *path = path_of(argv[1], "durability.teak");
  teak_db db = open_at(path);
  teak_txn txn = begin_write(db);
  counters = create(txn, "counters");
  check(teak_txn_commit(txn, NULL, &error));
  tickets(db);
  a_descriptor_tells(db);
  check(teak_db_sync(db, &error));
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_db_get_stat(db, &stat, &error));
  assert(stat.transaction == stat.durable_transaction && stat.transaction == 3 && stat.table_count == 1);
  check(teak_db_close(db, &error));

  teak_options options = {.size = sizeof options, .access = TEAK_ACCESS_READ};
  check(teak_db_open(path, &options, &db, &error));
  txn = begin_read(db);
  teak_slice value;
  refused(teak_get(txn, counters, teak_text("counter"), &value, &error), TEAK_WRONG_DATABASE);
  check(teak_table_open(txn, teak_text("counters"), &counters, &error));
  check(teak_get(txn, counters, teak_text("counter"), &value, &error));
  assert(is_text(value, "2"));
  teak_txn writer;
  refused(teak_txn_begin_write(db, &writer, &error), TEAK_READ_ONLY);
  refused(teak_db_sync(db, &error), TEAK_READ_ONLY);
  check(teak_db_close(db, &error));
  check(teak_get(txn, counters, teak_text("counter"), &value, &error)); /* it keeps its state */
  assert(is_text(value, "2"));
  check(teak_txn_end(txn, &error));
  closing_leaves_lazy_commits(path_of(argv[1], "left.teak"));
  return 0;
}
