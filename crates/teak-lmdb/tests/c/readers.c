/* The number of readers and its maximum: with a lock file that was made for more or fewer readers,
 * and without locks. */
#include "common.h"

static int first_line(const char *text, void *context)
{
    int *count = context;
    if ((*count)++ == 0)
        printf("    %s", text);
    return 0;
}

static void open_with(unsigned flags, unsigned readers)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_envinfo info;
    unsigned told;
    int dead = 0, lines = 0;

    printf("flags %x, %u readers\n", flags, readers);
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxreaders(env, readers));
    MUST(mdb_env_open(env, "db", flags, 0644));
    if (!(flags & MDB_RDONLY)) {
        MUST(mdb_txn_begin(env, NULL, 0, &txn));
        MUST(mdb_txn_commit(txn));
    }
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    MUST(mdb_env_info(env, &info));
    MUST(mdb_env_get_maxreaders(env, &told));
    printf("    %u readers, at most %u, %u\n", info.me_numreaders, info.me_maxreaders, told);
    SHOW(mdb_reader_list(env, first_line, &lines));
    SHOW(mdb_reader_check(env, &dead));
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

int main(void)
{
    mkdir("db", 0755);
    open_with(MDB_NOLOCK, 7);
    open_with(0, 10);
    open_with(0, 2);
    open_with(0, 20);
    open_with(MDB_RDONLY, 3);
    open_with(MDB_NOLOCK, 5);
    return 0;
}
