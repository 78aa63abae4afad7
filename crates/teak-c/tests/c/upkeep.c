/* Named snapshots, differences, backups, checks, compaction, events and slow readers. */
#include "common.h"
#include <errno.h>
#include <unistd.h>

static teak_table ages, lines;

static void put(teak_txn txn, const char *key, const char *value) {
  check(teak_insert(txn, ages, teak_text(key), teak_text(value), &error));
}

static int note_snapshot(void *user, const teak_snapshot *snapshot) {
  strncat(user, snapshot->name.data, snapshot->name.len);
  strcat(user, ",");
  assert(snapshot->transaction > 0 && snapshot->time_us > 1600000000000000);
  return is_text(snapshot->name, "a");
}

static void snapshots(teak_db db) {
  teak_txn txn = begin_write(db);
  check(teak_snapshot_create(txn, teak_text("b"), &error));
  refused(teak_snapshot_create(txn, teak_text("b"), &error), TEAK_SNAPSHOT_EXISTS);
  refused(teak_snapshot_create(txn, teak_text(""), &error), TEAK_INVALID_ARGUMENT);
  put(txn, "Ada", "37");
  check(teak_txn_commit(txn, NULL, &error));
  char names[100] = "";
  check(teak_snapshot_each(db, note_snapshot, names, &error));
  assert(strcmp(names, "b,") == 0);
  txn = begin_write(db);
  check(teak_snapshot_create(txn, teak_text("a"), &error));
  put(txn, "Ada", "38");
  check(teak_txn_commit(txn, NULL, &error));
  names[0] = 0;
  assert(teak_snapshot_each(db, note_snapshot, names, &error) == TEAK_NONE);
  assert(strcmp(names, "a,") == 0);
  teak_slice value;
  check(teak_snapshot_open(db, teak_text("b"), &txn, &error));
  check(teak_get(txn, ages, teak_text("Ada"), &value, &error));
  assert(is_text(value, "37"));
  check(teak_txn_end(txn, &error));
  assert(teak_snapshot_open(db, teak_text("c"), &txn, &error) == TEAK_NONE);
  assert(txn.handle == 0);
  txn = begin_write(db);
  refused(teak_snapshot_roll_back(txn, teak_text("c"), &error), TEAK_SNAPSHOT_NOT_FOUND);
  check(teak_snapshot_roll_back(txn, teak_text("a"), &error));
  check(teak_snapshot_drop(txn, teak_text("a"), &error));
  check(teak_snapshot_drop(txn, teak_text("b"), &error));
  assert(teak_snapshot_drop(txn, teak_text("b"), &error) == TEAK_NONE);
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_read(db);
  check(teak_get(txn, ages, teak_text("Ada"), &value, &error));
  assert(is_text(value, "38"));
  refused(teak_snapshot_create(txn, teak_text("x"), &error), TEAK_WRONG_TRANSACTION);
  check(teak_txn_end(txn, &error));
}

static int note_prepared(void *user, const teak_prepared *prepared) {
  strncat(user, prepared->name.data, prepared->name.len);
  assert(prepared->transaction > 0 && prepared->time_us > 1600000000000000 && prepared->changed_pages > 0);
  return 1;
}

