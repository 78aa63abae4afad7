/* All functions of leveldb/c.h, in the directory that is the first argument. With ON_LEVELDB, for
   LevelDB itself, it leaves out what LevelDB does not define. */

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

static char path[4096];
static char *error = NULL;

static void check(const char *step) {
  if (error != NULL) {
    fprintf(stderr, "%s: %s\n", step, error);
    exit(1);
  }
}

/* The last call failed with a text that contains `part`. */
static void check_error(const char *part) {
  assert(error != NULL);
  if (strstr(error, part) == NULL) {
    fprintf(stderr, "no \"%s\" in: %s\n", part, error);
    exit(1);
  }
  leveldb_free(error);
  error = NULL;
}

static void check_get(leveldb_t *db, const leveldb_readoptions_t *options, const char *key,
                      const char *expected) {
  size_t len = 77;
  char *value = leveldb_get(db, options, key, strlen(key), &len, &error);
  check("get");
  if (expected == NULL) {
    assert(value == NULL && len == 0);
  } else {
    assert(value != NULL && len == strlen(expected) && memcmp(value, expected, len) == 0);
  }
  leveldb_free(value);
}

static void check_at(const leveldb_iterator_t *iterator, const char *key, const char *value) {
  size_t len;
  if (key == NULL) {
    assert(!leveldb_iter_valid(iterator));
    return;
  }
  assert(leveldb_iter_valid(iterator));
  const char *found = leveldb_iter_key(iterator, &len);
  assert(len == strlen(key) && memcmp(found, key, len) == 0);
  found = leveldb_iter_value(iterator, &len);
  assert(len == strlen(value) && memcmp(found, value, len) == 0);
}

static int puts_seen = 0;
static int deletes_seen = 0;

static void see_put(void *state, const char *key, size_t key_len, const char *value,
                    size_t value_len) {
  assert(state == path);
  assert(key_len == 3 && value_len == 1);
  assert(memcmp(key, puts_seen == 0 ? "bar" : "box", 3) == 0);
  assert(*value == (puts_seen == 0 ? 'b' : 'c'));
  puts_seen++;
}

static void see_delete(void *state, const char *key, size_t key_len) {
  assert(state == path);
  assert(key_len == 3 && memcmp(key, "bar", 3) == 0);
  deletes_seen++;
}

static int destroyed = 0;

static void count_destroyed(void *state) {
  assert(state == path);
  destroyed++;
}

static int compare_backwards(void *state, const char *a, size_t a_len, const char *b,
                             size_t b_len) {
  size_t common = a_len < b_len ? a_len : b_len;
  int order = memcmp(b, a, common);
  assert(state == path);
  return order != 0 ? order : (a_len < b_len) - (a_len > b_len);
}

static const char *backwards(void *state) {
  assert(state == path);
  return "backwards";
}

static char *create_filter(void *state, const char *const *keys, const size_t *lens, int count,
                           size_t *len) {
  (void)state, (void)keys, (void)lens, (void)count;
  *len = 4;
  char *filter = malloc(4);
  memcpy(filter, "fake", 4);
  return filter;
}

static uint8_t match(void *state, const char *key, size_t len, const char *filter,
                     size_t filter_len) {
  (void)state, (void)key, (void)len;
  return filter_len == 4 && memcmp(filter, "fake", 4) == 0;
}

int main(int count, char **arguments) {
  assert(count == 2);
  snprintf(path, sizeof path, "%s/db", arguments[1]);
  assert(leveldb_major_version() == 1 && leveldb_minor_version() == 23);

  leveldb_comparator_t *comparator =
      leveldb_comparator_create(path, count_destroyed, compare_backwards, backwards);
  leveldb_filterpolicy_t *policy =
      leveldb_filterpolicy_create(path, count_destroyed, create_filter, match, backwards);
  leveldb_env_t *env = leveldb_create_default_env();
  leveldb_cache_t *cache = leveldb_cache_create_lru(100000);
  leveldb_options_t *options = leveldb_options_create();
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_env(options, env);
#ifndef ON_LEVELDB
  leveldb_options_set_env(options, NULL);
#endif
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_max_open_files(options, 10);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 3 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_options_set_filter_policy(options, policy);
  leveldb_readoptions_t *read = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(read, 1);
  leveldb_readoptions_set_fill_cache(read, 0);
  leveldb_writeoptions_t *write = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(write, 1);

  leveldb_destroy_db(options, path, &error);
  check("destroying nothing");
  leveldb_t *db = leveldb_open(options, path, &error);
  assert(db == NULL);
  check_error("does not exist");
  leveldb_options_set_create_if_missing(options, 1);
  db = leveldb_open(options, path, &error);
  check("open");
  assert(leveldb_open(options, path, &error) == NULL);
  check_error("already held by process");

  check_get(db, read, "foo", NULL);
  leveldb_put(db, write, "foo", 3, "hello", 5, &error);
  check("put");
  leveldb_put(db, write, "", 0, "", 0, &error);
  check("put nothing");
  check_get(db, read, "foo", "hello");
  check_get(db, read, "", "");
  leveldb_delete(db, write, "", 0, &error);
  leveldb_delete(db, write, "not there", 9, &error);
  check("delete");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_compact_range(db, "a", 1, "z", 1);
  check_get(db, read, "foo", "hello");

  leveldb_writebatch_t *batch = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "foo", 3, "a", 1);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "bar", 3, "b", 1);
  leveldb_writebatch_put(batch, "box", 3, "c", 1);
  leveldb_writebatch_t *more = leveldb_writebatch_create();
  leveldb_writebatch_delete(more, "bar", 3);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_destroy(more);
  leveldb_write(db, write, batch, &error);
  check("write");
  check_get(db, read, "foo", "hello");
  check_get(db, read, "bar", NULL);
  check_get(db, read, "box", "c");
  leveldb_writebatch_iterate(batch, path, see_put, see_delete);
  assert(puts_seen == 2 && deletes_seen == 1);
  leveldb_writebatch_destroy(batch);

  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read);
  check_at(iterator, NULL, NULL);
  leveldb_iter_seek_to_first(iterator);
  check_at(iterator, "box", "c");
  leveldb_iter_next(iterator);
  check_at(iterator, "foo", "hello");
  leveldb_iter_prev(iterator);
  check_at(iterator, "box", "c");
  leveldb_iter_prev(iterator);
  check_at(iterator, NULL, NULL);
