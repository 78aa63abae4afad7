/* Map sizes that are stored in the file, and descriptors that programs inherit. */
#include "common.h"

#ifdef _WIN32
#include <windows.h>

static int is_closed_for_others(mdb_filehandle_t file)
{
    DWORD flags = 0;
    return GetHandleInformation(file, &flags) && !(flags & HANDLE_FLAG_INHERIT);
}
#else
static int is_closed_for_others(mdb_filehandle_t file)
{
    return !!(fcntl(file, F_GETFD) & FD_CLOEXEC);
}
#endif

static void map(size_t size, int is_committed)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_envinfo info;
    MDB_val key = val("key"), data;
    char text[16];
    static int count;

    MUST(mdb_env_create(&env));
    if (size)
        MUST(mdb_env_set_mapsize(env, size));
    MUST(mdb_env_open(env, "maps", 0, 0644));
    MUST(mdb_env_info(env, &info));
    if (is_committed) {
        sprintf(text, "%d", count++);
        data = val(text);
        MUST(mdb_txn_begin(env, NULL, 0, &txn));
        MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
        MUST(mdb_put(txn, dbi, &key, &data, 0));
        MUST(mdb_txn_commit(txn));
    }
    mdb_env_close(env);
    printf("%d %d: %d\n", (int)size, is_committed, (int)info.me_mapsize);
}

/* The number of puts of 1000 bytes that fit. */
static int filled(MDB_env *env)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key, data;
    char bytes[1000];
    int i, rc = 0;

    memset(bytes, 7, sizeof bytes);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
    for (i = 0; !rc && i < 20000; i++) {
        key.mv_size = sizeof i;
        key.mv_data = &i;
        data.mv_size = sizeof bytes;
        data.mv_data = bytes;
        rc = mdb_put(txn, dbi, &key, &data, 0);
    }
    mdb_txn_abort(txn);
    printf("%s\n", code(rc));
    return i;
}

int main(void)
{
    static const int sizes[] = { 1 << 24, 0, 1 << 22, 0, 1 << 25, 0, 1 << 20, 1 << 20, 0 };
    MDB_env *env;
    mdb_filehandle_t data;
    int round;
    size_t i;

    mkdir("maps", 0755);
    for (round = 0; round < 4; round++)
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
            map(sizes[i], (i + round) % 2);

    /* The smaller size is a limit nevertheless. */
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_mapsize(env, 1 << 22));
    MUST(mdb_env_open(env, "maps", 0, 0644));
    i = filled(env);
    printf("%d\n", i > 2000 && i < 4200);
    MUST(mdb_env_get_fd(env, &data));
    printf("closed when another program begins: %d\n", is_closed_for_others(data));
    mdb_env_close(env);
    return 0;
}
