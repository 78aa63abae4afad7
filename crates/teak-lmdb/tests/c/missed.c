/* The position of a cursor after a search that found nothing, and after a nested transaction. */
#include "common.h"

static MDB_dbi dbi;

static void fill(MDB_txn *txn)
{
    static const char *const pairs[] = { "b1", "d1", "d2", "d3", "f1", "h1", "h2" };
    size_t i;
    MUST(mdb_dbi_open(txn, "dups", MDB_CREATE | MDB_DUPSORT, &dbi));
    for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        MDB_val key = { 1, (void *)pairs[i] }, data = { 1, (void *)(pairs[i] + 1) };
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
}

static void go(MDB_cursor *cursor, MDB_cursor_op op)
{
    MDB_val key, data;
    int rc = mdb_cursor_get(cursor, &key, &data, op);
    printf(" %d:%s", op, code(rc));
    if (!rc && op != MDB_FIRST_DUP && op != MDB_LAST_DUP) {
        printf(":");
        print_val(&key);
        print_val(&data);
    }
}

int main(void)
{
    /* Not MDB_PREV: LMDB then uses the number of values of another key. */
    static const MDB_cursor_op ops[] = { MDB_GET_CURRENT, MDB_NEXT, MDB_NEXT_DUP, MDB_NEXT_NODUP, MDB_PREV_NODUP, MDB_FIRST,
        MDB_LAST };
    static const char *const missing[] = { "a", "c", "e", "g" };
    MDB_env *env = opened("db", 0);
    MDB_txn *txn, *child;
    MDB_cursor *cursor;
    MDB_val key, data;
    size_t i, j, k;

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    fill(txn);
    for (i = 0; i < 4; i++)
        for (j = 0; j < sizeof ops / sizeof *ops; j++)
            for (k = 0; k < 4; k++) {
                printf("%s %d:", missing[i], (int)k);
                MUST(mdb_cursor_open(txn, dbi, &cursor));
                if (k)
                    go(cursor, MDB_FIRST);
                key = val(missing[i]);
                printf(" %s", code(mdb_cursor_get(cursor, &key, &data, MDB_SET)));
                if (k >= 2) {
                    /* It keeps its position when the nested transaction moves it and is aborted. */
                    MUST(mdb_txn_begin(env, txn, 0, &child));
                    if (k == 3) {
                        key = val("d");
                        MUST(mdb_cursor_get(cursor, &key, &data, MDB_SET));
                    }
                    mdb_txn_abort(child);
                }
                go(cursor, ops[j]);
                go(cursor, MDB_NEXT);
                printf("\n");
                mdb_cursor_close(cursor);
            }
    for (i = 0; i < 3; i++) {
        /* A position that was found before the search of a nested transaction fails. */
        MUST(mdb_cursor_open(txn, dbi, &cursor));
        key = val("d");
        MUST(mdb_cursor_get(cursor, &key, &data, MDB_SET));
        MUST(mdb_txn_begin(env, txn, 0, &child));
        key = val("g");
        SHOW(mdb_cursor_get(cursor, &key, &data, MDB_SET));
        if (i == 2) {
            key = val("a");
            data = val("0");
            MUST(mdb_put(child, dbi, &key, &data, 0));
        }
        if (i)
            MUST(mdb_txn_commit(child));
        else
            mdb_txn_abort(child);
        go(cursor, MDB_GET_CURRENT);
        go(cursor, MDB_NEXT);
        go(cursor, MDB_NEXT);
        printf("\n");
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return 0;
}
