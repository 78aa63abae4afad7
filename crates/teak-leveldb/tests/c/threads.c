/* Threads that write batches to one database and report each of them. Campaigns kill this program,
   cut its power, and check what is in the database afterwards: every batch is made from the seed,
   the number of its thread and its own number.

     threads write DIRECTORY THREADS SEED BATCHES   each thread writes so many batches; 0: no end
     threads dump DIRECTORY                         prints all records
     threads destroy DIRECTORY
     threads repair DIRECTORY

   `write` prints "found THREAD BATCH" for the newest batch that a thread finds, "begin THREAD
   BATCH" before it writes one, and "done THREAD BATCH SYNCED" afterwards. */

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leveldb/c.h"

enum { SLOTS = 64, KEY_MAX = 16384, VALUE_MAX = 1024, LINE_MAX_LEN = 80 };

static leveldb_t *db;
static uint64_t seed;
static uint64_t batches;
#ifdef PLANTED_RACE
static uint64_t counted;
#endif

static void fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}

static void check(const char *what, char *error) {
  if (error != NULL) fail(what, error);
}

/* A whole line in one call, so that lines of threads do not mix. */
static void report(const char *format, ...) {
  char line[LINE_MAX_LEN];
  va_list arguments;
  va_start(arguments, format);
  int len = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (write(1, line, (size_t)len) != len) fail("write", "no output");
}

