/* Compressed databases: their creation, what is reported, and wrong options. */
#include "common.h"
#include <sys/stat.h>

static teak_code open_with(const char *path, uint32_t compression, uint32_t level, teak_db *db) {
  teak_options options = {.size = sizeof options, .compression = compression, .compression_level = level,
                          .decoded_cache_bytes = 1 << 20};
  return teak_db_open(path, &options, db, &error);
}

static void reported(teak_db db, uint64_t compression, uint64_t level) {
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_db_get_stat(db, &stat, &error));
  assert(stat.compression == compression && stat.compression_level == level);
  assert(stat.page_size == (compression ? 32768 : 4096));
}

static long long disk_bytes(const char *path) {
  struct stat found;
  assert(stat(path, &found) == 0);
  return (long long)found.st_blocks * 512;
}

static long long filled(const char *path, uint32_t compression, uint32_t level, uint64_t reported_level) {
  teak_db db;
  check(open_with(path, compression, level, &db));
  reported(db, compression, reported_level);
  teak_txn txn = begin_write(db);
  teak_table table = create(txn, "words");
  for (unsigned i = 0; i < 20000; i++) {
    char key[16], value[128];
    int key_len = sprintf(key, "%08u", i);
    int value_len = sprintf(value, "the value of record %u has words that many values have", i);
    check(teak_insert(txn, table, (teak_slice){key, (size_t)key_len}, (teak_slice){value, (size_t)value_len}, &error));
  }
  check(teak_txn_commit(txn, NULL, &error));
  check(teak_db_close(db, &error));
  return disk_bytes(path);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const char *directory = argv[1];
  const char *lz4 = path_of(directory, "lz4.teak");
  long long plain = filled(path_of(directory, "plain.teak"), TEAK_COMPRESSION_NONE, 0, 0);
  assert(filled(lz4, TEAK_COMPRESSION_LZ4, 0, 0) * 2 < plain);
  assert(filled(path_of(directory, "zstd.teak"), TEAK_COMPRESSION_ZSTD, 0, 3) * 3 < plain);
  assert(filled(path_of(directory, "high.teak"), TEAK_COMPRESSION_ZSTD, 19, 19) * 3 < plain);

  /* An existing database is what it is, and so is its dense copy. */
  teak_db db;
  check(open_with(lz4, TEAK_COMPRESSION_ZSTD, 5, &db));
  reported(db, TEAK_COMPRESSION_LZ4, 0);
  const char *copy = path_of(directory, "copy.teak");
  check(teak_db_backup_compact_encrypted(db, copy, NULL, NULL, NULL, &error));
  check(teak_db_close(db, &error));
  check(open_with(copy, TEAK_COMPRESSION_NONE, 0, &db));
  reported(db, TEAK_COMPRESSION_LZ4, 0);
  check(teak_db_close(db, &error));

  const char *none = path_of(directory, "none.teak");
  assert(open_with(none, 3, 0, &db) == TEAK_INVALID_ARGUMENT);
  assert(open_with(none, TEAK_COMPRESSION_ZSTD, 20, &db) == TEAK_INVALID_ARGUMENT);
  assert(open_with(none, TEAK_COMPRESSION_LZ4, 1, &db) == TEAK_INVALID_ARGUMENT);
  return 0;
}
