/* A process has a database of values of one size open while another process puts values of other
 * sizes. */
#include "common.h"

static MDB_dbi dbi;

static void put(MDB_env *env, const char *k, const char *d, int rc)
{
    MDB_txn *txn;
    MDB_val key = val(k), data = val(d);
    int found;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    found = mdb_put(txn, dbi, &key, &data, 0);
    if (found != rc) {
        printf("%s %s: %s\n", k, d, code(found));
        exit(1);
    }
    MUST(mdb_txn_commit(txn));
}

static MDB_env *with_database(void)
{
    MDB_env *env = opened("db", 0);
    MDB_txn *txn;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "d", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP, &dbi));
    MUST(mdb_txn_commit(txn));
    return env;
}

int main(void)
{
    int to_child[2], to_parent[2], status;
    char byte;
    MDB_env *env;
    MDB_txn *txn;
    pid_t child;
    if (pipe(to_child) || pipe(to_parent))
        return 1;
    child = fork();
    if (!child) {
        if (read(to_child[0], &byte, 1) != 1)
            return 1;
        env = with_database();
        put(env, "b", "twelve bytes", 0);
        mdb_env_close(env);
        return write(to_parent[1], "x", 1) != 1;
    }
    env = with_database();
    put(env, "a", "1234", 0);
    if (write(to_child[1], "x", 1) != 1 || read(to_parent[0], &byte, 1) != 1)
        return 1;
    put(env, "b", "1234", MDB_BAD_VALSIZE);
    put(env, "b", "twelve byte2", 0);
    put(env, "c", "12345678", 0);
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    print_all(txn, dbi);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    waitpid(child, &status, 0);
    return status;
}
