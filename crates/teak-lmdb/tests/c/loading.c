/* The calls of `mdb_load -a`: records are appended under a comparison that always returns
 * "greater", and then read under another one. */
#include "common.h"

static int greater(const MDB_val *a, const MDB_val *b)
{
    (void)a;
    (void)b;
    return 1;
}

static void load(MDB_env *env, const char *name, unsigned flags, int count)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, data;
    char k[16], v[16], last[16] = "";
    int i, rc = 0;
    size_t found = 0;
    MDB_stat stat;

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, name, flags | MDB_CREATE, &dbi));
    MUST(mdb_set_compare(txn, dbi, greater));
    if (flags & MDB_DUPSORT)
        MUST(mdb_set_dupsort(txn, dbi, greater));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    for (i = 0; !rc && i < count; i++) {
        unsigned append = MDB_APPEND;
        sprintf(k, "%06d", flags & MDB_DUPSORT ? i / 300 : i);
        sprintf(v, "%06d", i);
        if (flags & MDB_DUPSORT && !strcmp(k, last))
            append = MDB_CURRENT | MDB_APPENDDUP;
        strcpy(last, k);
        key = val(k);
        data = val(v);
        rc = mdb_cursor_put(cursor, &key, &data, append);
        if (i % 500 == 499) {
            mdb_cursor_close(cursor);
            MUST(mdb_txn_commit(txn));
            MUST(mdb_txn_begin(env, NULL, 0, &txn));
            MUST(mdb_cursor_open(txn, dbi, &cursor));
            if (flags & MDB_DUPSORT)
                MUST(mdb_cursor_get(cursor, &key, &data, MDB_LAST));
        }
    }
    printf("%s: %d put, %s\n", name, i, code(rc));
    MUST(mdb_stat(txn, dbi, &stat));
    printf("%d\n", (int)stat.ms_entries);
    mdb_cursor_close(cursor);
    MUST(mdb_txn_commit(txn));

    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    for (i = 0; !(rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT)); i++) {
        sprintf(v, "%06d", i);
        found += !memcmp(data.mv_data, v, 6);
    }
    printf("%d read, %d in their order, %s\n", i, (int)found, code(rc));
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

/* Another environment, without the comparison that returns "greater". */
static void look(const char *name, int is_multi)
{
    MDB_env *env = opened("db", 0);
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key, data;
    char k[16];
    int i, found = 0;

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, name, 0, &dbi));
    for (i = 0; i < 1500; i++) {
        sprintf(k, "%06d", is_multi ? i / 300 : i);
        key = val(k);
        found += !mdb_get(txn, dbi, &key, &data);
    }
    printf("%s: %d found\n", name, found);
    key = val("0000005");
    data = val("new");
    SHOW(mdb_put(txn, dbi, &key, &data, 0));
    SHOW(mdb_get(txn, dbi, &key, &data));
    key = val("000003");
    SHOW(mdb_del(txn, dbi, &key, NULL));
    MUST(mdb_txn_commit(txn));
    mdb_env_close(env);
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    load(env, "single", 0, 1500);
    load(env, "multi", MDB_DUPSORT, 1500);
    mdb_env_close(env);
    look("single", 0);
    look("multi", 1);
    return 0;
}