static uint64_t draw(uint64_t *state) {
  uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

/* Some keys are longer than those of the engine. */
static size_t slot_key(char *key, unsigned thread, unsigned slot) {
  size_t len = (size_t)sprintf(key, "t%02u/", thread);
  if (slot % 16 == 0) {
    size_t letters = 3800 + slot * 60;
    memset(key + len, 'k', letters);
    len += letters;
  }
  return len + (size_t)sprintf(key + len, "%04u", slot);
}

static size_t last_key(char *key, unsigned thread) {
  return (size_t)sprintf(key, "t%02u/last", thread);
}

/* Makes a batch. Returns whether it is synced. */
static int make(leveldb_writebatch_t *batch, unsigned thread, uint64_t number) {
  char key[KEY_MAX], value[VALUE_MAX];
  uint64_t state = seed + thread * 0x100000001b3u + number * 0x9e3779b1u;
  leveldb_writebatch_clear(batch);
  size_t key_len = last_key(key, thread);
  size_t value_len = (size_t)sprintf(value, "%" PRIu64, number);
  leveldb_writebatch_put(batch, key, key_len, value, value_len);
  /* One in so many; few for odd seeds. */
  uint64_t share = seed % 2 == 0 ? 5 : 200;
  int is_synced = draw(&state) % share == 0;
  uint64_t entries = draw(&state) % 8;
  for (uint64_t entry = 0; entry < entries; entry++) {
    key_len = slot_key(key, thread, (unsigned)(draw(&state) % SLOTS));
    if (draw(&state) % 4 == 0) {
      leveldb_writebatch_delete(batch, key, key_len);
      continue;
    }
    value_len = (size_t)sprintf(value, "%" PRIu64 ":%" PRIu64 ":", number, entry);
    size_t letters = draw(&state) % 300;
    memset(value + value_len, (int)('a' + draw(&state) % 26), letters);
    leveldb_writebatch_put(batch, key, key_len, value, value_len + letters);
  }
  return is_synced;
}

static uint64_t newest(unsigned thread, const leveldb_readoptions_t *options) {
  char key[KEY_MAX], text[32] = "";
  size_t len = 0;
  char *error = NULL;
  char *value = leveldb_get(db, options, key, last_key(key, thread), &len, &error);
  check("get", error);
  if (value == NULL) return 0;
  memcpy(text, value, len < sizeof text ? len : sizeof text - 1);
  leveldb_free(value);
  return strtoull(text, NULL, 10);
}

static int compare(const char *a, size_t a_len, const char *b, size_t b_len) {
  int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* Reads what this thread has written, from a snapshot and beside the other threads. */
static void read_back(unsigned thread, uint64_t number) {
  const leveldb_snapshot_t *snapshot = leveldb_create_snapshot(db);
  leveldb_readoptions_t *options = leveldb_readoptions_create();
  leveldb_readoptions_set_snapshot(options, snapshot);
  if (newest(thread, options) != number) fail("read", "a thread does not see its own batch");
  char before[KEY_MAX] = "", prefix[8];
  size_t before_len = 0;
  size_t prefix_len = (size_t)sprintf(prefix, "t%02u/", thread);
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, options);
  for (leveldb_iter_seek(iterator, prefix, prefix_len); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    size_t len;
    const char *key = leveldb_iter_key(iterator, &len);
    if (len < prefix_len || memcmp(key, prefix, prefix_len) != 0) break;
    if (before_len > 0 && compare(before, before_len, key, len) >= 0) fail("read", "wrong order");
    memcpy(before, key, len);
    before_len = len;
  }
  char *error = NULL;
  leveldb_iter_get_error(iterator, &error);
  check("iterate", error);
  leveldb_iter_destroy(iterator);
  leveldb_readoptions_destroy(options);
  leveldb_release_snapshot(db, snapshot);
}

/* What is done beside writing. */
static void look_around(void) {
  leveldb_free(leveldb_property_value(db, "leveldb.approximate-memory-usage"));
  const char *start = "t", *limit = "u";
  size_t len = 1;
  uint64_t size = 0;
  leveldb_approximate_sizes(db, 1, &start, &len, &limit, &len, &size);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
}

static void *run_thread(void *argument) {
  unsigned thread = (unsigned)(uintptr_t)argument;
  leveldb_readoptions_t *read = leveldb_readoptions_create();
  leveldb_writeoptions_t *options = leveldb_writeoptions_create();
  leveldb_writebatch_t *batch = leveldb_writebatch_create();
  uint64_t first = newest(thread, read);
  report("found %u %" PRIu64 "\n", thread, first);
  for (uint64_t number = first + 1; batches == 0 || number <= first + batches; number++) {
    int is_synced = make(batch, thread, number);
    leveldb_writeoptions_set_sync(options, (uint8_t)is_synced);
    report("begin %u %" PRIu64 "\n", thread, number);
    char *error = NULL;
    leveldb_write(db, options, batch, &error);
    check("write", error);
#ifdef PLANTED_RACE
    counted++;
#endif
    report("done %u %" PRIu64 " %d\n", thread, number, is_synced);
    if (number % 16 == 0) read_back(thread, number);
    if (number % 64 == 0 && thread == 0) look_around();
  }
  leveldb_writebatch_destroy(batch);
  leveldb_writeoptions_destroy(options);
  leveldb_readoptions_destroy(read);
  return NULL;
}

static void write_all(unsigned count) {
  pthread_t *threads = calloc(count, sizeof *threads);
  for (unsigned thread = 0; thread < count; thread++)
    if (pthread_create(&threads[thread], NULL, run_thread, (void *)(uintptr_t)thread) != 0)
      fail("write", "no thread");
  for (unsigned thread = 0; thread < count; thread++) pthread_join(threads[thread], NULL);
  free(threads);
}

static void print_hex(const char *bytes, size_t len, char end) {
  for (size_t at = 0; at < len; at++) printf("%02x", (unsigned char)bytes[at]);
  putchar(end);
}

static void dump(void) {
  leveldb_readoptions_t *options = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(options, 1);
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, options);
  uint64_t forward = 0, back = 0;
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    size_t len;
    const char *key = leveldb_iter_key(iterator, &len);
    print_hex(key, len, ' ');
    const char *value = leveldb_iter_value(iterator, &len);
    print_hex(value, len, '\n');
    forward++;
  }
  char *error = NULL;
  leveldb_iter_get_error(iterator, &error);
  check("iterate", error);
  for (leveldb_iter_seek_to_last(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_prev(iterator))
    back++;
  leveldb_iter_get_error(iterator, &error);
  check("iterate", error);
  if (forward != back) fail("iterate", "other records from the end");
  printf("end\n");
  leveldb_iter_destroy(iterator);
  leveldb_readoptions_destroy(options);
}

int main(int count, char **arguments) {
  if (count < 3) fail("threads", "see the source for the arguments");
  const char *task = arguments[1], *directory = arguments[2];
  int writes = strcmp(task, "write") == 0 && count == 6;
  char *error = NULL;
  leveldb_options_t *options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, (uint8_t)writes);
  if (strcmp(task, "destroy") == 0) {
    leveldb_destroy_db(options, directory, &error);
    check("destroy", error);
  } else if (strcmp(task, "repair") == 0) {
    leveldb_repair_db(options, directory, &error);
    check("repair", error);
  } else {
    db = leveldb_open(options, directory, &error);
    check("open", error);
    if (writes) {
      seed = strtoull(arguments[4], NULL, 10);
      batches = strtoull(arguments[5], NULL, 10);
      write_all((unsigned)strtoul(arguments[3], NULL, 10));
    } else {
      dump();
    }
    leveldb_close(db);
  }
  leveldb_options_destroy(options);
  return 0;
}
