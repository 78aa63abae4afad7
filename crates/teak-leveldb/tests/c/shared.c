// Several processes open each new directory below the argument at the same time, and write. All
// records are in it afterwards, and are seen by a process that had it open before.

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <process.h>
#else
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "leveldb/c.h"

#define PROCESSES 4
#define ROUNDS 12

static leveldb_t *opened(const char *path) {
  char *error = NULL;
  leveldb_options_t *options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_t *db = leveldb_open(options, path, &error);
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
  leveldb_options_destroy(options);
  return db;
}

static void write_one(const char *path, char key) {
  char *error = NULL;
  leveldb_t *db = opened(path);
  leveldb_writeoptions_t *options = leveldb_writeoptions_create();
  leveldb_put(db, options, &key, 1, "value", 5, &error);
  assert(error == NULL);
  leveldb_writeoptions_destroy(options);
  leveldb_close(db);
}

// This program.
static const char *own_path;

#ifdef _WIN32
typedef intptr_t process_t;

static process_t start(const char *path, const char *key) {
  process_t process = _spawnl(_P_NOWAIT, own_path, "shared", path, key, (char *)NULL);
  assert(process != -1);
  return process;
}

static void wait_for(process_t process) {
  int status;
  assert(_cwait(&status, process, 0) == process && status == 0);
}
#else
typedef pid_t process_t;

static process_t start(const char *path, const char *key) {
  process_t process = fork();
  assert(process >= 0);
  if (process == 0) {
    // A child has its parent's state, and so cannot open what that has open.
    execl(own_path, "shared", path, key, (char *)NULL);
    _exit(1);
  }
  return process;
}

static void wait_for(process_t process) {
  int status;
  assert(waitpid(process, &status, 0) == process);
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

static void write_by_processes(const char *path) {
  process_t processes[PROCESSES];
  for (int number = 0; number < PROCESSES; number++) {
    const char key[2] = {(char)('a' + number), 0};
    processes[number] = start(path, key);
  }
  for (int number = 0; number < PROCESSES; number++) {
    wait_for(processes[number]);
  }
}

static void check_records(leveldb_t *db) {
  leveldb_readoptions_t *options = leveldb_readoptions_create();
  for (char key = 'a'; key < 'a' + PROCESSES; key++) {
    char *error = NULL;
    size_t len;
    char *value = leveldb_get(db, options, &key, 1, &len, &error);
    assert(error == NULL && value != NULL && len == 5 && memcmp(value, "value", 5) == 0);
    leveldb_free(value);
  }
  leveldb_readoptions_destroy(options);
}

int main(int count, char **arguments) {
#ifdef _WIN32
  own_path = arguments[0];
#else
  own_path = "/proc/self/exe";
#endif
  if (count == 3) {
    write_one(arguments[1], arguments[2][0]);
    return 0;
  }
  for (int round = 0; round < ROUNDS; round++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", arguments[1], round);
    // In every other round this process makes the database, and has it open meanwhile.
    leveldb_t *db = round % 2 == 0 ? NULL : opened(path);
    write_by_processes(path);
    db = db == NULL ? opened(path) : db;
    check_records(db);
    leveldb_close(db);
  }
  return 0;
}
