/* The interface for C, phase by phase, in the directory that is the first argument. It prints every
   answer, for comparison with LevelDB's. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

static char *error = NULL;
static leveldb_options_t *options;
static leveldb_readoptions_t *read_options;
static leveldb_writeoptions_t *write_options;
static leveldb_t *db;
static char path[4096];

static void phase(const char *name) { printf("== %s\n", name); }

/* Bytes as text; long ones as their length and a sum. */
static void print_bytes(const char *bytes, size_t len) {
  if (bytes == NULL) {
    printf("(none)");
    return;
  }
  if (len > 40) {
    uint64_t sum = 14695981039346656037u;
    for (size_t at = 0; at < len; at++) {
      sum = (sum ^ (unsigned char)bytes[at]) * 1099511628211u;
    }
    printf("%zu bytes %016llx", len, (unsigned long long)sum);
    return;
  }
  putchar('\'');
  for (size_t at = 0; at < len; at++) {
    unsigned char byte = (unsigned char)bytes[at];
    printf(byte >= 32 && byte < 127 ? "%c" : "\\x%02x", byte);
  }
  putchar('\'');
}

static void print_error(const char *step) {
  printf("%s: %s\n", step, error == NULL ? "ok" : error);
  leveldb_free(error);
  error = NULL;
}

static void get(const char *key, size_t key_len) {
  size_t len = 99;
  char *value = leveldb_get(db, read_options, key, key_len, &len, &error);
  printf("get ");
  print_bytes(key, key_len);
  printf(" = ");
  print_bytes(value, len);
  printf(" (%d) ", value != NULL || len == 0);
  print_error("");
  leveldb_free(value);
}

static void get_text(const char *key) { get(key, strlen(key)); }

static void put(const char *key, const char *value) {
  leveldb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
  if (error != NULL) print_error("put");
}

static void print_position(const leveldb_iterator_t *iterator) {
  if (!leveldb_iter_valid(iterator)) {
    printf("  nowhere\n");
    return;
  }
  size_t len;
  const char *bytes = leveldb_iter_key(iterator, &len);
  printf("  ");
  print_bytes(bytes, len);
  bytes = leveldb_iter_value(iterator, &len);
  printf(" = ");
  print_bytes(bytes, len);
  printf("\n");
}

static void print_all(void) {
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read_options);
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    print_position(iterator);
  }
  leveldb_iter_get_error(iterator, &error);
  print_error("forwards");
  int count = 0;
  for (leveldb_iter_seek_to_last(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_prev(iterator)) {
    count++;
  }
  leveldb_iter_get_error(iterator, &error);
  printf("%d ", count);
  print_error("backwards");
  leveldb_iter_destroy(iterator);
}

/* The number of records, and a sum of them all in order. */
static void print_digest(void) {
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read_options);
  uint64_t sum = 14695981039346656037u;
  int count = 0;
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    for (int part = 0; part < 2; part++) {
      size_t len;
      const char *bytes = part == 0 ? leveldb_iter_key(iterator, &len)
                                    : leveldb_iter_value(iterator, &len);
      for (size_t at = 0; at < len; at++) {
        sum = (sum ^ (unsigned char)bytes[at]) * 1099511628211u;
      }
      sum = (sum ^ len) * 1099511628211u;
    }
    count++;
  }
  leveldb_iter_destroy(iterator);
  printf("%d records, sum %016llx\n", count, (unsigned long long)sum);
}

static void open_database(const char *step) {
  db = leveldb_open(options, path, &error);
  printf("%s ", db == NULL ? "closed" : "open");
  print_error(step);
}

static void open_and_refuse(void) {
  phase("opening");
  open_database("missing");
  leveldb_options_set_create_if_missing(options, 1);
  open_database("created");
  leveldb_t *second = leveldb_open(options, path, &error);
  printf("%d ", second == NULL);
  print_error("twice");
  leveldb_close(db);
  leveldb_options_set_error_if_exists(options, 1);
  open_database("exists");
  leveldb_options_set_error_if_exists(options, 0);
  char deeper[4200];
  snprintf(deeper, sizeof deeper, "%s/no/such/parent", path);
  second = leveldb_open(options, deeper, &error);
  printf("%d %d", second == NULL, error != NULL);
  leveldb_free(error);
  error = NULL;
  open_database("\nagain");
}

static void single_records(void) {
  phase("single records");
  get_text("a");
  put("a", "1");
  put("a", "2");
  put("", "empty key");
  put("empty value", "");
  leveldb_put(db, write_options, "\0\xff\0", 3, "\0\1\0", 3, &error);
  print_error("binary");
  leveldb_delete(db, write_options, "none", 4, &error);
  print_error("absent");
  get_text("a");
  get_text("");
  get_text("empty value");
  get("\0\xff\0", 3);
  leveldb_delete(db, write_options, "a", 1, &error);
  get_text("a");
  leveldb_writeoptions_set_sync(write_options, 1);
  put("synced", "yes");
  leveldb_writeoptions_set_sync(write_options, 0);
  print_all();
}