static void prepared(teak_db db) {
  uint64_t id = 0;
  char names[100] = "";
  teak_txn txn = begin_write(db), other;
  put(txn, "Ada", "39");
  check(teak_txn_prepare(txn, teak_text("seven"), &id, &error));
  assert(id > 0);
  refused(teak_txn_end(txn, &error), TEAK_INVALID_HANDLE);
  assert(teak_prepared_each(db, note_prepared, names, &error) == TEAK_NONE && strcmp(names, "seven") == 0);
  refused(teak_txn_begin_write_within(db, 0, &other, &error), TEAK_TRANSACTION_PREPARED);
  teak_slice value;
  txn = begin_read(db);
  check(teak_get(txn, ages, teak_text("Ada"), &value, &error));
  assert(is_text(value, "38"));
  check(teak_txn_end(txn, &error));
  check(teak_prepared_open(db, teak_text("seven"), &txn, &error));
  check(teak_get(txn, ages, teak_text("Ada"), &value, &error));
  assert(is_text(value, "39"));
  check(teak_txn_end(txn, &error));
  assert(teak_prepared_open(db, teak_text("eight"), &txn, &error) == TEAK_NONE);
  refused(teak_prepared_commit(db, teak_text("eight"), NULL, &error), TEAK_PREPARED_NOT_FOUND);
  check(teak_prepared_roll_back(db, teak_text("seven"), NULL, &error));
  refused(teak_prepared_roll_back(db, teak_text("seven"), NULL, &error), TEAK_PREPARED_NOT_FOUND);
  txn = begin_write(db);
  put(txn, "Grace", "1");
  refused(teak_txn_prepare(txn, teak_text(""), NULL, &error), TEAK_INVALID_ARGUMENT);
  txn = begin_write(db);
  put(txn, "Ada", "38");
  put(txn, "Ada", "40");
  check(teak_txn_prepare(txn, teak_text("eight"), NULL, &error));
  check(teak_prepared_commit(db, teak_text("eight"), &id, &error));
  check(teak_prepared_each(db, note_prepared, names, &error));
  txn = begin_write(db);
  check(teak_get(txn, ages, teak_text("Ada"), &value, &error));
  assert(is_text(value, "40"));
  put(txn, "Ada", "38");
  check(teak_txn_commit(txn, NULL, &error));
}

static int note_difference(void *user, const teak_difference *difference) {
  char text[100];
  snprintf(text, sizeof text, "%d %.*s %.*s>%.*s,", (int)difference->change, (int)difference->key.len,
           (const char *)difference->key.data, (int)difference->old_value.len, (const char *)difference->old_value.data,
           (int)difference->new_value.len, (const char *)difference->new_value.data);
  strcat(user, text);
  return is_text(difference->key, "stop");
}

static void differences(teak_db db) {
  teak_txn older = begin_read(db), txn = begin_write(db);
  put(txn, "Ada", "39");
  put(txn, "Eve", "1");
  check(teak_remove(txn, ages, teak_text("Bob"), &error));
  check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("5"), &error));
  check(teak_remove_pair(txn, lines, teak_text("teak"), teak_text("3"), &error));
  char text[200] = "";
  refused(teak_differences(older, txn, ages, note_difference, text, NULL, &error), TEAK_WRONG_TRANSACTION);
  check(teak_txn_commit(txn, NULL, &error));
  teak_txn newer = begin_read(db);
  uint64_t count;
  check(teak_differences(older, newer, ages, note_difference, text, &count, &error));
  assert(count == 3 && strcmp(text, "1 Ada 38>39,2 Bob 8>,0 Eve >1,") == 0);
  text[0] = 0;
  check(teak_differences(older, newer, lines, note_difference, text, &count, &error));
  assert(count == 2 && strcmp(text, "2 teak 3>,0 teak >5,") == 0);
  refused(teak_differences(older, newer, ages, NULL, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_end(newer, &error));
  txn = begin_write(db);
  put(txn, "stop", "x");
  put(txn, "zebra", "x");
  check(teak_txn_commit(txn, NULL, &error));
  newer = begin_read(db);
  text[0] = 0;
  assert(teak_differences(older, newer, ages, note_difference, text, NULL, &error) == TEAK_NONE);
  assert(strstr(text, "stop") && !strstr(text, "zebra"));
  check(teak_txn_end(newer, &error));
  check(teak_txn_end(older, &error));
}

static int count_calls(void *user, uint64_t done, uint64_t total) {
  (void)done, (void)total;
  ++*(int *)user;
  return 0;
}

static int stop(void *user, uint64_t done, uint64_t total) {
  count_calls(user, done, total);
  return 1;
}

