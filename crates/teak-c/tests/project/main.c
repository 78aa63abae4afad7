/* Writes a record and reads it. */
#include <stdio.h>
#include <teak.h>

int main(int argc, char **argv) {
  teak_error error = {.size = sizeof error};
  teak_db db;
  teak_txn txn;
  teak_table table;
  teak_slice value;
  int is_good = argc == 2 && teak_db_open(argv[1], NULL, &db, &error) == TEAK_OK &&
                teak_txn_begin_write(db, &txn, &error) == TEAK_OK &&
                teak_table_create(txn, teak_text("words"), NULL, &table, &error) == TEAK_OK &&
                teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error) == TEAK_OK &&
                teak_get(txn, table, teak_text("ash"), &value, &error) == TEAK_OK && value.len == 1 &&
                teak_txn_commit(txn, NULL, &error) == TEAK_OK && teak_db_close(db, &error) == TEAK_OK;
  if (!is_good) fprintf(stderr, "%s\n", error.message);
  return !is_good;
}
