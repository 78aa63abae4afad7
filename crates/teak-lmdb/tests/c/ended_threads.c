/* The reader slots of threads that ended while they were reading are free: other threads get them,
 * and they are not listed. */
#include "common.h"
#include <pthread.h>

#define READERS 3

static MDB_env *env;
static MDB_txn *left[5 * READERS];

static void *read_on(void *txn)
{
    static int rc;
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, txn);
    return &rc;
}

static int count_line(const char *line, void *count)
{
    (void)line;
    ++*(int *)count;
    return 0;
}

/* The number of lines. If there are readers, the first line is a title. */
static void list(void)
{
    int count = 0;
    mdb_reader_list(env, count_line, &count);
    printf("listed: %d\n", count);
}

static void end_thread(int number)
{
    pthread_t thread;
    void *rc;
    pthread_create(&thread, NULL, read_on, &left[number]);
    pthread_join(thread, &rc);
    printf("%s\n", code(*(int *)rc));
}

static void try(const char *path, unsigned flags, int threads)
{
    MDB_envinfo info;
    MDB_txn *own = NULL;
    int i, rc;
    printf("%s\n", path);
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxreaders(env, READERS));
    mkdir(path, 0755);
    MUST(mdb_env_open(env, path, flags, 0644));
    for (i = 0; i < threads; i++)
        end_thread(i);
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &own);
    printf("%s\n", code(rc));
    MUST(mdb_env_info(env, &info));
    printf("%u of %u\n", info.me_numreaders, info.me_maxreaders);
    if (threads > READERS)
        list();
    if (!rc)
        mdb_txn_abort(own);
    mdb_env_close(env);
}

int main(void)
{
    try("threads", 0, 5 * READERS);
    /* Here slots belong to transactions, which outlive threads. */
    try("transactions", MDB_NOTLS, READERS);
    return 0;
}
