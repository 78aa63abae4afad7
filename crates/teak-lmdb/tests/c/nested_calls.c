/* A comparison that calls the library for another environment, which has an order of the client's
 * too. */
#include "common.h"

static MDB_txn *inner;
static MDB_dbi inner_dbi;
static const MDB_val *passed;
static int calls, others;

static int order(const MDB_val *a, const MDB_val *b)
{
    return memcmp(a->mv_data, b->mv_data, 4);
}

static int order_by_looking(const MDB_val *a, const MDB_val *b)
{
    MDB_val key = val("0004"), data;
    calls++;
    others += a != passed;
    MUST(mdb_get(inner, inner_dbi, &key, &data));
    return order(a, b);
}

static MDB_dbi fill(MDB_txn *txn, unsigned flags, MDB_cmp_func *compare)
{
    MDB_dbi dbi;
    char text[8];
    int i;
    MUST(mdb_dbi_open(txn, "d", flags | MDB_CREATE, &dbi));
    MUST(flags & MDB_DUPSORT ? mdb_set_dupsort(txn, dbi, compare) : mdb_set_compare(txn, dbi, compare));
    for (i = 0; i < 20; i++) {
        MDB_val key, data;
        sprintf(text, "%04d", i);
        key = val(flags & MDB_DUPSORT ? "same" : text);
        data = val(text);
        passed = flags & MDB_DUPSORT ? &data : &key;
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
    return dbi;
}

static void one(const char *path, unsigned flags)
{
    MDB_env *env = opened(path, 0);
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, data;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    dbi = fill(txn, flags, order_by_looking);
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    calls = others = 0;
    key = val(flags ? "same" : "0011");
    data = val("0011");
    passed = flags ? &data : &key;
    SHOW(mdb_cursor_get(cursor, &key, &data, flags ? MDB_GET_BOTH : MDB_SET));
    SHOW(mdb_put(txn, dbi, &key, &data, 0));
    printf("%s, %d others\n", calls ? "compared" : "not compared", others);
    SHOW(mdb_del(txn, dbi, &key, &data));
    MUST(mdb_txn_commit(txn));
    mdb_env_close(env);
}

int main(void)
{
    MDB_env *env = opened("inner", 0);
    MUST(mdb_txn_begin(env, NULL, 0, &inner));
    inner_dbi = fill(inner, 0, order);
    MUST(mdb_txn_commit(inner));
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &inner));
    one("keys", 0);
    one("values", MDB_DUPSORT);
    mdb_txn_abort(inner);
    mdb_env_close(env);
    return 0;
}
