/* Keys from each source, ciphers, wrong keys, and copies with another key or none. */
#include "common.h"
#include <sys/stat.h>

static const char mark[] = "nobody may read this";

static void write_file(const char *path, const char *content) {
  FILE *file = fopen(path, "w");
  assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
  assert(chmod(path, 0600) == 0);
}

static bool is_in_clear(const char *path) {
  FILE *file = fopen(path, "r");
  assert(file);
  static char content[1 << 20];
  size_t len = fread(content, 1, sizeof content, file);
  assert(fclose(file) == 0 && len > 0 && len < sizeof content);
  for (size_t at = 0; at + sizeof mark - 1 <= len; at++)
    if (memcmp(content + at, mark, sizeof mark - 1) == 0) return true;
  return false;
}

static teak_code open_with(const char *path, const teak_encryption *encryption, teak_db *db) {
  teak_options options = {.size = sizeof options, .encryption = encryption};
  return teak_db_open(path, &options, db, &error);
}

static void fill(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table table = create(txn, "words");
  check(teak_insert(txn, table, teak_text("key"), teak_text(mark), &error));
  check(teak_txn_commit(txn, NULL, &error));
}

static uint64_t cipher_of(teak_db db) {
  teak_db_stat stat = {.size = sizeof stat};
  check(teak_db_get_stat(db, &stat, &error));
  return stat.cipher;
}

/* The record is there, and the cipher is as expected. */
static void reads(const char *path, const teak_encryption *encryption, uint64_t cipher) {
  teak_db db;
  teak_table table;
  teak_slice value;
  check(open_with(path, encryption, &db));
  assert(cipher_of(db) == cipher);
  teak_txn txn = begin_read(db);
  check(teak_table_open(txn, teak_text("words"), &table, &error));
  check(teak_get(txn, table, teak_text("key"), &value, &error));
  assert(is_text(value, mark));
  check(teak_txn_end(txn, &error));
  check(teak_db_close(db, &error));
}

static void create_encrypted(const char *path, const teak_encryption *encryption, uint64_t cipher) {
  teak_db db;
  check(open_with(path, encryption, &db));
  fill(db);
  check(teak_db_close(db, &error));
  assert(!is_in_clear(path));
  reads(path, encryption, cipher);
}

static int calls = 0;

static int give_key(void *user, teak_slice database_id, void *key) {
  assert(database_id.len == 16);
  calls++;
  if (!user) return 5;
  memcpy(key, user, TEAK_KEY_LEN);
  return 0;
}

static void sources(const char *directory) {
  unsigned char bytes[TEAK_KEY_LEN] = {1, 2, 3};
  teak_encryption given = {.size = sizeof given, .key = {bytes, sizeof bytes}};
  const char *path = path_of(directory, "bytes.teak");
  create_encrypted(path, &given, TEAK_CIPHER_AES_256_GCM);
  teak_encryption asked = {.size = sizeof asked, .on_key = give_key, .key_user = bytes};
  reads(path, &asked, TEAK_CIPHER_AES_256_GCM);
  assert(calls > 0);
  char digits[2 * TEAK_KEY_LEN + 1];
  for (size_t i = 0; i < sizeof bytes; i++) sprintf(digits + 2 * i, "%02x", bytes[i]);
  assert(setenv("TEAK_TEST_KEY", digits, 1) == 0);
  teak_encryption variable = {.size = sizeof variable, .key_env = "TEAK_TEST_KEY"};
  reads(path, &variable, TEAK_CIPHER_AES_256_GCM);

  const char *key_file = path_of(directory, "a.key");
  check(teak_key_create(key_file, &error));
  refused(teak_key_create(key_file, &error), TEAK_FILE_EXISTS);
  struct stat found;
  assert(stat(key_file, &found) == 0 && (found.st_mode & 0777) == 0600);
  teak_encryption file = {.size = sizeof file, .key_file = key_file, .cipher = TEAK_CIPHER_XCHACHA20_POLY1305};
  path = path_of(directory, "file.teak");
  create_encrypted(path, &file, TEAK_CIPHER_XCHACHA20_POLY1305);

  teak_encryption words = {.size = sizeof words, .passphrase = teak_text("correct horse")};
  path = path_of(directory, "words.teak");
  create_encrypted(path, &words, TEAK_CIPHER_AES_256_GCM);
  const char *words_file = path_of(directory, "words");
  write_file(words_file, "correct horse\n");
  teak_encryption in_file = {.size = sizeof in_file, .passphrase_file = words_file};
  reads(path, &in_file, TEAK_CIPHER_AES_256_GCM);
}

