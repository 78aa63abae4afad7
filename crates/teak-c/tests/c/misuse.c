/* Handles that are closed, null, made up, of another kind or another database; invalid arguments. */
#include "common.h"

static void databases(const char *directory) {
  teak_db db = {1};
  teak_options never = {.size = sizeof never, .create = TEAK_CREATE_NEVER};
  refused(teak_db_open(path_of(directory, "nowhere"), &never, &db, &error), TEAK_FILE_NOT_FOUND);
  assert(db.handle == 0);
  refused(teak_db_close(db, &error), TEAK_INVALID_HANDLE);
  refused(teak_db_open(NULL, NULL, &db, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_db_open(path_of(directory, "x.teak"), NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  teak_options wrong[] = {
      {.size = 0},
      {.size = sizeof never, .create = 3},
      {.size = sizeof never, .page_size = 1000},
      {.size = sizeof never, .access = 2},
      {.size = sizeof never, .durability = 4},
      {.size = sizeof never, .verification = 9},
      {.size = sizeof never, .read_ahead = UINT32_MAX},
      {.size = sizeof never, .comparison_count = 1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refused(teak_db_open(path_of(directory, "x.teak"), &wrong[i], &db, &error), TEAK_INVALID_ARGUMENT);
  struct {
    teak_options options;
    uint64_t more;
  } newer = {{.size = sizeof newer}, 1};
  refused(teak_db_open(path_of(directory, "x.teak"), &newer.options, &db, &error), TEAK_TOO_NEW);
  newer.more = 0;
  check(teak_db_open(path_of(directory, "x.teak"), &newer.options, &db, &error));
  teak_db clone;
  check(teak_db_clone(db, &clone, &error));
  check(teak_db_close(db, &error));
  refused(teak_db_close(db, &error), TEAK_INVALID_HANDLE);
  teak_txn txn = begin_read(clone);
  check(teak_db_close(clone, &error));
  refused(teak_txn_begin_read(clone, &txn, &error), TEAK_INVALID_HANDLE);
  assert(txn.handle == 0);
}

static void transactions(teak_db db) {
  teak_slice value;
  teak_txn writer = begin_write(db), reader = begin_read(db), other;
  teak_table table = create(writer, "words");
  refused(teak_txn_begin_write(db, &other, &error), TEAK_BUSY);
  assert(teak_txn_begin_write_within(db, 0, &other, &error) == TEAK_NONE);
  assert(other.handle == 0);
  refused(teak_db_close(db, &error), TEAK_BUSY);
  refused(teak_get(reader, table, teak_text("ash"), &value, &error), TEAK_TABLE_NOT_FOUND);
  refused(teak_insert(reader, table, teak_text("ash"), teak_text("1"), &error), TEAK_WRONG_TRANSACTION);
  refused(teak_txn_commit(reader, NULL, &error), TEAK_WRONG_TRANSACTION);
  refused(teak_txn_refresh(writer, &error), TEAK_WRONG_TRANSACTION);
  refused(teak_txn_clone(writer, &other, &error), TEAK_WRONG_TRANSACTION);
  refused(teak_insert(writer, table, teak_bytes(NULL, 3), teak_text("1"), &error), TEAK_INVALID_ARGUMENT);
  refused(teak_insert(writer, table, teak_bytes("x", SIZE_MAX), teak_text("1"), &error), TEAK_INVALID_ARGUMENT);
  refused(teak_get(writer, table, teak_text("ash"), NULL, &error), TEAK_INVALID_ARGUMENT);
  static char long_key[70000];
  refused(teak_insert(writer, table, teak_bytes(long_key, sizeof long_key), teak_text(""), &error), TEAK_KEY_TOO_LONG);
  teak_bound bound = {.kind = 3};
  refused(teak_remove_range(writer, table, bound, bound, NULL, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_txn_set_durability(writer, 4, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_txn_set_durability(writer, TEAK_DURABILITY_DEFAULT, &error), TEAK_INVALID_ARGUMENT);
  teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_CUSTOM, .comparison = "unheard of"};
  refused(teak_table_create(writer, teak_text("x"), &options, &table, &error), TEAK_INVALID_ARGUMENT);
  options = (teak_table_options){.size = sizeof options, .value_align = 3};
  refused(teak_table_create(writer, teak_text("x"), &options, &table, &error), TEAK_INVALID_ARGUMENT);
  check(teak_table_open(writer, teak_text("words"), &table, &error));
  check(teak_txn_commit(writer, NULL, &error));

  refused(teak_get(writer, table, teak_text("ash"), &value, &error), TEAK_INVALID_HANDLE);
  refused(teak_txn_commit(writer, NULL, &error), TEAK_INVALID_HANDLE);
  refused(teak_txn_end(writer, &error), TEAK_INVALID_HANDLE);
  refused(teak_txn_begin_write_at(db, reader, &other, &error), TEAK_SNAPSHOT_STALE);
  assert(error.number == 1);
  check(teak_txn_refresh(reader, &error));
  assert(teak_txn_refresh(reader, &error) == TEAK_NONE);
  check(teak_txn_begin_write_at(db, reader, &other, &error));
  check(teak_txn_end(other, &error));
  check(teak_txn_end(reader, &error));
  refused(teak_txn_end(reader, &error), TEAK_INVALID_HANDLE);

  /* The old handles of a reused slot are refused. */
  for (int i = 0; i < 100; i++) {
    teak_txn next = begin_read(db);
    refused(teak_txn_refresh(reader, &error), TEAK_INVALID_HANDLE);
    check(teak_txn_end(next, &error));
  }
}

static void made_up(teak_db db) {
  teak_txn txn = begin_read(db);
  teak_slice value;
  for (int bit = 0; bit < 64; bit++) {
    uint64_t numbers[] = {1ull << bit, txn.handle ^ 1ull << bit, UINT64_MAX >> bit, db.handle ^ 1ull << bit};
    for (int i = 0; i < 4; i++) {
      teak_txn none = {numbers[i]};
      refused(teak_get(none, (teak_table){1}, teak_text("x"), &value, &error), TEAK_INVALID_HANDLE);
      refused(teak_txn_end(none, &error), TEAK_INVALID_HANDLE);
      teak_code code = teak_get(txn, (teak_table){numbers[i]}, teak_text("x"), &value, &error);
      assert(code == TEAK_WRONG_DATABASE || code == TEAK_INVALID_HANDLE);
    }
  }
  refused(teak_get(txn, (teak_table){0}, teak_text("x"), &value, &error), TEAK_INVALID_HANDLE);
  refused(teak_txn_end((teak_txn){db.handle}, &error), TEAK_INVALID_HANDLE);
  refused(teak_db_close((teak_db){txn.handle}, &error), TEAK_INVALID_HANDLE);
  refused(teak_ticket_end((teak_ticket){txn.handle}, &error), TEAK_INVALID_HANDLE);
  check(teak_txn_end(txn, &error));
}

static void two_databases(teak_db db, const char *directory) {
  teak_db other = open_at(path_of(directory, "other.teak"));
  teak_txn here = begin_write(db), there = begin_write(other), neither;
  teak_table table = create(here, "words");
  refused(teak_insert(there, table, teak_text("a"), teak_text("b"), &error), TEAK_WRONG_DATABASE);
  check(teak_txn_end(there, &error));
  there = begin_read(other);
  refused(teak_txn_begin_write_at(other, (teak_txn){0}, &neither, &error), TEAK_INVALID_HANDLE);
  check(teak_txn_end(here, &error));
  refused(teak_txn_begin_write_at(db, there, &neither, &error), TEAK_WRONG_DATABASE);
  check(teak_txn_end(there, &error));
  check(teak_db_close(other, &error));
}

struct within {
  teak_txn txn;
  int calls;
};

/* A callback may read with the transaction, but not end or change it. */
static int within_a_call(void *user, teak_slice name, uint32_t several_values) {
  struct within *within = user;
  (void)several_values;
  within->calls++;
  teak_table table;
  check(teak_table_open(within->txn, name, &table, &error));
  refused(teak_txn_end(within->txn, &error), TEAK_BUSY);
  refused(teak_txn_commit(within->txn, NULL, &error), TEAK_BUSY);
  refused(teak_insert(within->txn, table, name, name, &error), TEAK_BUSY);
  return 0;
}

static void callbacks(teak_db db) {
  struct within within = {begin_write(db), 0};
  create(within.txn, "words");
  check(teak_table_each(within.txn, within_a_call, &within, &error));
  assert(within.calls == 1);
  refused(teak_table_each(within.txn, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_end(within.txn, &error));
}

/* The error may be NULL, and a smaller structure is filled in up to its size. */
static void errors(teak_db db) {
  assert(teak_txn_end((teak_txn){0}, NULL) == TEAK_INVALID_HANDLE);
  struct {
    size_t size;
    int32_t code;
    char behind[20];
  } small = {.size = 12, .behind = "untouched"};
  assert(teak_txn_end((teak_txn){0}, (teak_error *)&small) == TEAK_INVALID_HANDLE);
  assert(small.code == TEAK_INVALID_HANDLE && strcmp(small.behind, "untouched") == 0);
  teak_db_stat stat = {.size = sizeof stat.size + sizeof stat.file_bytes};
  check(teak_db_get_stat(db, &stat, &error));
  assert(stat.file_bytes > 0 && stat.page_size == 0);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  databases(argv[1]);
  teak_db db = open_at(path_of(argv[1], "misuse.teak"));
  transactions(db);
  made_up(db);
  two_databases(db, argv[1]);
  callbacks(db);
  errors(db);
  check(teak_db_close(db, &error));
  return 0;
}
