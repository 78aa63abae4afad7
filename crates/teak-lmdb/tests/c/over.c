/* Ended handles: the library refuses them, while LMDB accesses freed memory. */
#include "common.h"

#define WANT(call, rc) do { \
        int want_rc = (call); \
        if (want_rc != (rc)) { \
            printf("line %d: %s: %s\n", __LINE__, #call, code(want_rc)); \
            exit(1); \
        } \
    } while (0)

int main(void)
{
    MDB_env *env;
    MDB_txn *txn, *child, *reader, *next;
    MDB_cursor *cursor, *other;
    MDB_dbi dbi;
    MDB_val key = val("a"), data = val("1");
    int round;

    env = opened("db", 0);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_begin(env, txn, 0, &child));
    MUST(mdb_cursor_open(child, dbi, &other));
    MUST(mdb_txn_commit(child));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    MUST(mdb_cursor_get(cursor, &key, &data, MDB_FIRST));
    MUST(mdb_txn_commit(txn));

    mdb_cursor_close(cursor);
    mdb_cursor_close(cursor);
    mdb_cursor_close(other);
    WANT(mdb_cursor_get(cursor, &key, &data, MDB_FIRST), EINVAL);
    WANT(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), EINVAL);
    WANT(mdb_cursor_put(cursor, &key, &data, 0), EINVAL);
    WANT(mdb_cursor_del(cursor, 0), EINVAL);
    WANT(mdb_cursor_txn(cursor) == NULL, 1);
    WANT(mdb_cursor_dbi(cursor), 0);
    WANT(mdb_get(txn, dbi, &key, &data), EINVAL);
    WANT(mdb_put(txn, dbi, &key, &data, 0), EINVAL);
    WANT(mdb_txn_commit(txn), EINVAL);
    mdb_txn_abort(txn);
    mdb_txn_abort(child);
    mdb_txn_reset(child);
    WANT(mdb_txn_renew(child), EINVAL);
    WANT(mdb_txn_id(txn), 0);
    WANT(mdb_txn_env(txn) == NULL, 1);
    WANT(mdb_txn_begin(env, txn, 0, &child), EINVAL);
    WANT(mdb_cursor_open(txn, dbi, &cursor), EINVAL);

    /* The reader's object is used again, under another handle. */
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader));
    MUST(mdb_cursor_open(reader, dbi, &cursor));
    MUST(mdb_cursor_get(cursor, &key, &data, MDB_FIRST));
    mdb_txn_abort(reader);
    WANT(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), MDB_BAD_TXN);
    for (round = 0; round < 1000; round++) {
        MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &next));
        WANT(mdb_txn_commit(reader), EINVAL);
        mdb_txn_abort(reader);
        WANT(mdb_get(reader, dbi, &key, &data), EINVAL);
        WANT(mdb_cursor_renew(reader, cursor), EINVAL);
        MUST(mdb_get(next, dbi, &key, &data));
        mdb_txn_abort(next);
    }
    mdb_cursor_close(cursor);
    mdb_cursor_close(cursor);

    /* Handles of another kind are refused. */
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    WANT((void *)env == (void *)txn || (void *)txn == (void *)cursor || (void *)env == (void *)cursor, 0);
    WANT(mdb_get((MDB_txn *)env, dbi, &key, &data), EINVAL);
    WANT(mdb_get((MDB_txn *)cursor, dbi, &key, &data), EINVAL);
    WANT(mdb_cursor_get((MDB_cursor *)txn, &key, &data, MDB_FIRST), EINVAL);
    WANT(mdb_cursor_get((MDB_cursor *)env, &key, &data, MDB_FIRST), EINVAL);
    WANT(mdb_env_sync((MDB_env *)txn, 1), EINVAL);
    mdb_txn_abort((MDB_txn *)env);
    mdb_cursor_close((MDB_cursor *)env);
    mdb_env_close((MDB_env *)txn);
    mdb_txn_abort(txn);

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    mdb_env_close(env);
    mdb_env_close(env);
    WANT(mdb_txn_begin(env, NULL, 0, &next), EINVAL);
    WANT(mdb_env_sync(env, 1), EINVAL);
    WANT(mdb_env_open(env, "db", 0, 0644), EINVAL);
    mdb_txn_abort(txn);
    return 0;
}