static void print_put(void *state, const char *key, size_t key_len, const char *value,
                      size_t value_len) {
  printf("  %s puts ", (const char *)state);
  print_bytes(key, key_len);
  printf(" = ");
  print_bytes(value, value_len);
  printf("\n");
}

static void print_delete(void *state, const char *key, size_t key_len) {
  printf("  %s deletes ", (const char *)state);
  print_bytes(key, key_len);
  printf("\n");
}

static void batches(void) {
  phase("batches");
  leveldb_writebatch_t *batch = leveldb_writebatch_create();
  leveldb_write(db, write_options, batch, &error);
  print_error("empty");
  leveldb_writebatch_put(batch, "a", 1, "first", 5);
  leveldb_writebatch_put(batch, "b", 1, "first", 5);
  leveldb_writebatch_delete(batch, "a", 1);
  leveldb_writebatch_put(batch, "a", 1, "last", 4);
  leveldb_writebatch_delete(batch, "b", 1);
  leveldb_writebatch_delete(batch, "never", 5);
  leveldb_writebatch_iterate(batch, "it", print_put, print_delete);
  leveldb_writebatch_t *more = leveldb_writebatch_create();
  leveldb_writebatch_put(more, "c", 1, "", 0);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, "appended", print_put, print_delete);
  leveldb_write(db, write_options, batch, &error);
  print_error("written");
  leveldb_write(db, write_options, batch, &error);
  print_error("written twice");
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_iterate(batch, "cleared", print_put, print_delete);
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(more);
  print_all();
}

static void iterators(void) {
  phase("iterators");
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read_options);
  print_position(iterator);
  const char *targets[] = {"", "a", "aa", "c", "synced", "t", "\xff"};
  for (int at = 0; at < 7; at++) {
    leveldb_iter_seek(iterator, targets[at], strlen(targets[at]));
    printf("seek %d", at);
    print_position(iterator);
    if (leveldb_iter_valid(iterator)) {
      leveldb_iter_prev(iterator);
      print_position(iterator);
    }
    leveldb_iter_seek(iterator, targets[at], strlen(targets[at]));
    if (leveldb_iter_valid(iterator)) {
      leveldb_iter_next(iterator);
      print_position(iterator);
    }
  }
  leveldb_iter_seek_to_first(iterator);
  leveldb_iter_next(iterator);
  leveldb_iter_next(iterator);
  leveldb_iter_prev(iterator);
  print_position(iterator);
  put("b", "after the iterator");
  leveldb_delete(db, write_options, "a", 1, &error);
  leveldb_iter_seek(iterator, "a", 1);
  print_position(iterator);
  leveldb_iter_next(iterator);
  print_position(iterator);
  leveldb_iter_destroy(iterator);
  print_all();
}

static void snapshots(void) {
  phase("snapshots");
  const leveldb_snapshot_t *kept[5];
  for (int at = 0; at < 5; at++) {
    char text[2] = {(char)('0' + at), 0};
    put("changing", text);
    kept[at] = leveldb_create_snapshot(db);
  }
  leveldb_delete(db, write_options, "changing", 8, &error);
  const int order[5] = {2, 0, 4, 1, 3};
  for (int at = 0; at < 5; at++) {
    leveldb_readoptions_set_snapshot(read_options, kept[order[at]]);
    get_text("changing");
    if (order[at] == 4) print_all();
    leveldb_release_snapshot(db, kept[order[at]]);
  }
  leveldb_readoptions_set_snapshot(read_options, NULL);
  get_text("changing");
}

static void many_records(void) {
  phase("many records");
  for (int round = 0; round < 3; round++) {
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    for (int number = 0; number < 20000; number++) {
      char key[20], value[300];
      int key_len = snprintf(key, sizeof key, "n%07d", number * 7919 % 20000);
      memset(value, 'a' + (number + round) % 26, sizeof value);
      size_t value_len = (size_t)(number * 31 + round) % sizeof value;
      if (number % 7 == round) {
        leveldb_writebatch_delete(batch, key, (size_t)key_len);
      } else {
        leveldb_writebatch_put(batch, key, (size_t)key_len, value, value_len);
      }
      if (number % 1000 == 999) {
        leveldb_write(db, write_options, batch, &error);
        if (error != NULL) print_error("write");
        leveldb_writebatch_clear(batch);
      }
    }
    leveldb_writebatch_destroy(batch);
    print_digest();
  }
  char *large = malloc(3000000);
  for (int at = 0; at < 3000000; at++) large[at] = (char)(at * 31 >> 3);
  for (size_t len = 1; len <= 3000000; len *= 12) {
    leveldb_put(db, write_options, "large", 5, large, len, &error);
    get_text("large");
  }
  for (size_t len = 100; len <= 100000; len *= 4) {
    leveldb_put(db, write_options, large, len, "long key", 8, &error);
    print_error("long key");
    get(large, len);
  }
  free(large);
  print_digest();
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_compact_range(db, "n0001", 5, "n0002", 5);
  leveldb_compact_range(db, "z", 1, "a", 1);
  print_digest();
  leveldb_close(db);
  open_database("reopened");
  print_digest();
}

