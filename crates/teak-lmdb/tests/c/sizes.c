/* Values of several sizes in a database whose flags promise one size, and reserved values of keys
 * that can have several. */
#include "common.h"

static MDB_val key, data;

static void pass(const char *k, const char *d)
{
    key = val(k);
    data = val(d);
}

#define WITH(k, d, call) do { \
        int with_rc; \
        pass(k, d); \
        with_rc = (call); \
        printf("%s %s %s: %s ", k, d, #call, code(with_rc)); \
        print_val(&data); \
        printf("\n"); \
    } while (0)

static void fixed(MDB_env *env, const char *name, unsigned flags, int count)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    char text[16];
    int i;

    printf("%s, %d\n", name, count);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, name, flags | MDB_CREATE, &dbi));
    for (i = 0; i < count; i++) {
        sprintf(text, "%04d", i * 7 % count);
        WITH("many", text, mdb_put(txn, dbi, &key, &data, 0));
    }
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    WITH("b", "abcdefghijkl", mdb_put(txn, dbi, &key, &data, 0));
    mdb_txn_abort(txn);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    WITH("b", "abcdefghijkl", mdb_put(txn, dbi, &key, &data, 0));
    WITH("b", "abcdefghijkl", mdb_put(txn, dbi, &key, &data, MDB_NODUPDATA));
    WITH("b", "bbcdefghijkl", mdb_put(txn, dbi, &key, &data, 0));
    WITH("d", "abcdefgh", mdb_put(txn, dbi, &key, &data, 0));
    WITH("d", "abcdefgz", mdb_put(txn, dbi, &key, &data, 0));
    WITH("d", "abcdefga", mdb_put(txn, dbi, &key, &data, 0));
    WITH("many", "9999", mdb_put(txn, dbi, &key, &data, 0));
    print_all(txn, dbi);
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    WITH("b", "bbcdefghijkl", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH));
    WITH("d", "abcdefgh", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH));
    WITH("d", "abcdefgh", mdb_del(txn, dbi, &key, &data));
    WITH("many", "0001", mdb_del(txn, dbi, &key, &data));
    WITH("e", "x", mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    print_all(txn, dbi);
    MUST(mdb_txn_commit(txn));
}

static void reserve(MDB_env *env)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    printf("reserve\n");
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "reserve", MDB_DUPSORT | MDB_CREATE, &dbi));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    key = val("a");
    data.mv_size = 3;
    data.mv_data = NULL;
    MUST(mdb_put(txn, dbi, &key, &data, MDB_RESERVE));
    memcpy(data.mv_data, "xyz", 3);
    print_all(txn, dbi);
    key = val("b");
    data.mv_size = 3;
    MUST(mdb_cursor_put(cursor, &key, &data, MDB_RESERVE));
    memcpy(data.mv_data, "xyw", 3);
    SHOW(mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT));
    print_val(&data);
    SHOW(mdb_cursor_get(cursor, &key, &data, MDB_NEXT));
    WITH("b", "abc", mdb_put(txn, dbi, &key, &data, 0));
    print_all(txn, dbi);
    key = val("c");
    data.mv_size = 3;
    MUST(mdb_cursor_put(cursor, &key, &data, MDB_RESERVE | MDB_NOOVERWRITE | MDB_APPEND));
    memcpy(data.mv_data, "ccc", 3);
    SHOW(mdb_cursor_get(cursor, &key, &data, MDB_PREV));
    print_val(&data);
    key = val("d");
    data.mv_size = 3;
    MUST(mdb_put(txn, dbi, &key, &data, MDB_RESERVE | MDB_NODUPDATA));
    memcpy(data.mv_data, "ddd", 3);
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    print_all(txn, dbi);
    MUST(mdb_txn_commit(txn));
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    fixed(env, "fixed", MDB_DUPSORT | MDB_DUPFIXED, 3);
    fixed(env, "integers", MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP, 3);
    fixed(env, "many", MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP, 1500);
    reserve(env);
    mdb_env_close(env);
    return 0;
}
