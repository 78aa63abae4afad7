/* Writes and reads a record in the directory that is the argument. */

#include <stdio.h>
#include <string.h>

#include "leveldb/c.h"

int main(int count, char **arguments) {
  char *error = NULL;
  leveldb_options_t *options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_t *db = leveldb_open(options, arguments[count - 1], &error);
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  leveldb_writeoptions_t *write = leveldb_writeoptions_create();
  leveldb_put(db, write, "key", 3, "value", 5, &error);
  leveldb_readoptions_t *read = leveldb_readoptions_create();
  size_t len = 0;
  char *value = leveldb_get(db, read, "key", 3, &len, &error);
  int is_found = error == NULL && value != NULL && len == 5 && memcmp(value, "value", 5) == 0;
  leveldb_free(value);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
  leveldb_close(db);
  leveldb_options_destroy(options);
  return is_found ? 0 : 1;
}
