/* Ranks and parts, increments, restoring, salvage, readers, and following commits. */
#include "common.h"
#include <pthread.h>
#include <time.h>

enum { RECORDS = 1000 };

static teak_table words, lines;

static teak_slice key_of(char *place, int number) {
  sprintf(place, "%05d", number);
  return teak_text(place);
}

static void fill(teak_db db) {
  teak_txn txn = begin_write(db);
  char place[16];
  teak_table_options counted = {.size = sizeof counted, .counted = 1};
  check(teak_table_create(txn, teak_text("words"), &counted, &words, &error));
  for (int i = 0; i < RECORDS; i++) check(teak_insert(txn, words, key_of(place, i), teak_text("value"), &error));
  teak_table_options several = {.size = sizeof several, .counted = 1, .several_values = 1};
  check(teak_table_create(txn, teak_text("lines"), &several, &lines, &error));
  for (int i = 0; i < RECORDS; i++)
    check(teak_insert_pair(txn, lines, teak_text(i % 2 ? "ash" : "elm"), key_of(place, i), &error));
  check(teak_txn_commit(txn, NULL, &error));
}

static int count_parts(void *user, teak_slice key, teak_slice value) {
  (void)value;
  assert(key.len > 0);
  ++*(int *)user;
  return 0;
}

static int stop(void *user, teak_slice key, teak_slice value) {
  (void)user, (void)key, (void)value;
  return 1;
}

