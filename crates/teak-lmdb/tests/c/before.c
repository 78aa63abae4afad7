/* Calls before an environment is open, and cursors that outlive their read transaction. */
#include "common.h"
#include <stdint.h>

static int print_line(const char *line, void *context)
{
    printf("%s:%s", (char *)context, line);
    return 7;
}

int main(void)
{
    MDB_env *env, *created;
    MDB_txn *txn, *child, *reader;
    MDB_cursor *cursor, *other;
    MDB_dbi dbi;
    MDB_val key = val("a"), data = val("1");
    int dead = 5;
    mdb_filehandle_t fd = 0, none = (mdb_filehandle_t)(intptr_t)-1;
    unsigned number = 0;
    const char *path = "?";

    /* Calls that succeed before the environment is open. */
    MUST(mdb_env_create(&created));
    SHOW(mdb_reader_check(created, &dead));
    printf("%d dead\n", dead);
    SHOW(mdb_reader_check(created, NULL));
    SHOW(mdb_reader_list(created, print_line, "not open"));
    SHOW(mdb_env_get_flags(created, &number));
    printf("flags %x\n", number);
    SHOW(mdb_env_set_flags(created, MDB_NOSYNC, 1));
    SHOW(mdb_env_set_flags(created, MDB_NOLOCK, 1));
    SHOW(mdb_env_get_flags(created, &number));
    printf("flags %x\n", number);
    SHOW(mdb_env_get_maxreaders(created, &number));
    printf("%u readers\n", number);
    SHOW(mdb_env_get_path(created, &path));
    printf("path %s\n", path ? path : "null");
    SHOW(mdb_env_get_fd(created, &fd));
    printf("no fd: %d\n", fd == none);
    printf("largest key %d\n", mdb_env_get_maxkeysize(created));
    printf("context %d\n", mdb_env_get_userctx(created) == NULL);
    mdb_dbi_close(created, 1);
    mdb_dbi_close(created, 5);
    SHOW(mdb_env_set_mapsize(created, 1 << 20));
    SHOW(mdb_env_set_mapsize(created, 0));
    SHOW(mdb_env_open(created, "/nowhere/at/all", 0, 0644) != 0 ? 0 : 1);
    SHOW(mdb_reader_check(NULL, &dead));
    SHOW(mdb_reader_list(NULL, print_line, "null"));
    SHOW(mdb_reader_list(created, NULL, "null"));
    mdb_env_close(created);
    mdb_env_close(NULL);

    env = opened("db", 0);
    SHOW(mdb_reader_check(env, &dead));
    printf("%d dead\n", dead);
    SHOW(mdb_reader_list(env, print_line, "open"));

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_begin(env, txn, 0, &child));
    MUST(mdb_cursor_open(child, dbi, &other));
    MUST(mdb_txn_commit(child));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    MUST(mdb_cursor_get(cursor, &key, &data, MDB_FIRST));
    MUST(mdb_txn_commit(txn));

    /* A cursor outlives its read transaction. */
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader));
    MUST(mdb_cursor_open(reader, dbi, &cursor));
    MUST(mdb_cursor_get(cursor, &key, &data, MDB_FIRST));
    mdb_txn_abort(reader);
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader));
    SHOW(mdb_cursor_renew(reader, cursor));
    SHOW(mdb_cursor_get(cursor, &key, &data, MDB_NEXT));
    mdb_cursor_close(cursor);
    mdb_txn_abort(reader);
    mdb_env_close(env);
    return 0;
}
