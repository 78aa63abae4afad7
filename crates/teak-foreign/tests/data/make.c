/* Makes the files of this directory: `make DIRECTORY NAME`, compiled with the engine whose files they are to be (README.md).
   Beside each it writes NAME.expected: for each database its name, flags and records as the engine itself gives them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MDBX
#include "mdbx.h"
#define CALL(name) mdbx_##name
#define FLAG(name) MDBX_##name
typedef MDBX_env env_t;
typedef MDBX_txn txn_t;
typedef MDBX_dbi dbi_t;
typedef MDBX_val val_t;
typedef MDBX_cursor cursor_t;
#define AS_IT_IS MDBX_DB_ACCEDE
#define SIZE iov_len
#define DATA iov_base
#else
#include "lmdb.h"
#define CALL(name) mdb_##name
#define FLAG(name) MDB_##name
typedef MDB_env env_t;
typedef MDB_txn txn_t;
typedef MDB_dbi dbi_t;
typedef MDB_val val_t;
typedef MDB_cursor cursor_t;
#define AS_IT_IS 0
#define SIZE mv_size
#define DATA mv_data
#endif

#define CHECK(code) check((code), #code)

static env_t *env;
static txn_t *txn;
static uint64_t seed = 7;
static int is_large = 0;

static void check(int code, const char *what) {
  if (code != 0) {
    fprintf(stderr, "%s: %s\n", what, CALL(strerror)(code));
    exit(1);
  }
}

static uint32_t draw(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

static void open_env(const char *path) {
  size_t map_size = is_large ? 2048u << 20 : 16 << 20;
  CHECK(CALL(env_create)(&env));
#ifdef MDBX
  CHECK(mdbx_env_set_geometry(env, 0, -1, map_size, is_large ? 16 << 20 : 64 << 10, -1, 4096));
  CHECK(mdbx_env_set_maxdbs(env, 32));
  CHECK(mdbx_env_open(env, path, MDBX_NOSUBDIR, 0644));
#else
  CHECK(mdb_env_set_mapsize(env, map_size));
  CHECK(mdb_env_set_maxdbs(env, 32));
  CHECK(mdb_env_open(env, path, MDB_NOSUBDIR, 0644));
#endif
}

static void begin(void) {
#ifdef MDBX
  CHECK(mdbx_txn_begin(env, NULL, 0, &txn));
#else
  CHECK(mdb_txn_begin(env, NULL, 0, &txn));
#endif
}

static void commit(void) { CHECK(CALL(txn_commit)(txn)); }

static dbi_t table(const char *name, unsigned flags) {
  dbi_t dbi;
  CHECK(CALL(dbi_open)(txn, name, flags, &dbi));
  return dbi;
}

static void put(dbi_t dbi, const void *key, size_t key_len, const void *value, size_t value_len) {
  val_t k, v;
  k.SIZE = key_len;
  k.DATA = (void *)key;
  v.SIZE = value_len;
  v.DATA = (void *)value;
  int code = CALL(put)(txn, dbi, &k, &v, 0);
  if (code != FLAG(KEYEXIST))
    check(code, "put");
}

static void put_text(dbi_t dbi, const char *key, const char *value) {
  put(dbi, key, strlen(key), value, strlen(value));
}

static const unsigned create = FLAG(CREATE), several = FLAG(CREATE) | FLAG(DUPSORT);

static void fill(void) {
  char key[512], value[32768];
  uint32_t number;
  uint64_t wide;
  begin();
  dbi_t main_table = table(NULL, 0), plain = table("plain", create), deep = table("deep", create);
  dbi_t large = table("large", create), dups = table("dups", several);
  dbi_t fixed = table("fixed", several | FLAG(DUPFIXED)), ints = table("ints", create | FLAG(INTEGERKEY));
  table("empty", create);
  put_text(table("one", create), "key", "value");
  put_text(main_table, "note", "of the main one");
  put_text(main_table, "odd", "");
  memset(value, 'm', sizeof value);
  put(main_table, "run", 3, value, 9000);
  for (int i = 0; i < 500; i++) {
    snprintf(key, sizeof key, "key-%05u", draw(2000));
    snprintf(value, sizeof value, "value %u", draw(100000));
    put_text(plain, key, value);
  }
  for (int i = 0; i < 64; i++) {
    memset(key, 'a' + draw(26), 470);
    snprintf(key + 100, sizeof key - 100, "%u", draw(100000));
    key[strlen(key)] = '.';
    key[470] = 0;
    put_text(deep, key, "deep");
  }
  for (int i = 0; i < 5; i++) {
    static const unsigned lens[] = {1900, 2100, 4080, 4090, 12001};
    snprintf(key, sizeof key, "large-%u", lens[i]);
    memset(value, '0' + i, lens[i]);
    put(large, key, strlen(key), value, lens[i]);
  }
  put_text(dups, "single", "value");
  for (int i = 0; i < 300; i++) {
    snprintf(value, sizeof value, "value %0*u", 3 + i % 9, draw(1000));
    put_text(dups, i < 4 ? "few" : "many", value);
    wide = draw(1000000);
    put(fixed, i < 4 ? "few" : "much", 3 + (i >= 4), &wide, sizeof wide);
    wide = draw(1000000) * 3;
    put(fixed, "more", 4, &wide, sizeof wide);
    number = draw(100000);
    if (i < 100)
      put(ints, &number, sizeof number, "int", 3);
  }
  commit();
  begin();
  dbi_t longs = table("longs", create | FLAG(INTEGERKEY)), back = table("back", create | FLAG(REVERSEKEY));
  dbi_t dup_back = table("dup-back", several | FLAG(REVERSEDUP));
  dbi_t dup_ints = table("dup-ints", several | FLAG(INTEGERKEY) | FLAG(DUPFIXED) | FLAG(INTEGERDUP));
  for (int i = 0; i < 40; i++) {
    wide = (uint64_t)draw(1000) << draw(40);
    put(longs, &wide, sizeof wide, "long", 4);
    snprintf(key, sizeof key, "%u", draw(10000));
    put_text(back, key, "back");
    put_text(dup_back, i % 8 ? "x" : "y", key);
    number = i % 5;
    uint32_t of = draw(100000);
    put(dup_ints, &number, sizeof number, &of, sizeof of);
  }
  /* So that pages become free, and others thin. */
  for (int i = 0; i < 2000; i += 1 + i % 3) {
    val_t k;
    snprintf(key, sizeof key, "key-%05u", i);
    k.SIZE = strlen(key);
    k.DATA = key;
    int code = CALL(del)(txn, plain, &k, NULL);
    if (code != FLAG(NOTFOUND))
      check(code, "del");
  }
