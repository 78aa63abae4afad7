/* Keys that are put into the main database do not stay in memory until the environment is closed. */
#include "common.h"
#include <malloc.h>
#include <stdint.h>

#define COMMITS 5000
/* The memory of a key that stays, with the table that is searched for by its name. */
#define KEPT_BYTES 70

static void put(MDB_env *env, uint64_t number)
{
    MDB_val key = { sizeof number, &number }, data = key;
    MDB_txn *txn;
    MDB_dbi dbi;
    number *= 0x9e3779b97f4a7c15ull;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_txn_commit(txn));
}

int main(void)
{
    MDB_env *env = opened("db", MDB_NOSYNC);
    size_t before, grown;
    uint64_t number;
    for (number = 0; number < COMMITS; number++)
        put(env, number);
    before = mallinfo2().uordblks;
    for (; number < 2 * COMMITS; number++)
        put(env, number);
    grown = mallinfo2().uordblks - before;
    if ((intptr_t)grown > COMMITS * KEPT_BYTES / 2)
        printf("%zu bytes more after %d commits\n", grown, COMMITS);
    mdb_env_close(env);
    return 0;
}
