/* Calls whose key and data are one MDB_val. */
#include "common.h"

static MDB_txn *txn;

static void show(const char *what, int rc, const MDB_val *both)
{
    printf("  %s: %s", what, code(rc));
    if (!rc || rc == MDB_KEYEXIST) {
        printf(" ");
        print_val(both);
    }
    printf("\n");
}

static void put(MDB_dbi dbi, const char *text, unsigned flags)
{
    MDB_val both = val(text);
    char what[32];
    sprintf(what, "put %s %x", text, flags);
    show(what, mdb_put(txn, dbi, &both, &both, flags), &both);
}

static void put_at(MDB_cursor *cursor, const char *text, unsigned flags)
{
    MDB_val both = val(text), key, data;
    char what[32];
    sprintf(what, "put at %s %x", text, flags);
    show(what, mdb_cursor_put(cursor, &both, &both, flags), &both);
    if (!mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT)) {
        printf("   ");
        print_val(&key);
        printf("=");
        print_val(&data);
        printf("\n");
    }
}

static void go(MDB_cursor *cursor, const char *text, MDB_cursor_op op)
{
    MDB_val both = val(text);
    char what[32];
    sprintf(what, "go %s %d", text, op);
    show(what, mdb_cursor_get(cursor, &both, &both, op), &both);
}

static void try_all(const char *name, unsigned flags)
{
    static const MDB_cursor_op ops[] = { MDB_SET, MDB_SET_KEY, MDB_SET_RANGE, MDB_GET_CURRENT, MDB_FIRST, MDB_NEXT, MDB_NEXT_NODUP,
        MDB_PREV, MDB_LAST, MDB_PREV_NODUP };
    static const unsigned puts[] = { 0, MDB_NOOVERWRITE, MDB_NODUPDATA, 0, MDB_APPEND };
    static const char *const texts[] = { "b", "a", "a", "c", "d" };
    MDB_val both, key, data;
    MDB_cursor *cursor;
    MDB_dbi dbi;
    size_t i;
    printf("%s\n", name);
    MUST(mdb_dbi_open(txn, name, MDB_CREATE | flags, &dbi));
    key = val("a");
    data = val("other");
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    for (i = 0; i < sizeof puts / sizeof *puts; i++)
        put(dbi, texts[i], puts[i]);
    put(dbi, "", 0);
    print_all(txn, dbi);
    both = val("b");
    show("get b", mdb_get(txn, dbi, &both, &both), &both);
    both = val("x");
    show("get x", mdb_get(txn, dbi, &both, &both), &both);
    if (!(flags & MDB_DUPSORT)) {
        both = val("r");
        MUST(mdb_put(txn, dbi, &both, &both, MDB_RESERVE));
        memcpy(both.mv_data, "R", 1);
        show("reserve", 0, &both);
    }
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    for (i = 0; i < sizeof ops / sizeof *ops; i++)
        go(cursor, "b", ops[i]);
    go(cursor, "bb", MDB_SET_RANGE);
    if (flags & MDB_DUPSORT) {
        go(cursor, "b", MDB_GET_BOTH);
        go(cursor, "b", MDB_GET_BOTH_RANGE);
        go(cursor, "x", MDB_GET_BOTH);
    }
    put_at(cursor, "e", 0);
    put_at(cursor, "a", MDB_NOOVERWRITE);
    put_at(cursor, "a", MDB_NODUPDATA);
    put_at(cursor, "b", 0);
    if (!(flags & MDB_DUPSORT))
        put_at(cursor, "b", MDB_CURRENT);
    print_all(txn, dbi);
    for (i = 0; i < 2; i++) {
        both = val("b");
        show("del b", mdb_del(txn, dbi, &both, &both), &both);
    }
    both = val("a");
    show("del a", mdb_del(txn, dbi, &both, &both), &both);
    mdb_cursor_close(cursor);
    print_all(txn, dbi);
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    try_all("plain", 0);
    try_all("backwards", MDB_REVERSEKEY);
    try_all("several", MDB_DUPSORT);
    try_all("several backwards", MDB_DUPSORT | MDB_REVERSEDUP);
    MUST(mdb_txn_commit(txn));
    mdb_env_close(env);
    return 0;
}
