/* Threads that end while they are reading: their slot is free for the next thread, which may have
 * the same number. */
#include "common.h"
#include <pthread.h>

static MDB_env *env;
static MDB_txn *left[3];

static void *read_on(void *txn)
{
    static int rc;
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, txn);
    return &rc;
}

int main(void)
{
    MDB_txn *own, *other;
    int i;
    env = opened("db", 0);
    for (i = 0; i < 3; i++) {
        pthread_t thread;
        void *rc;
        pthread_create(&thread, NULL, read_on, &left[i]);
        pthread_join(thread, &rc);
        printf("%s\n", code(*(int *)rc));
    }
    SHOW(mdb_txn_begin(env, NULL, MDB_RDONLY, &own));
    SHOW(mdb_txn_begin(env, NULL, MDB_RDONLY, &other));
    mdb_txn_abort(own);
    SHOW(mdb_txn_begin(env, NULL, MDB_RDONLY, &other));
    mdb_txn_abort(other);
    mdb_env_close(env);
    return 0;
}
