/* Handles that are closed before the transaction that opened them ends: `mdb_dump -a` opens and
 * closes one database after the other. */
#include "common.h"

int main(void)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi, other;
    MDB_val key, data;
    char name[2] = "a";
    int i;

    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxdbs(env, 2));
    mkdir("db", 0755);
    MUST(mdb_env_open(env, "db", 0, 0644));
    for (i = 0; i < 6; i++) {
        name[0] = 'a' + i;
        key = val(name);
        data = val("value");
        MUST(mdb_txn_begin(env, NULL, 0, &txn));
        SHOW(mdb_dbi_open(txn, name, MDB_CREATE, &dbi));
        MUST(mdb_put(txn, dbi, &key, &data, 0));
        MUST(mdb_txn_commit(txn));
        mdb_dbi_close(env, dbi);
    }
    for (i = 0; i < 2; i++) {
        int is_ended;
        MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
        for (name[0] = 'a'; name[0] < 'g'; name[0]++) {
            SHOW(mdb_dbi_open(txn, name, 0, &dbi));
            key = val(name);
            SHOW(mdb_get(txn, dbi, &key, &data));
            mdb_dbi_close(env, dbi);
        }
        SHOW(mdb_dbi_open(txn, "b", 0, &dbi));
        SHOW(mdb_dbi_open(txn, "c", 0, &other));
        printf("%u %u\n", dbi, other);
        is_ended = i;
        if (is_ended)
            mdb_txn_abort(txn);
        else
            MUST(mdb_txn_commit(txn));
        MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
        key = val("b");
        SHOW(mdb_get(txn, dbi, &key, &data));
        key = val("c");
        SHOW(mdb_get(txn, other, &key, &data));
        mdb_txn_abort(txn);
        mdb_dbi_close(env, dbi);
        mdb_dbi_close(env, other);
    }
    mdb_env_close(env);
    return 0;
}
