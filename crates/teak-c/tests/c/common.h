/* Helpers of the test programs. Each program receives a directory, and ends with 0 on success. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <teak.h>

static teak_error error = {.size = sizeof error};

#define check(answer) check_at((answer), #answer, __FILE__, __LINE__)

static inline void check_at(teak_code code, const char *call, const char *file, int line) {
  if (code == TEAK_OK) return;
  fprintf(stderr, "%s:%d: %s answers %d: %s\n", file, line, call, (int)code,
          code == TEAK_NONE ? "none" : error.message);
  abort();
}

/* Checks a result, and that the error has the same code. */
#define refused(answer, expected) refused_at((answer), (expected), #answer, __FILE__, __LINE__)

static inline void refused_at(teak_code code, teak_code expected, const char *call, const char *file, int line) {
  if (code == expected && error.code == (int32_t)expected && error.message[0] != 0) {
    error.code = 0;
    error.message[0] = 0;
    return;
  }
  fprintf(stderr, "%s:%d: %s answers %d and not %d: %s\n", file, line, call, (int)code, (int)expected, error.message);
  abort();
}

/* A path in the directory of the program. */
static inline const char *path_of(const char *directory, const char *name) {
  static char paths[8][4096];
  static unsigned next = 0;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}

static inline teak_db open_at(const char *path) {
  teak_db db;
  check(teak_db_open(path, NULL, &db, &error));
  return db;
}

static inline teak_txn begin_read(teak_db db) {
  teak_txn txn;
  check(teak_txn_begin_read(db, &txn, &error));
  return txn;
}

static inline teak_txn begin_write(teak_db db) {
  teak_txn txn;
  check(teak_txn_begin_write(db, &txn, &error));
  return txn;
}

static inline teak_table create(teak_txn txn, const char *name) {
  teak_table table;
  check(teak_table_create(txn, teak_text(name), NULL, &table, &error));
  return table;
}

static inline bool is_text(teak_slice slice, const char *text) {
  return slice.len == strlen(text) && (slice.len == 0 || memcmp(slice.data, text, slice.len) == 0);
}