#ifdef MDBX
  uint64_t drawn;
  MDBX_canary canary = {840000, 7, 3, 0};
  CHECK(mdbx_dbi_sequence(txn, plain, &drawn, 42));
  CHECK(mdbx_canary_put(txn, &canary));
#endif
  commit();
}

/* By length first. */
static int by_length(const val_t *a, const val_t *b) {
  if (a->SIZE != b->SIZE)
    return a->SIZE < b->SIZE ? -1 : 1;
  return memcmp(a->DATA, b->DATA, a->SIZE);
}

static void fill_custom(void) {
  char key[32];
  begin();
#ifdef MDBX
  dbi_t custom;
  CHECK(mdbx_dbi_open_ex(txn, "custom", MDBX_CREATE, &custom, by_length, NULL));
#else
  dbi_t custom = table("custom", create);
  CHECK(mdb_set_compare(txn, custom, by_length));
#endif
  for (int i = 0; i < 30; i++) {
    snprintf(key, sizeof key, "%u", i * i);
    put_text(custom, key, "of an order of its own");
  }
  commit();
}

/* For measuring: random keys of 16 bytes, values of 100, in a hundred commits. */
static void fill_million(void) {
  uint32_t record[29];
  for (int i = 0; i < 100; i++) {
    begin();
    dbi_t dbi = table(NULL, 0);
    for (int j = 0; j < 10000; j++) {
      for (size_t k = 0; k < 29; k++)
        record[k] = draw(1u << 31);
      put(dbi, record, 16, record + 4, 100);
    }
    commit();
  }
}

static uint64_t hash = 0;

static void mix(const unsigned char *bytes, size_t len) {
  for (size_t i = 0; i < len; i++)
    hash = (hash ^ bytes[i]) * 1099511628211u;
}

static void mix_value(const val_t *value) {
  uint32_t len = (uint32_t)value->SIZE;
  mix((unsigned char *)&len, sizeof len);
  mix(value->DATA, value->SIZE);
}

static int is_name(const char *name) {
  static const char *const names[] = {"back", "custom", "deep", "dup-back", "dup-ints", "dups", "empty",
                                      "fixed", "ints", "large", "longs", "one", "plain"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return 1;
  return 0;
}

static void expect(FILE *expected, const char *name) {
  dbi_t dbi = table(name, AS_IT_IS);
  unsigned flags;
  cursor_t *cursor;
  val_t key, value;
  unsigned long records = 0;
#ifdef MDBX
  unsigned state;
  CHECK(mdbx_dbi_flags_ex(txn, dbi, &flags, &state));
#else
  CHECK(mdb_dbi_flags(txn, dbi, &flags));
#endif
  CHECK(CALL(cursor_open)(txn, dbi, &cursor));
  hash = 14695981039346656037u;
  while (CALL(cursor_get)(cursor, &key, &value, FLAG(NEXT)) == 0) {
    char text[32] = "";
    if (key.SIZE < sizeof text)
      memcpy(text, key.DATA, key.SIZE);
    if (name == NULL && is_name(text))
      continue;
    mix_value(&key);
    mix_value(&value);
    records++;
  }
  CALL(cursor_close)(cursor);
  fprintf(expected, "%s %#x %lu %016llx\n", name ? name : "-", flags, records, (unsigned long long)hash);
}

int main(int argc, char **argv) {
  char path[512];
  if (argc != 3)
    return 2;
  snprintf(path, sizeof path, "%s/%s", argv[1], argv[2]);
  remove(path);
  is_large = strstr(argv[2], "million") != NULL;
  open_env(path);
  if (strstr(argv[2], "custom"))
    fill_custom();
  else if (is_large)
    fill_million();
  else if (!strstr(argv[2], "empty"))
    fill();
  snprintf(path, sizeof path, "%s/%s.expected", argv[1], argv[2]);
  FILE *expected = fopen(path, "w");
  begin();
  expect(expected, NULL);
  static const char *const names[] = {"back", "custom", "deep", "dup-back", "dup-ints", "dups", "empty",
                                      "fixed", "ints", "large", "longs", "one", "plain"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    dbi_t dbi;
    if (CALL(dbi_open)(txn, names[i], AS_IT_IS, &dbi) == 0)
      expect(expected, names[i]);
  }
  CALL(txn_abort)(txn);
  fclose(expected);
  CALL(env_close)(env);
  return 0;
}