#ifndef ON_LEVELDB
  /* Undefined in LevelDB. */
  leveldb_iter_prev(iterator);
  leveldb_iter_next(iterator);
  check_at(iterator, NULL, NULL);
#endif
  leveldb_iter_seek_to_last(iterator);
  check_at(iterator, "foo", "hello");
  leveldb_iter_seek(iterator, "b", 1);
  check_at(iterator, "box", "c");
  leveldb_iter_seek(iterator, "g", 1);
  check_at(iterator, NULL, NULL);
  leveldb_iter_get_error(iterator, &error);
  check("iteration");

  const leveldb_snapshot_t *snapshot = leveldb_create_snapshot(db);
  leveldb_delete(db, write, "foo", 3, &error);
  check("delete");
  check_get(db, read, "foo", NULL);
  leveldb_readoptions_set_snapshot(read, snapshot);
  check_get(db, read, "foo", "hello");
  leveldb_readoptions_set_snapshot(read, NULL);
  check_get(db, read, "foo", NULL);
  leveldb_release_snapshot(db, snapshot);
  leveldb_iter_seek_to_last(iterator);
  check_at(iterator, "foo", "hello");
  leveldb_iter_destroy(iterator);

  char *property = leveldb_property_value(db, "no-such-property");
  assert(property == NULL);
  property = leveldb_property_value(db, "leveldb.stats");
  assert(property != NULL && strstr(property, "Compactions") != NULL);
  leveldb_free(property);
  property = leveldb_property_value(db, "leveldb.num-files-at-level6");
  assert(property != NULL && strcmp(property, "0") == 0);
  leveldb_free(property);
  assert(leveldb_property_value(db, "leveldb.num-files-at-level7") == NULL);
  property = leveldb_property_value(db, "leveldb.approximate-memory-usage");
  assert(property != NULL && strtoul(property, NULL, 10) > 0);
  leveldb_free(property);

  leveldb_writeoptions_set_sync(write, 0);
  for (int number = 0; number < 20000; number++) {
    char key[20], value[100];
    int key_len = snprintf(key, sizeof key, "k%08d", number);
    memset(value, number, sizeof value);
    leveldb_put(db, write, key, key_len, value, sizeof value, &error);
    check("put");
  }
  const char *starts[3] = {"a", "k00010000", "z"};
  size_t start_lens[3] = {1, 9, 1};
  const char *limits[3] = {"k00010000", "l", "a"};
  size_t limit_lens[3] = {9, 1, 1};
  uint64_t sizes[3];
  leveldb_approximate_sizes(db, 3, starts, start_lens, limits, limit_lens, sizes);
  assert(sizes[0] > 500000 && sizes[0] < 3000000);
  assert(sizes[1] > 500000 && sizes[1] < 3000000);
  assert(sizes[2] == 0);
  leveldb_close(db);

  leveldb_options_set_error_if_exists(options, 0);
  leveldb_options_set_comparator(options, comparator);
  assert(leveldb_open(options, path, &error) == NULL);
  check_error("leveldb.BytewiseComparator does not match existing comparator : backwards");
  leveldb_repair_db(options, path, &error);
  check("repair");
  leveldb_destroy_db(options, path, &error);
  check("destroy");
  db = leveldb_open(options, path, &error);
  check("open in another order");
  leveldb_put(db, write, "a", 1, "1", 1, &error);
  leveldb_put(db, write, "b", 1, "2", 1, &error);
  check("put");
  iterator = leveldb_create_iterator(db, read);
  leveldb_iter_seek_to_first(iterator);
  check_at(iterator, "b", "2");
  leveldb_iter_seek(iterator, "aa", 2);
  check_at(iterator, "a", "1");
  leveldb_iter_destroy(iterator);
  leveldb_close(db);

  char *directory = leveldb_env_get_test_directory(env);
  assert(directory != NULL);
  leveldb_free(directory);
  leveldb_filterpolicy_destroy(leveldb_filterpolicy_create_bloom(10));
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  assert(destroyed == 0);
  leveldb_comparator_destroy(comparator);
  leveldb_filterpolicy_destroy(policy);
  assert(destroyed == 2);
  return 0;
}
