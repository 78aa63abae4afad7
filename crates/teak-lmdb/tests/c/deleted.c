/* Moves of a cursor that has deleted its record: each first move, and the steps after it. */
#include "common.h"

static MDB_dbi dbi;

static void go(MDB_cursor *cursor, MDB_cursor_op op)
{
    MDB_val key = { 0, NULL }, data = { 0, NULL };
    int rc = mdb_cursor_get(cursor, &key, &data, op);
    printf(" %d:%s", op, code(rc));
    if (!rc) {
        printf(":");
        print_val(&key);
        print_val(&data);
    }
}

static void try(MDB_txn *txn, const char *const *pairs, int count, int deleted, unsigned flags, MDB_cursor_op first, MDB_cursor_op next)
{
    MDB_cursor *cursor;
    int i;
    MUST(mdb_drop(txn, dbi, 0));
    for (i = 0; i < count; i++) {
        MDB_val key = { 1, (void *)pairs[i] }, data = { 1, (void *)(pairs[i] + 1) };
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    printf("%d %x:", deleted, flags);
    for (i = 0; i <= deleted; i++)
        go(cursor, MDB_NEXT);
    MUST(mdb_cursor_del(cursor, flags));
    go(cursor, first);
    go(cursor, next);
    go(cursor, MDB_NEXT);
    printf("\n");
    mdb_cursor_close(cursor);
}

int main(void)
{
    static const MDB_cursor_op ops[] = { MDB_PREV, MDB_NEXT, MDB_GET_CURRENT, MDB_PREV_NODUP, MDB_NEXT_NODUP, MDB_NEXT_DUP, MDB_PREV_DUP };
    static const char *const single[] = { "a1", "b1", "c1", "d1" };
    static const char *const several[] = { "a1", "a2", "a3", "c1", "d1", "d2" };
    int count = sizeof ops / sizeof *ops, i, j, k;
    MDB_env *env = opened("db", 0);
    MDB_txn *txn;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "plain", MDB_CREATE, &dbi));
    /* Not the last record: LMDB remembers the end. */
    for (k = 0; k < 3; k++)
        for (i = 0; i < count; i++)
            for (j = 0; j < count; j++)
                try(txn, single, 4, k, 0, ops[i], ops[j]);
    MUST(mdb_dbi_open(txn, "several", MDB_CREATE | MDB_DUPSORT, &dbi));
    /* Not "c": from there LMDB's MDB_PREV moves to the last value of the next key. */
    for (k = 0; k < 3; k++)
        for (i = 0; i < count; i++)
            for (j = 0; j < count; j++)
                try(txn, several, 6, k, MDB_NODUPDATA, ops[i], ops[j]);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return 0;
}
