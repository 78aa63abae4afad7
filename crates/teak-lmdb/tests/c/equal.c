/* Values and keys that are equal to a client's comparison, although their bytes differ. */
#include "common.h"
#include <strings.h>

static int without_case(const MDB_val *a, const MDB_val *b)
{
    size_t len = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int diff = strncasecmp(a->mv_data, b->mv_data, len);
    return diff ? diff : (int)a->mv_size - (int)b->mv_size;
}

static MDB_val key, data;

static void pass(const char *k, const char *d)
{
    key = val(k);
    data = val(d);
}

/* Makes calls with this key and value, and prints their results. */
#define WITH(k, d, call) do { \
        int with_rc; \
        pass(k, d); \
        with_rc = (call); \
        printf("%s %s %s: %s ", k, d, #call, code(with_rc)); \
        print_val(&data); \
        printf("\n"); \
    } while (0)

static void values(MDB_txn *txn, int count)
{
    MDB_dbi dbi;
    MDB_cursor *cursor;
    size_t found;
    char text[16];
    int i;

    printf("%d values\n", count);
    MUST(mdb_dbi_open(txn, "values", MDB_DUPSORT | MDB_CREATE, &dbi));
    MUST(mdb_set_dupsort(txn, dbi, without_case));
    MUST(mdb_drop(txn, dbi, 0));
    pass("k", "abc");
    MUST(mdb_put(txn, dbi, &key, &data, 0));
    for (i = 1; i < count; i++) {
        sprintf(text, "m%05d", i);
        pass("k", text);
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    WITH("k", "ABC", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH));
    WITH("k", "aBC", mdb_cursor_put(cursor, &key, &data, MDB_CURRENT));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT));
    WITH("k", "AbC", mdb_put(txn, dbi, &key, &data, MDB_NODUPDATA));
    WITH("k", "AbC", mdb_put(txn, dbi, &key, &data, MDB_APPENDDUP));
    WITH("k", "", mdb_get(txn, dbi, &key, &data));
    WITH("k", "ABc", mdb_put(txn, dbi, &key, &data, 0));
    WITH("k", "", mdb_get(txn, dbi, &key, &data));
    WITH("k", "ABC", mdb_cursor_put(cursor, &key, &data, 0));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_NEXT));
    WITH("k", "abb", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH_RANGE));
    MUST(mdb_cursor_count(cursor, &found));
    printf("%d\n", (int)found);
    WITH("k", "abC", mdb_del(txn, dbi, &key, &data));
    WITH("k", "ABC", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH));
    mdb_cursor_close(cursor);
}

static void keys(MDB_txn *txn)
{
    MDB_dbi dbi;
    MDB_cursor *cursor;

    printf("keys\n");
    MUST(mdb_dbi_open(txn, "keys", MDB_CREATE, &dbi));
    MUST(mdb_set_compare(txn, dbi, without_case));
    WITH("abc", "123", mdb_put(txn, dbi, &key, &data, 0));
    WITH("ABC", "456", mdb_put(txn, dbi, &key, &data, 0));
    WITH("aBC", "789", mdb_put(txn, dbi, &key, &data, MDB_NOOVERWRITE));
    print_all(txn, dbi);
    WITH("AbC", "", mdb_get(txn, dbi, &key, &data));
    WITH("ABc", "", mdb_del(txn, dbi, &key, NULL));

    /* The key is not printed: in LMDB it has the bytes of the last put, in the library those of
     * the first. */
    MUST(mdb_dbi_open(txn, "both", MDB_CREATE | MDB_DUPSORT, &dbi));
    MUST(mdb_set_compare(txn, dbi, without_case));
    WITH("abc", "123", mdb_put(txn, dbi, &key, &data, 0));
    WITH("ABC", "456", mdb_put(txn, dbi, &key, &data, 0));
    WITH("b", "1", mdb_put(txn, dbi, &key, &data, 0));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    WITH("aBc", "456", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH));
    WITH("aBc", "200", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH_RANGE));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT));
    WITH("aBc", "999", mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH_RANGE));
    WITH("aBC", "456", mdb_cursor_put(cursor, &key, &data, 0));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_GET_CURRENT));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_PREV_DUP));
    WITH("ABc", "123", mdb_cursor_put(cursor, &key, &data, 0));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_NEXT_DUP));
    WITH("ABc", "123", mdb_cursor_put(cursor, &key, &data, 0));
    WITH("", "", mdb_cursor_get(cursor, &key, &data, MDB_NEXT_NODUP));
    WITH("AbC", "456", mdb_del(txn, dbi, &key, &data));
    WITH("AbC", "123", mdb_del(txn, dbi, &key, &data));
    print_all(txn, dbi);
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    MDB_txn *txn;
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    values(txn, 1);
    values(txn, 2);
    values(txn, 902);
    keys(txn);
    MUST(mdb_txn_commit(txn));
    mdb_env_close(env);
    return 0;
}
