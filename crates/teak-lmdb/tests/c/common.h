/* Functions of the programs that run with LMDB and with the library. The programs print the results
 * of their calls, which must be equal. */
#include <lmdb.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>
#ifdef _WIN32
#include <direct.h>
#define mkdir(path, mode) _mkdir(path)
#else
#include <sys/wait.h>
#endif

static const char *code(int rc)
{
    static char number[32];
    switch (rc) {
    case 0: return "0";
    case EINVAL: return "EINVAL";
    case EACCES: return "EACCES";
    case EBUSY: return "EBUSY";
    case MDB_KEYEXIST: return "MDB_KEYEXIST";
    case MDB_NOTFOUND: return "MDB_NOTFOUND";
    case MDB_CORRUPTED: return "MDB_CORRUPTED";
    case MDB_PANIC: return "MDB_PANIC";
    case MDB_INVALID: return "MDB_INVALID";
    case MDB_MAP_FULL: return "MDB_MAP_FULL";
    case MDB_READERS_FULL: return "MDB_READERS_FULL";
    case MDB_INCOMPATIBLE: return "MDB_INCOMPATIBLE";
    case MDB_BAD_RSLOT: return "MDB_BAD_RSLOT";
    case MDB_BAD_TXN: return "MDB_BAD_TXN";
    case MDB_BAD_VALSIZE: return "MDB_BAD_VALSIZE";
    case MDB_BAD_DBI: return "MDB_BAD_DBI";
    }
    snprintf(number, sizeof number, "%d", rc);
    return number;
}

/* Ends the program unless the call succeeds. */
#define MUST(call) do { \
        int must_rc = (call); \
        if (must_rc) { \
            printf("line %d: %s: %s\n", __LINE__, #call, code(must_rc)); \
            exit(1); \
        } \
    } while (0)

/* Prints the result of a call. */
#define SHOW(call) printf("%s: %s\n", #call, code(call))

static __attribute__((unused)) MDB_val val(const char *text)
{
    MDB_val v = { strlen(text), (void *)text };
    return v;
}

static void print_val(const MDB_val *v)
{
    size_t i;
    const unsigned char *bytes = v->mv_data;
    for (i = 0; i < v->mv_size; i++)
        printf(bytes[i] >= ' ' && bytes[i] < 127 ? "%c" : "\\%02x", bytes[i]);
}

/* All records of a database. */
static __attribute__((unused)) void print_all(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_cursor *cursor;
    MDB_val key, data;
    int rc;
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    printf("   ");
    while (!(rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT))) {
        printf(" ");
        print_val(&key);
        printf("=");
        print_val(&data);
    }
    printf(" %s\n", code(rc));
    mdb_cursor_close(cursor);
}

static __attribute__((unused)) MDB_env *opened(const char *path, unsigned flags)
{
    MDB_env *env;
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxdbs(env, 8));
    MUST(mdb_env_set_mapsize(env, 1 << 24));
    mkdir(path, 0755);
    MUST(mdb_env_open(env, path, flags, 0644));
    return env;
}
