/* The arguments of a client's comparison: first the value that the client has passed, then the
 * stored one. */
#include "common.h"

static const MDB_val *passed_key, *passed_data;
static const void *key_bytes, *data_bytes;
static int calls, other_values, other_bytes;

static void look(const MDB_val *a, const MDB_val *passed, const void *bytes)
{
    calls++;
    other_values += a != passed;
    other_bytes += a->mv_data != bytes;
}

static int order(const MDB_val *a, const MDB_val *b)
{
    size_t len = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int diff = memcmp(a->mv_data, b->mv_data, len);
    return diff ? diff : (int)a->mv_size - (int)b->mv_size;
}

static int compare_keys(const MDB_val *a, const MDB_val *b)
{
    look(a, passed_key, key_bytes);
    return order(a, b);
}

static int compare_values(const MDB_val *a, const MDB_val *b)
{
    look(a, passed_data, data_bytes);
    return order(a, b);
}

static void pass(const MDB_val *key, const MDB_val *data)
{
    passed_key = key;
    key_bytes = key->mv_data;
    passed_data = data;
    data_bytes = data ? data->mv_data : NULL;
    calls = other_values = other_bytes = 0;
}

/* Makes calls with a key and a value, and prints whether the comparison received these. */
#define LOOK(call) do { \
        int look_rc; \
        pass(&key, data); \
        look_rc = (call); \
        printf("%s: %s, %s, other values %d, other bytes %d\n", #call, code(look_rc), \
            calls ? "compared" : "not compared", other_values, other_bytes); \
    } while (0)

static void one(MDB_env *env, const char *name, unsigned flags, int count)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, values[3], *data = values;
    char text[16], value[16], same[2] = { 7, 7 };
    int i, is_multi = flags & MDB_DUPSORT;

    printf("%s, %d\n", name, count);
    memset(values, 0, sizeof values);
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, name, flags | MDB_CREATE, &dbi));
    MUST(mdb_set_compare(txn, dbi, compare_keys));
    if (is_multi)
        MUST(mdb_set_dupsort(txn, dbi, compare_values));
    for (i = 0; i < count; i++) {
        sprintf(text, "%06d", is_multi ? i % 3 : i * 7919 % count);
        sprintf(value, "%06d", i * 7919 % count);
        key = val(text);
        *data = val(value);
        pass(&key, data);
        MUST(mdb_put(txn, dbi, &key, data, 0));
        if (other_values || other_bytes)
            printf("%d: other values %d, other bytes %d\n", i, other_values, other_bytes);
    }
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    sprintf(text, "%06d", 1);
    sprintf(value, "%06d", 1 * 7919 % count);
#define AGAIN() (key = val(text), *data = val(value))
    AGAIN(); LOOK(mdb_get(txn, dbi, &key, data));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET_KEY));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET_RANGE));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_GET_BOTH));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_GET_BOTH_RANGE));
    AGAIN(); LOOK(mdb_cursor_put(cursor, &key, data, 0));
    AGAIN(); LOOK(mdb_cursor_put(cursor, &key, data, MDB_NOOVERWRITE));
    AGAIN(); LOOK(mdb_put(txn, dbi, &key, data, 0));
    AGAIN(); LOOK(mdb_put(txn, dbi, &key, data, MDB_NODUPDATA));
    AGAIN(); LOOK(mdb_cmp(txn, dbi, &key, &key) == 0 ? 0 : 1);
    if (is_multi) {
        AGAIN(); LOOK(mdb_dcmp(txn, dbi, data, data) == 0 ? 0 : 1);
        strcpy(value, "0000015");
        AGAIN(); LOOK(mdb_put(txn, dbi, &key, data, 0));
        AGAIN(); LOOK(mdb_cursor_put(cursor, &key, data, MDB_NODUPDATA));
        AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_GET_BOTH));
        strcpy(value, "0000014");
        AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_GET_BOTH_RANGE));
        strcpy(value, "9");
        AGAIN(); LOOK(mdb_put(txn, dbi, &key, data, MDB_APPENDDUP));
        strcpy(value, "000001");
    }
    strcpy(text, "9");
    AGAIN(); LOOK(mdb_put(txn, dbi, &key, data, MDB_APPEND));
    strcpy(text, "8");
    AGAIN(); LOOK(mdb_cursor_put(cursor, &key, data, MDB_APPEND));
    strcpy(text, "7");
    AGAIN(); LOOK(mdb_get(txn, dbi, &key, data));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET));
    AGAIN(); LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET_RANGE));
    AGAIN(); LOOK(mdb_cursor_put(cursor, &key, data, 0));
    AGAIN(); LOOK(mdb_del(txn, dbi, &key, NULL));
    AGAIN(); LOOK(mdb_del(txn, dbi, &key, NULL));
    strcpy(text, "9");
    strcpy(value, "000001");
    AGAIN(); pass(&key, data);
    SHOW(mdb_del(txn, dbi, &key, data));
    printf("other bytes %d\n", other_bytes);
    /* Key and value are one MDB_val. */
    key.mv_data = data->mv_data = same;
    key.mv_size = data->mv_size = 2;
    LOOK(mdb_put(txn, dbi, &key, data, 0));
    LOOK(mdb_cursor_get(cursor, &key, data, MDB_SET));
    mdb_txn_abort(txn);
}

/* OpenLDAP's order of values: the client's structure has the value itself after the stored bytes. */
static int compare_structures(const MDB_val *a, const MDB_val *b)
{
    MDB_val itself = a[1];
    MDB_val stored = { 0, b->mv_data };
    stored.mv_size = b->mv_size - 3;
    return order(&itself, &stored);
}

static void structures(MDB_env *env)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key = val("key"), data[3];
    char text[16], stored[32];
    int i, round;

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "structures", MDB_DUPSORT | MDB_CREATE, &dbi));
    MUST(mdb_set_dupsort(txn, dbi, compare_structures));
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    memset(data, 0, sizeof data);
    for (round = 0; round < 3; round++) {
        static const int counts[] = { 1, 20, 700 };
        int count = counts[round], not_put = 0, not_found = 0, not_deleted = 0;
        for (i = 0; i < count; i++) {
            data[1].mv_size = sprintf(text, "%05d", i * 7919 % count);
            data[1].mv_data = text;
            data[0].mv_size = sprintf(stored, "%s...", text);
            data[0].mv_data = stored;
            not_put += mdb_cursor_put(cursor, &key, data, 0) != 0;
        }
        for (i = 0; i < count; i++) {
            data[1].mv_size = sprintf(text, "%05d", i * 104729 % count);
            data[1].mv_data = text;
            data[0].mv_size = 1;
            data[0].mv_data = "?";
            if (mdb_cursor_get(cursor, &key, data, MDB_GET_BOTH_RANGE))
                not_found++;
            else if (i % 3)
                not_deleted += mdb_cursor_del(cursor, 0) != 0;
            key = val("key");
        }
        printf("%d: not put %d, found %d, deleted %d\n", count, not_put, not_found, not_deleted);
        if (count <= 20)
            print_all(txn, dbi);
        SHOW(mdb_del(txn, dbi, &key, NULL));
    }
    mdb_txn_abort(txn);
}

int main(void)
{
    MDB_env *env = opened("db", 0);
    one(env, "single", 0, 7);
    one(env, "single", 0, 5003);
    one(env, "multi", MDB_DUPSORT, 5);
    one(env, "multi", MDB_DUPSORT, 31);
    one(env, "multi", MDB_DUPSORT, 5003);
    structures(env);
    mdb_env_close(env);
    return 0;
}
