/* Threads: compatible calls run at the same time, and conflicting ones are refused. */
#include "common.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200 };

static teak_db db;
static teak_txn shared;
static teak_table table;

static void *reads(void *unused) {
  (void)unused;
  teak_error mine = {.size = sizeof mine};
  teak_txn own;
  assert(teak_txn_clone(shared, &own, &mine) == TEAK_OK);
  for (int i = 0; i < ROUNDS; i++) {
    teak_slice one, other;
    assert(teak_get(shared, table, teak_text("counter"), &one, &mine) == TEAK_OK);
    assert(teak_get(own, table, teak_text("counter"), &other, &mine) == TEAK_OK);
    assert(one.data == other.data && is_text(one, "0"));
  }
  assert(teak_txn_end(own, &mine) == TEAK_OK);
  return NULL;
}

static void *writes(void *unused) {
  (void)unused;
  teak_error mine = {.size = sizeof mine};
  teak_db own;
  assert(teak_db_clone(db, &own, &mine) == TEAK_OK);
  for (int i = 0; i < ROUNDS / 10; i++) {
    teak_txn txn;
    assert(teak_txn_begin_write(own, &txn, &mine) == TEAK_OK);
    teak_slice value;
    assert(teak_get(txn, table, teak_text("counter"), &value, &mine) == TEAK_OK);
    char text[20] = "";
    memcpy(text, value.data, value.len);
    snprintf(text, sizeof text, "%d", atoi(text) + 1);
    assert(teak_insert(txn, table, teak_text("counter"), teak_text(text), &mine) == TEAK_OK);
    assert(teak_txn_commit(txn, NULL, &mine) == TEAK_OK);
  }
  assert(teak_db_close(own, &mine) == TEAK_OK);
  return NULL;
}

/* One transaction in several threads: each call succeeds or is refused. */
static void *struggles(void *txn) {
  teak_error mine = {.size = sizeof mine};
  long done = 0;
  for (int i = 0; i < ROUNDS; i++) {
    char key[20];
    snprintf(key, sizeof key, "key %d", i);
    teak_code code = teak_insert(*(teak_txn *)txn, table, teak_text(key), teak_text("x"), &mine);
    assert(code == TEAK_OK || code == TEAK_BUSY);
    done += code == TEAK_OK;
  }
  return (void *)done;
}

static void *ends(void *txn) {
  teak_error mine = {.size = sizeof mine};
  teak_code code;
  do code = teak_txn_end(*(teak_txn *)txn, &mine);
  while (code == TEAK_BUSY);
  return (void *)(long)code;
}

static long run(void *(*work)(void *), void *argument) {
  pthread_t threads[THREADS];
  long sum = 0;
  for (int i = 0; i < THREADS; i++) assert(pthread_create(&threads[i], NULL, work, argument) == 0);
  for (int i = 0; i < THREADS; i++) {
    void *result;
    assert(pthread_join(threads[i], &result) == 0);
    sum += (long)result;
  }
  return sum;
}

static void *waits_to_write(void *db) {
  teak_error mine = {.size = sizeof mine};
  teak_txn txn;
  return (void *)(long)teak_txn_begin_write(*(teak_db *)db, &txn, &mine);
}

/* Closing flushes although a thread waits to write. Its call is refused when its turn comes. */
static void closing_while_a_thread_waits(const char *path) {
  teak_options options = {.size = sizeof options, .durability = TEAK_DURABILITY_LAZY};
  teak_db one, closed;
  check(teak_db_open(path, &options, &one, &error));
  check(teak_db_open(path, &options, &closed, &error));
  teak_txn txn = begin_write(closed);
  create(txn, "words");
  uint64_t commit;
  check(teak_txn_commit(txn, &commit, &error));
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_db_get_stat(one, &stat, &error));
  assert(stat.durable_transaction < commit);
  txn = begin_write(one);
  teak_db used = closed;
  pthread_t waiter;
  assert(pthread_create(&waiter, NULL, waits_to_write, &used) == 0);
  usleep(100000);
  check(teak_db_close(closed, &error));
  check(teak_db_get_stat(one, &stat, &error));
  assert(stat.durable_transaction >= commit);
  check(teak_txn_end(txn, &error));
  void *code;
  assert(pthread_join(waiter, &code) == 0 && (long)code == TEAK_INVALID_HANDLE);
  check(teak_db_close(one, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_options options = {.size = sizeof options, .durability = TEAK_DURABILITY_LAZY};
  check(teak_db_open(path_of(argv[1], "threads.teak"), &options, &db, &error));
  teak_txn txn = begin_write(db);
  table = create(txn, "counters");
  check(teak_insert(txn, table, teak_text("counter"), teak_text("0"), &error));
  check(teak_txn_commit(txn, NULL, &error));

  shared = begin_read(db);
  pthread_t writer;
  assert(pthread_create(&writer, NULL, writes, NULL) == 0);
  run(reads, NULL);
  assert(pthread_join(writer, NULL) == 0);
  run(writes, NULL);
  check(teak_txn_refresh(shared, &error));
  teak_slice value;
  check(teak_get(shared, table, teak_text("counter"), &value, &error));
  assert(is_text(value, "100"));
  check(teak_txn_end(shared, &error));

  txn = begin_write(db);
  assert(run(struggles, &txn) >= ROUNDS);
  /* One thread ends it, the others find that it has ended. */
  assert(run(ends, &txn) == (THREADS - 1) * (long)TEAK_INVALID_HANDLE);
  txn = begin_read(db);
  assert(run(ends, &txn) == (THREADS - 1) * (long)TEAK_INVALID_HANDLE);
  check(teak_db_close(db, &error));
  closing_while_a_thread_waits(path_of(argv[1], "waiting.teak"));
  return 0;
}
