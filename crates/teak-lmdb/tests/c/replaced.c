/* A data file that is deleted while it is open and replaced by a new one, while the lock file
 * stays. Readers without locks. */
#include "common.h"

static void put(MDB_env *env, const char *name, const char *content)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = val(name), data = val(content);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_commit(txn));
}

static void show(MDB_env *env, const char *title)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    printf("%s\n", title);
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    print_all(txn, dbi);
    mdb_txn_abort(txn);
}

int main(void)
{
    MDB_env *old = opened("one", 0), *other = opened("two", 0), *next;
    MDB_txn *readers[8];
    int index;

    put(old, "name", "old");
    put(other, "name", "other");
    MUST(unlink("one/data.mdb"));
    SHOW(mdb_env_copy(other, "one"));
    next = opened("one", 0);
    show(next, "the copy");
    put(next, "more", "records");
    show(next, "the copy, changed");
    /* The old environment is not checked: in LMDB the new one has initialised their common lock
     * file again. */
    mdb_env_close(next);
    next = opened("one", 0);
    show(next, "the copy, opened once more");
    mdb_env_close(next);
    MUST(unlink("one/data.mdb"));
    next = opened("one", 0);
    show(next, "a new one");
    mdb_env_close(next);
    mdb_env_close(old);
    mdb_env_close(other);

    next = opened("three", MDB_NOLOCK);
    put(next, "name", "without locks");
    for (index = 0; index < 8; index++)
        SHOW(mdb_txn_begin(next, NULL, MDB_RDONLY, &readers[index]));
    for (index = 0; index < 8; index++)
        mdb_txn_abort(readers[index]);
    mdb_env_close(next);
    next = opened("three", 0);
    SHOW(mdb_txn_begin(next, NULL, MDB_RDONLY, &readers[0]));
    SHOW(mdb_txn_begin(next, NULL, MDB_RDONLY, &readers[1]));
    mdb_txn_abort(readers[0]);
    mdb_env_close(next);
    return 0;
}