static void properties(void) {
  phase("properties");
  const char *names[] = {"leveldb.stats", "leveldb.sstables",
                         "leveldb.num-files-at-level0", "leveldb.num-files-at-level6",
                         "leveldb.num-files-at-level7", "leveldb.num-files-at-levelx",
                         "leveldb.approximate-memory-usage", "leveldb.", "stats", ""};
  for (int at = 0; at < 10; at++) {
    char *value = leveldb_property_value(db, names[at]);
    printf("%s: %d\n", names[at], value != NULL);
    leveldb_free(value);
  }
  const char *starts[3] = {"n0000000", "z", "b"};
  const char *limits[3] = {"n9", "n", "b"};
  size_t start_lens[3] = {8, 1, 1}, limit_lens[3] = {2, 1, 1};
  uint64_t sizes[3];
  leveldb_approximate_sizes(db, 3, starts, start_lens, limits, limit_lens, sizes);
  printf("sizes: %d %d %d\n", sizes[0] > 0, sizes[1] == 0, sizes[2] == 0);
}

static int compare_reversed(void *state, const char *a, size_t a_len, const char *b,
                            size_t b_len) {
  (void)state;
  size_t common = a_len < b_len ? a_len : b_len;
  int order = memcmp(b, a, common);
  return order != 0 ? order : (a_len < b_len) - (a_len > b_len);
}

static const char *reversed_name(void *state) {
  (void)state;
  return "a name with \"signs\", and far more than sixty-four bytes in it: 0123456789";
}

static void nothing(void *state) { (void)state; }

static void comparators(void) {
  phase("comparators");
  leveldb_close(db);
  leveldb_comparator_t *reversed =
      leveldb_comparator_create(NULL, nothing, compare_reversed, reversed_name);
  leveldb_options_set_comparator(options, reversed);
  open_database("another comparator");
  leveldb_destroy_db(options, path, &error);
  print_error("destroyed");
  open_database("reversed");
  const char *keys[] = {"b", "a", "ab", "", "c", "b"};
  for (int at = 0; at < 6; at++) {
    char text[2] = {(char)('0' + at), 0};
    put(keys[at], text);
  }
  print_all();
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read_options);
  const char *targets[] = {"d", "bb", "aa", ""};
  for (int at = 0; at < 4; at++) {
    leveldb_iter_seek(iterator, targets[at], strlen(targets[at]));
    print_position(iterator);
  }
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
  leveldb_options_t *ordinary = leveldb_options_create();
  db = leveldb_open(ordinary, path, &error);
  print_error("without it");
  leveldb_options_destroy(ordinary);
  open_database("with it");
  print_all();
  leveldb_close(db);
  leveldb_destroy_db(options, path, &error);
  print_error("destroyed");
  leveldb_options_destroy(options);
  leveldb_comparator_destroy(reversed);
  options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
}

static void repair_and_destroy(void) {
  phase("repair");
  open_database("new");
  for (int number = 0; number < 1000; number++) {
    char key[20];
    snprintf(key, sizeof key, "%d", number);
    put(key, key);
  }
  leveldb_close(db);
  leveldb_repair_db(options, path, &error);
  print_error("repair");
  open_database("repaired");
  print_digest();
  leveldb_destroy_db(options, path, &error);
  print_error("destroy while open");
  leveldb_close(db);
  leveldb_destroy_db(options, path, &error);
  print_error("destroy");
  leveldb_destroy_db(options, path, &error);
  print_error("destroy twice");
  leveldb_options_set_create_if_missing(options, 0);
  open_database("gone");
  leveldb_options_set_create_if_missing(options, 1);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  snprintf(path, sizeof path, "%s/db", arguments[1]);
  options = leveldb_options_create();
  read_options = leveldb_readoptions_create();
  write_options = leveldb_writeoptions_create();
  leveldb_filterpolicy_t *filter = leveldb_filterpolicy_create_bloom(10);
  leveldb_cache_t *cache = leveldb_cache_create_lru(1 << 20);
  leveldb_options_set_filter_policy(options, filter);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_write_buffer_size(options, 1 << 18);
  leveldb_readoptions_set_verify_checksums(read_options, 1);
  printf("%d.%d\n", leveldb_major_version(), leveldb_minor_version());
  open_and_refuse();
  single_records();
  batches();
  iterators();
  snapshots();
  many_records();
  properties();
  comparators();
  repair_and_destroy();
  open_database("last");
  put("a", "1");
  print_all();
  leveldb_close(db);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(read_options);
  leveldb_writeoptions_destroy(write_options);
  leveldb_cache_destroy(cache);
  leveldb_filterpolicy_destroy(filter);
  return 0;
}