static void refusals(const char *directory) {
  const char *path = path_of(directory, "refused.teak"), *plain = path_of(directory, "plain.teak");
  unsigned char bytes[TEAK_KEY_LEN] = {1}, others[TEAK_KEY_LEN] = {2};
  teak_encryption key = {.size = sizeof key, .key = {bytes, sizeof bytes}};
  teak_db db;
  create_encrypted(path, &key, TEAK_CIPHER_AES_256_GCM);
  check(teak_db_close(open_at(plain), &error));
  refused(teak_db_open(path, NULL, &db, &error), TEAK_KEY_NEEDED);
  assert(db.handle == 0);
  refused(open_with(plain, &key, &db), TEAK_NOT_ENCRYPTED);
  teak_encryption wrong = {.size = sizeof wrong, .key = {others, sizeof others}};
  refused(open_with(path, &wrong, &db), TEAK_WRONG_KEY);
  teak_encryption none = {.size = sizeof none, .on_key = give_key};
  refused(open_with(path, &none, &db), TEAK_KEY_UNAVAILABLE);
  teak_encryption missing = {.size = sizeof missing, .key_file = path_of(directory, "none.key")};
  refused(open_with(path, &missing, &db), TEAK_KEY_UNAVAILABLE);
  teak_encryption unset = {.size = sizeof unset, .key_env = "TEAK_TEST_KEY_THAT_IS_NOT_SET"};
  refused(open_with(path, &unset, &db), TEAK_KEY_UNAVAILABLE);
  teak_encryption empty = {.size = sizeof empty};
  refused(open_with(path, &empty, &db), TEAK_INVALID_ARGUMENT);
  teak_encryption two = key;
  two.on_key = give_key;
  refused(open_with(path, &two, &db), TEAK_INVALID_ARGUMENT);
  teak_encryption half = {.size = sizeof half, .key = {bytes, sizeof bytes / 2}};
  refused(open_with(path, &half, &db), TEAK_INVALID_ARGUMENT);
  teak_encryption unknown = key;
  unknown.cipher = 7;
  refused(open_with(path, &unknown, &db), TEAK_INVALID_ARGUMENT);
  teak_encryption unsized_key = {.key = {bytes, sizeof bytes}};
  refused(open_with(path, &unsized_key, &db), TEAK_INVALID_ARGUMENT);
}

static void copies(const char *directory) {
  const char *path = path_of(directory, "source.teak"), *plain = path_of(directory, "decrypted.teak");
  const char *other = path_of(directory, "other.teak"), *again = path_of(directory, "again.teak");
  unsigned char bytes[TEAK_KEY_LEN] = {1}, others[TEAK_KEY_LEN] = {2};
  teak_encryption key = {.size = sizeof key, .key = {bytes, sizeof bytes}, .cipher = TEAK_CIPHER_XCHACHA20_POLY1305};
  teak_encryption new_key = {.size = sizeof new_key, .key = {others, sizeof others}};
  teak_db db;
  create_encrypted(path, &key, TEAK_CIPHER_XCHACHA20_POLY1305);
  check(open_with(path, &key, &db));
  const char *same = path_of(directory, "same.teak");
  check(teak_db_backup_compact(db, same, NULL, NULL, &error));
  check(teak_db_backup_compact_encrypted(db, plain, NULL, NULL, NULL, &error));
  check(teak_db_backup_compact_encrypted(db, other, &new_key, NULL, NULL, &error));
  check(teak_db_close(db, &error));
  assert(is_in_clear(plain) && !is_in_clear(other));
  reads(same, &key, TEAK_CIPHER_XCHACHA20_POLY1305);
  reads(plain, NULL, TEAK_CIPHER_NONE);
  reads(other, &new_key, TEAK_CIPHER_XCHACHA20_POLY1305);
  db = open_at(plain);
  check(teak_db_backup_compact_encrypted(db, again, &new_key, NULL, NULL, &error));
  check(teak_db_close(db, &error));
  reads(again, &new_key, TEAK_CIPHER_AES_256_GCM);
}

static void backups(const char *directory) {
  const char *path = path_of(directory, "backed.teak"), *full = path_of(directory, "full.teak");
  const char *restored = path_of(directory, "restored.teak"), *saved = path_of(directory, "saved.teak");
  unsigned char bytes[TEAK_KEY_LEN] = {1};
  teak_encryption key = {.size = sizeof key, .key = {bytes, sizeof bytes}};
  teak_db db;
  create_encrypted(path, &key, TEAK_CIPHER_AES_256_GCM);
  check(open_with(path, &key, &db));
  check(teak_db_backup(db, full, NULL, NULL, &error));
  check(teak_db_close(db, &error));
  assert(!is_in_clear(full));
  refused(teak_restore(full, NULL, 0, restored, NULL, NULL, NULL, &error), TEAK_KEY_NEEDED);
  check(teak_restore_encrypted(full, NULL, 0, restored, &key, NULL, NULL, NULL, &error));
  reads(restored, &key, TEAK_CIPHER_AES_256_GCM);
  unsigned char others[TEAK_KEY_LEN] = {9};
  teak_encryption next = {.size = sizeof next, .key = {others, sizeof others}};
  check(open_with(restored, &key, &db));
  check(teak_db_change_key(db, &next, &error));
  check(teak_db_close(db, &error));
  refused(open_with(restored, &key, &db), TEAK_WRONG_KEY);
  reads(restored, &next, TEAK_CIPHER_AES_256_GCM);
  refused(teak_salvage(path, saved, NULL, NULL, &error), TEAK_KEY_NEEDED);
  teak_salvage_options options = {.size = sizeof options, .encryption = &key};
  teak_salvage_report report = {.size = sizeof report};
  check(teak_salvage(path, saved, &options, &report, &error));
  assert(report.is_complete == 1 && !is_in_clear(saved));
  reads(saved, &key, TEAK_CIPHER_AES_256_GCM);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  sources(argv[1]);
  refusals(argv[1]);
  copies(argv[1]);
  backups(argv[1]);
  return 0;
}
