/* A cursor that deletes its record and puts it back between steps. */
#include "common.h"

enum { BY_CURSOR, BY_TRANSACTION };

static void loop(MDB_env *env, unsigned flags, int keys, int del, int put, int looks, int is_committed)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, data;
    char text[2] = "a", place[2] = "";
    int i, rc;

    printf("flags %x, %d keys, deleted %d, put %d, looks %d, committed %d:", flags, keys, del, put, looks, is_committed);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, flags ? "multi" : "single", MDB_CREATE | flags, &dbi));
    for (i = 0; i < keys; i++) {
        text[0] = 'a' + i;
        key = val(text);
        data = val("v");
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
    if (is_committed) {
        MUST(mdb_txn_commit(txn));
        MUST(mdb_txn_begin(env, NULL, 0, &txn));
    }
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    for (i = 0; i < 5; i++) {
        rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        printf(" %s", code(rc));
        if (rc)
            break;
        place[0] = *(char *)key.mv_data;
        key = val(place);
        MUST(del == BY_CURSOR ? mdb_cursor_del(cursor, 0) : mdb_del(txn, dbi, &key, NULL));
        /* py-lmdb reads the current record at once. */
        if (looks)
            printf(" (%s)", code(mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT)));
        key = val(place);
        data = val("v");
        MUST(put == BY_CURSOR ? mdb_cursor_put(cursor, &key, &data, 0) : mdb_put(txn, dbi, &key, &data, 0));
        if (looks > 1)
            printf(" (%s)", code(mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT)));
    }
    printf("\n");
    MUST(mdb_drop(txn, dbi, 0));
    MUST(mdb_txn_commit(txn));
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    int keys, del, put, looks;
    for (keys = 1; keys < 3; keys++)
        for (del = 0; del < 2; del++)
            for (put = 0; put < 2; put++)
                for (looks = 0; looks < 3; looks++) {
                    loop(env, 0, keys, del, put, looks, 0);
                    loop(env, 0, keys, del, put, looks, 1);
                    loop(env, MDB_DUPSORT, keys, del, put, looks, 0);
                    loop(env, MDB_DUPSORT, keys, del, put, looks, 1);
                }
    mdb_env_close(env);
    return 0;
}