static int no_damage(void *user, const teak_damage *damage) {
  (void)user;
  fprintf(stderr, "damage: %.*s\n", (int)damage->detail.len, (const char *)damage->detail.data);
  abort();
}

static void copies(teak_db db, const char *directory) {
  int calls = 0;
  const char *copy = path_of(directory, "copy.teak");
  assert(teak_db_backup(db, copy, stop, &calls, &error) == TEAK_NONE);
  assert(calls == 1);
  check(teak_db_backup(db, copy, count_calls, &calls, &error));
  assert(calls > 1);
  refused(teak_db_backup(db, copy, NULL, NULL, &error), TEAK_FILE_EXISTS);
  refused(teak_db_backup(db, NULL, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  const char *small = path_of(directory, "small.teak");
  check(teak_db_backup_compact(db, small, count_calls, &calls, &error));
  const char *copies[] = {copy, small};
  for (int i = 0; i < 2; i++) {
    teak_db copied = open_at(copies[i]);
    teak_check_report report = {.size = sizeof report};
    check(teak_db_check(copied, &report, no_damage, NULL, count_calls, &calls, &error));
    assert(report.damages == 0 && report.pages > 0 && report.tables == 2 && report.records >= 4);
    check(teak_db_check(copied, NULL, NULL, NULL, NULL, NULL, &error));
    assert(teak_db_check(copied, NULL, NULL, NULL, stop, &calls, &error) == TEAK_NONE);
    check(teak_db_close(copied, &error));
  }
}

static int end_it(void *user, uint64_t moved_pages, uint64_t file_bytes) {
  (void)user, (void)moved_pages, (void)file_bytes;
  return 1;
}

static teak_compact_report compact(teak_db db, const teak_compact_options *options) {
  teak_compact_report report = {.size = sizeof report};
  check(teak_db_compact_with(db, options, &report, NULL, NULL, &error));
  assert(report.size == sizeof report);
  return report;
}

static void compaction(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table large = create(txn, "large");
  static char value[1 << 20];
  for (int i = 0; i < 8; i++) {
    char key[2] = {(char)('a' + i), 0};
    check(teak_insert(txn, large, teak_text(key), teak_bytes(value, sizeof value), &error));
  }
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_write(db);
  check(teak_snapshot_create(txn, teak_text("large"), &error));
  check(teak_table_drop(txn, teak_text("large"), &error));
  refused(teak_db_compact(db, NULL, NULL, &error), TEAK_BUSY);
  check(teak_txn_commit(txn, NULL, &error));
  teak_compact_options options = {.size = sizeof options, .until_file_bytes = 1 << 16};
  assert(compact(db, &options).obstacle == TEAK_COMPACT_NAMED_SNAPSHOTS);
  txn = begin_write(db);
  check(teak_snapshot_drop(txn, teak_text("large"), &error));
  put(txn, "Eve", "1");
  check(teak_txn_commit(txn, NULL, &error));
  options.until_free_percent = 101;
  refused(teak_db_compact_with(db, &options, NULL, NULL, NULL, &error), TEAK_INVALID_ARGUMENT);
  options.until_free_percent = 100;
  assert(compact(db, &options).obstacle == TEAK_COMPACT_REACHED);
  teak_compact_report report = {.size = sizeof report};
  teak_code ended = teak_db_compact_with(db, NULL, &report, end_it, NULL, &error);
  assert(ended == TEAK_NONE && report.obstacle <= TEAK_COMPACT_LIMIT && report.file_bytes > 0);
  report = compact(db, NULL);
  assert(report.obstacle == TEAK_COMPACT_REACHED && report.file_bytes > 0);
  check(teak_db_compact(db, NULL, NULL, &error));
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_db_get_stat(db, &stat, &error));
  assert(stat.file_bytes < 8 << 20);
}

static void who_writes(teak_db db) {
  uint32_t writer = 0;
  teak_txn txn = begin_write(db);
  check(teak_db_writer_process(db, &writer, &error));
  assert(writer == (uint32_t)getpid());
  check(teak_txn_end(txn, &error));
  refused(teak_db_writer_process(db, NULL, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_db_writer_process((teak_db){0}, &writer, &error), TEAK_INVALID_HANDLE);
}

static void names(const char *path) {
  char lock_file[4096], whole[4096];
  check(teak_lock_file_of(path, whole, sizeof whole, &error));
  size_t len = strlen(whole);
  assert(len > 5 && strcmp(whole + len - 5, "-lock") == 0);
  check(teak_lock_file_of(path, lock_file, len + 1, &error));
  assert(strcmp(lock_file, whole) == 0);
  refused(teak_lock_file_of(path, lock_file, len, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_lock_file_of(path, NULL, 0, &error), TEAK_INVALID_ARGUMENT);
  refused(teak_lock_file_of("/no/such/directory/x", lock_file, sizeof lock_file, &error), TEAK_IO);
  assert(teak_remedy(ENOSPC).len > 0 && teak_remedy(EINTR).len == 0 && teak_remedy(-1).len == 0);
}

static _Atomic int events[11];

static void note_event(void *user, uint32_t kind, teak_slice text) {
  assert(user == events && kind < 11 && text.len > 0);
  events[kind]++;
}

static _Atomic int asked;

static int give_up(void *user, const teak_slow_reader *reader) {
  assert(user == &asked && reader->kept_pages > 0 && reader->transaction > 0 && reader->process > 0);
  asked++;
  return TEAK_SLOW_READER_GIVE_UP;
}

/* The function decides when a reader keeps all space that a writer could use. */
static void slow_readers(teak_db db) {
  static char value[64 << 10];
  teak_txn reader = {0};
  teak_table table;
  teak_code code = TEAK_OK;
  for (int i = 0; i < 1000 && code == TEAK_OK; i++) {
    teak_txn txn = begin_write(db);
    table = create(txn, "slow");
    value[0] = (char)i;
    code = teak_insert(txn, table, teak_text("x"), teak_bytes(value, sizeof value), &error);
    if (code == TEAK_OK)
      code = teak_txn_commit(txn, NULL, &error);
    else
      check(teak_txn_end(txn, NULL));
    if (i == 3) reader = begin_read(db);
  }
  refused(code, TEAK_HELD_BY_READER);
  assert(error.process > 0 && asked > 0);
  check(teak_txn_end(reader, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_options options = {.size = sizeof options,
                          .on_event = note_event,
                          .event_user = (void *)events,
                          .on_slow_reader = give_up,
                          .slow_reader_user = (void *)&asked};
  teak_db db;
  check(teak_db_open(path_of(argv[1], "upkeep.teak"), &options, &db, &error));
  teak_txn txn = begin_write(db);
  ages = create(txn, "ages");
  teak_table_options several = {.size = sizeof several, .several_values = 1};
  check(teak_table_create(txn, teak_text("lines"), &several, &lines, &error));
  put(txn, "Ada", "36");
  put(txn, "Bob", "8");
  check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("3"), &error));
  check(teak_txn_commit(txn, NULL, &error));
  snapshots(db);
  prepared(db);
  differences(db);
  copies(db, argv[1]);
  compaction(db);
  who_writes(db);
  names(path_of(argv[1], "upkeep.teak"));
  slow_readers(db);
  check(teak_db_close(db, &error));
  assert(events[TEAK_EVENT_OPENED] == 1 && events[TEAK_EVENT_COMMIT] > 5 && events[TEAK_EVENT_FLUSH] > 0);
  assert(events[TEAK_EVENT_GROWN] > 0 && events[TEAK_EVENT_SHRUNK] > 0 && events[TEAK_EVENT_CLOSED] == 1);
  assert(events[TEAK_EVENT_SLOW_READER] > 0 && events[TEAK_EVENT_POISONED] == 0);
  return 0;
}
