// Counts the records of the directory that is the argument, or prints why it cannot be opened.

#include <stdio.h>

#include "leveldb/c.h"

int main(int count, char **arguments) {
  char *error = NULL;
  leveldb_options_t *options = leveldb_options_create();
  leveldb_t *db = leveldb_open(options, arguments[count - 1], &error);
  if (error != NULL) {
    puts(error);
    return 0;
  }
  leveldb_readoptions_t *read = leveldb_readoptions_create();
  leveldb_iterator_t *iterator = leveldb_create_iterator(db, read);
  int records = 0;
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    records++;
  }
  printf("%d records", records);
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
  return 0;
}
