/* Transactions that end after the thread that began them. LMDB then writes to a reader slot that
 * may belong to another thread. */
#include "common.h"
#include <pthread.h>

static MDB_env *env;
static MDB_dbi dbi;

static void *read_on(void *txn)
{
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, txn));
    return NULL;
}

static MDB_txn *left_by_thread(void)
{
    MDB_txn *txn;
    pthread_t thread;
    pthread_create(&thread, NULL, read_on, &txn);
    pthread_join(thread, NULL);
    return txn;
}

static void put(const char *text)
{
    MDB_val key = val("key"), data = val(text);
    MDB_txn *txn;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_commit(txn));
}

static void show(MDB_txn *txn)
{
    MDB_val key = val("key"), data;
    MUST(mdb_get(txn, dbi, &key, &data));
    print_val(&data);
    printf("\n");
}

int main(void)
{
    MDB_txn *first, *second, *own, *other;
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxreaders(env, 1));
    mkdir("db", 0755);
    MUST(mdb_env_open(env, "db", 0, 0644));
    put("one");
    first = left_by_thread();
    put("two");
    second = left_by_thread();
    put("three");
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &own));
    /* They still see their state, and their end does not free another thread's slot. */
    show(first);
    show(second);
    mdb_txn_abort(first);
    mdb_txn_reset(second);
    SHOW(mdb_txn_begin(env, NULL, MDB_RDONLY, &other));
    show(own);
    mdb_txn_abort(own);
    SHOW(mdb_txn_renew(second));
    show(second);
    mdb_txn_abort(second);
    SHOW(mdb_txn_begin(env, NULL, MDB_RDONLY, &own));
    mdb_txn_abort(own);
    mdb_env_close(env);
    return 0;
}