static void numbers(teak_db db) {
  teak_txn txn = begin_read(db);
  teak_cursor cursor;
  teak_record record;
  uint64_t rank;
  int parts = 0;
  char place[16];
  check(teak_rank(txn, words, teak_text("00042"), &rank, &error));
  assert(rank == 42);
  check(teak_rank_pair(txn, lines, teak_text("elm"), teak_text("00004"), &rank, &error));
  assert(rank == RECORDS / 2 + 2);
  refused(teak_rank(txn, lines, teak_text("elm"), &rank, &error), TEAK_TABLE_MISMATCH);
  refused(teak_rank_pair(txn, words, teak_text("elm"), teak_text("1"), &rank, &error), TEAK_TABLE_MISMATCH);
  check(teak_cursor_open(txn, words, &cursor, &error));
  check(teak_cursor_nth(cursor, txn, 77, &record, &error));
  assert(record.key.len == 5 && memcmp(record.key.data, "00077", 5) == 0);
  check(teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error));
  assert(memcmp(record.key.data, "00078", 5) == 0);
  assert(teak_cursor_nth(cursor, txn, RECORDS, &record, &error) == TEAK_NONE);
  assert(record.key.data == NULL);
  check(teak_cursor_close(cursor, &error));
  check(teak_cursor_open(txn, lines, &cursor, &error));
  check(teak_cursor_nth(cursor, txn, RECORDS / 2 + 2, &record, &error));
  assert(is_text(record.key, "elm") && is_text(record.value, "00004"));
  check(teak_cursor_close(cursor, &error));
  teak_bound all = {0}, some = {.kind = TEAK_EXCLUDED, .key = key_of(place, 100)};
  check(teak_split_range(txn, words, all, some, 4, count_parts, &parts, &error));
  assert(parts == 3);
  check(teak_split_range(txn, lines, all, all, 5, count_parts, &parts, &error));
  assert(parts == 7);
  assert(teak_split_range(txn, words, all, all, 4, stop, NULL, &error) == TEAK_NONE);
  refused(teak_split_range(txn, words, all, all, 0, count_parts, &parts, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_split_range(txn, words, all, all, 1, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_end(txn, &error));
  txn = begin_write(db);
  teak_table plain = create(txn, "plain");
  refused(teak_rank(txn, plain, teak_text("elm"), &rank, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_end(txn, &error));
}

static int stop_progress(void *user, uint64_t done, uint64_t total) {
  (void)user, (void)done, (void)total;
  return 1;
}

static uint64_t records_of(const char *path) {
  teak_db db = open_at(path);
  teak_txn txn = begin_read(db);
  teak_table table;
  teak_table_stat stat = {.size = sizeof stat};
  check(teak_table_open(txn, teak_text("words"), &table, &error));
  check(teak_table_get_stat(txn, table, &stat, &error));
  check(teak_txn_end(txn, &error));
  check(teak_db_close(db, &error));
  return stat.records;
}

static void open_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  assert(file && fseek(file, 0, SEEK_END) == 0);
  const size_t len = (size_t)ftell(file);
  void *data = malloc(len);
  rewind(file);
  assert(data && fread(data, 1, len, file) == len && fclose(file) == 0);
  teak_db db;
  refused(teak_db_open_bytes((teak_slice){data, 100}, NULL, &db, &error), TEAK_NOT_A_DATABASE);
  assert(db.handle == 0);
  refused(teak_db_open_bytes((teak_slice){NULL, 100}, NULL, &db, &error), TEAK_INVALID_ARGUMENT);
  check(teak_db_open_bytes((teak_slice){data, len}, NULL, &db, &error));
  free(data);
  teak_txn txn = begin_read(db);
  teak_table table;
  teak_table_stat stat = {.size = sizeof stat};
  check(teak_table_open(txn, teak_text("words"), &table, &error));
  check(teak_table_get_stat(txn, table, &stat, &error));
  assert(stat.records == RECORDS + 2);
  check(teak_txn_end(txn, &error));
  refused(teak_txn_begin_write(db, &txn, &error), TEAK_READ_ONLY);
  check(teak_db_close(db, &error));
}

static void increments(teak_db db, const char *directory) {
  const char *full = path_of(directory, "full"), *restored = path_of(directory, "restored"), *paths[2];
  paths[0] = path_of(directory, "first");
  paths[1] = path_of(directory, "second");
  teak_txn txn = begin_write(db), since;
  check(teak_snapshot_create(txn, teak_text("monday"), &error));
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_backup(db, full, NULL, NULL, &error));
  for (int i = 0; i < 2; i++) {
    check(teak_snapshot_open(db, teak_text("monday"), &since, &error));
    txn = begin_write(db);
    char place[16];
    check(teak_insert(txn, words, key_of(place, RECORDS + i), teak_text("later"), &error));
    check(teak_txn_commit(txn, NULL, &error));
    assert(teak_db_backup_since(db, since, paths[i], stop_progress, NULL, &error) == TEAK_NONE);
    check(teak_db_backup_since(db, since, paths[i], NULL, NULL, &error));
    refused(teak_db_backup_since(db, since, paths[i], NULL, NULL, &error), TEAK_FILE_EXISTS);
    check(teak_txn_end(since, &error));
  }
  teak_check_report report = {.size = sizeof report};
  assert(teak_restore(full, paths, 2, restored, NULL, stop_progress, NULL, &error) == TEAK_NONE);
  check(teak_restore(full, paths, 2, restored, &report, NULL, NULL, &error));
  assert(report.damages == 0 && report.tables == 2);
  assert(records_of(restored) == RECORDS + 2);
  open_bytes(restored);
  refused(teak_restore(full, paths, 2, restored, NULL, NULL, NULL, &error), TEAK_FILE_EXISTS);
  refused(teak_restore(path_of(directory, "none"), NULL, 0, path_of(directory, "x"), NULL, NULL, NULL, &error),
          TEAK_FILE_NOT_FOUND);
  refused(teak_restore(paths[0], NULL, 0, path_of(directory, "x"), NULL, NULL, NULL, &error), TEAK_NOT_A_DATABASE);
  refused(teak_restore(full, NULL, 1, path_of(directory, "x"), NULL, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_restore(NULL, NULL, 0, path_of(directory, "x"), NULL, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
}

static int count_lines(void *user, teak_slice line) {
  assert(line.len > 0 || line.data);
  ++*(int *)user;
  return 0;
}

static int note_progress(void *user, uint64_t done, uint64_t total) {
  uint64_t *noted = user;
  noted[0] = done;
  noted[1] = total;
  return 0;
}

static void salvage(const char *directory) {
  const char *source = path_of(directory, "restored"), *target = path_of(directory, "saved");
  teak_salvage_report report = {.size = sizeof report};
  int lines_told = 0;
  uint64_t pages_told[2] = {0};
  teak_salvage_options options = {
      .size = sizeof options, .each = count_lines, .each_user = &lines_told, .progress = note_progress, .progress_user = pages_told};
  teak_salvage_options stopped = {.size = sizeof stopped, .progress = stop_progress};
  assert(teak_salvage(source, target, &stopped, NULL, &error) == TEAK_NONE);
  check(teak_salvage(source, target, &options, &report, &error));
  assert(pages_told[0] > 0 && pages_told[0] <= pages_told[1]);
  assert(report.tables == 2 && report.records == 2 * RECORDS + 2 && report.records_lost == 0 && lines_told > 0);
  assert(report.lost_snapshots == 1 && report.is_complete == 0);
  assert(records_of(target) == RECORDS + 2);
  refused(teak_salvage(source, target, NULL, NULL, &error), TEAK_FILE_EXISTS);
  refused(teak_salvage(path_of(directory, "none"), path_of(directory, "x"), NULL, NULL, &error),
          TEAK_FILE_NOT_FOUND);
}

static int choose(void *user, const teak_reader *reader) {
  assert(reader->process != 0 && reader->thread != 0);
  return *(int *)user;
}

static void readers(teak_db db) {
  teak_txn txn = begin_read(db);
  teak_slice value;
  int choice = TEAK_READER_LEAVE;
  check(teak_db_each_reader(db, choose, &choice, &error));
  check(teak_get(txn, words, teak_text("00001"), &value, &error));
  choice = TEAK_READER_STOP;
  assert(teak_db_each_reader(db, choose, &choice, &error) == TEAK_NONE);
  choice = 7;
  refused(teak_db_each_reader(db, choose, &choice, &error), TEAK_INVALID_ARGUMENT);
  choice = TEAK_READER_CANCEL;
  check(teak_db_each_reader(db, choose, &choice, &error));
  refused(teak_get(txn, words, teak_text("00001"), &value, &error), TEAK_SNAPSHOT_LOST);
  check(teak_txn_end(txn, &error));
  refused(teak_db_each_reader(db, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
}

static int note_change(void *user, teak_slice name, uint32_t change) {
  char *told = user;
  sprintf(told + strlen(told), "%u%.*s ", change, (int)name.len, (const char *)name.data);
  return 0;
}

static void *wait_for_one(void *user) {
  teak_db db = *(teak_db *)user;
  uint64_t newest;
  teak_error own = {.size = sizeof own};
  assert(teak_db_wait_for_commit(db, UINT64_MAX - 1, UINT64_MAX, &newest, &own) == TEAK_INVALID_ARGUMENT);
  assert(own.message[0] != 0);
  return NULL;
}

static void following(teak_db db) {
  teak_txn before = begin_read(db);
  uint64_t seen, newest;
  char told[100] = "";
  check(teak_txn_id(before, &seen, &error));
  assert(teak_db_wait_for_commit(db, seen, 1, &newest, &error) == TEAK_NONE);
  teak_txn txn = begin_write(db);
  create(txn, "new");
  check(teak_remove(txn, words, teak_text("00001"), &error));
  check(teak_table_drop(txn, teak_text("lines"), &error));
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_wait_for_commit(db, seen, UINT64_MAX, &newest, &error));
  assert(newest == seen + 1);
  txn = begin_read(db);
  check(teak_changed_tables(before, txn, note_change, told, &error));
  assert(strcmp(told, "2lines 0new 1words ") == 0);
  refused(teak_changed_tables(before, txn, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_end(txn, &error));
  check(teak_txn_end(before, &error));
}

/* A wait for a commit does not keep the database open. */
static void closing(teak_db db) {
  pthread_t waiting;
  assert(pthread_create(&waiting, NULL, wait_for_one, &db) == 0);
  struct timespec moment = {.tv_nsec = 200000000};
  nanosleep(&moment, NULL);
  check(teak_db_close(db, &error));
  assert(pthread_join(waiting, NULL) == 0);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "rescue.teak"));
  fill(db);
  numbers(db);
  increments(db, argv[1]);
  salvage(argv[1]);
  readers(db);
  following(db);
  closing(db);
  return 0;
}
