/* Keys that are put into the unnamed table do not stay in memory until the environment closes. */
#include "beside.h"
#include <malloc.h>
#include <stdint.h>

#define COMMITS 5000
/* What a key that stays takes, with the table that is looked for under its name. */
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
