/* A handle that is closed while its transaction has changes in the database, which LMDB's manual
 * forbids. In the library the handle ends at once, and the changes are committed. (In LMDB the
 * handle stays valid, and the commit fails.) */
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
    MDB_env *env = opened("db", 0);
    MDB_txn *txn;
    MDB_dbi closed, other;
    MDB_val key = val("key"), data = val("value");

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "closed", MDB_CREATE, &closed));
    MUST(mdb_dbi_open(txn, "other", MDB_CREATE, &other));
    MUST(mdb_txn_commit(txn));

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_put(txn, closed, &key, &data, 0));
    MUST(mdb_put(txn, other, &key, &data, 0));
    mdb_dbi_close(env, closed);
    WANT(mdb_put(txn, closed, &key, &data, 0), MDB_BAD_DBI);
    MUST(mdb_del(txn, other, &key, NULL));
    MUST(mdb_txn_commit(txn));

    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    WANT(mdb_get(txn, other, &key, &data), MDB_NOTFOUND);
    MUST(mdb_dbi_open(txn, "closed", 0, &closed));
    MUST(mdb_get(txn, closed, &key, &data));
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return 0;
}
