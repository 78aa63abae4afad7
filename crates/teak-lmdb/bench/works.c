/*
 * Times workloads on a database. Uses only lmdb.h, so it is compiled for LMDB and for the library of
 * this package.
 *
 *     works DIRECTORY RECORDS DURABLE
 *
 * Prints a line for each workload: its name, the number of operations, nanoseconds for each. Keys
 * have 16 bytes and a random order, values have 100 bytes. The program counts the bytes that it
 * reads, and ends if a count is wrong.
 */
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

#include "works.h"

#define KEY_LEN 16
#define VALUE_LEN 100
#define BATCH 1000

static void check(int code, const char *what) {
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", what, mdb_strerror(code));
        exit(1);
    }
}

static unsigned char key_bytes[KEY_LEN];
static unsigned char value_bytes[VALUE_LEN];

static MDB_val key_of(uint64_t number) {
    uint64_t high = mixed(number);
    for (int index = 0; index < 8; index++) {
        key_bytes[index] = (unsigned char)(high >> (56 - 8 * index));
        key_bytes[8 + index] = (unsigned char)(number >> (56 - 8 * index));
    }
    MDB_val key = {KEY_LEN, key_bytes};
    return key;
}

static MDB_val value_of(uint64_t number) {
    memcpy(value_bytes, &number, sizeof number);
    MDB_val value = {VALUE_LEN, value_bytes};
    return value;
}

static MDB_env *env;
static MDB_dbi dbi;
static uint64_t records;

static void put(MDB_txn *txn, uint64_t number, uint64_t content) {
    MDB_val key = key_of(number), value = value_of(content);
    check(mdb_put(txn, dbi, &key, &value, 0), "mdb_put");
}

static void load(void) {
    MDB_txn *txn = NULL;
    uint64_t begin = now();
    for (uint64_t number = 0; number < records; number++) {
        if (number % BATCH == 0) {
            if (txn)
                check(mdb_txn_commit(txn), "mdb_txn_commit");
            check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
        }
        put(txn, number, number);
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    tell("load", records, begin);
}

static void get_one(MDB_txn *txn, uint64_t draw) {
    uint64_t number = mixed(draw) % records;
    MDB_val key = key_of(number), value;
    check(mdb_get(txn, dbi, &key, &value), "mdb_get");
    uint64_t content;
    memcpy(&content, value.mv_data, sizeof content);
    expect(content, number, "mdb_get");
}

static void get(void) {
    MDB_txn *txn;
    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++)
        get_one(txn, draw);
    tell("get", records, begin);
    mdb_txn_abort(txn);
}

/* A transaction for each read. */
static void read_transactions(void) {
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++) {
        MDB_txn *txn;
        check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
        get_one(txn, draw);
        mdb_txn_abort(txn);
    }
    tell("read-transaction", records, begin);
}

/* One transaction, renewed for each read. */
static void renewals(void) {
    MDB_txn *txn;
    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++) {
        mdb_txn_reset(txn);
        check(mdb_txn_renew(txn), "mdb_txn_renew");
        get_one(txn, draw);
    }
    tell("renewal", records, begin);
    mdb_txn_abort(txn);
}

static void scan(void) {
    MDB_txn *txn;
    MDB_cursor *cursor;
    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    check(mdb_cursor_open(txn, dbi, &cursor), "mdb_cursor_open");
    uint64_t begin = now(), count = 0, sum = 0, wanted = 0;
    MDB_val key, value;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        uint64_t content;
        memcpy(&content, value.mv_data, sizeof content);
        sum += content;
        count++;
    }
    expect((uint64_t)code, (uint64_t)MDB_NOTFOUND, "mdb_cursor_get");
    tell("scan", count, begin);
    for (uint64_t number = 0; number < records; number++)
        wanted += number;
    expect(count, records, "scan");
    expect(sum, wanted, "scan");
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

/* Searches for a missing key, and ten steps. */
static void ranges(void) {
    MDB_txn *txn;
    MDB_cursor *cursor;
    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    check(mdb_cursor_open(txn, dbi, &cursor), "mdb_cursor_open");
    uint64_t count = records / 10, read = 0, begin = now();
    for (uint64_t draw = 0; draw < count; draw++) {
        MDB_val key = key_of(records + draw), value;
        int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        for (int step = 0; step < 10 && code == 0; step++) {
            read += value.mv_size;
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
        if (code != MDB_NOTFOUND)
            check(code, "mdb_cursor_get");
    }
    tell("range", count, begin);
    if (read == 0 || read % VALUE_LEN != 0)
        expect(read, 0, "ranges");
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

/* Transactions that replace ten records, not durable. */
static void small_transactions(void) {
    uint64_t count = records / 20, begin = now();
    for (uint64_t draw = 0; draw < count; draw++) {
        MDB_txn *txn;
        check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
        for (uint64_t each = 0; each < 10; each++)
            put(txn, mixed(draw * 10 + each) % records, draw);
        check(mdb_txn_commit(txn), "mdb_txn_commit");
    }
    tell("transaction", count, begin);
}

/* Transactions that read nothing. */
static void empty_transactions(void) {
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++) {
        MDB_txn *txn;
        check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
        mdb_txn_abort(txn);
    }
    tell("empty-transaction", records, begin);
}

/* Transactions of one new record, not durable. */
static void single_records(void) {
    uint64_t count = records / 5, begin = now();
    for (uint64_t draw = 0; draw < count; draw++) {
        MDB_txn *txn;
        check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
        put(txn, 2 * records + draw, draw);
        check(mdb_txn_commit(txn), "mdb_txn_commit");
    }
    tell("single-record", count, begin);
}

static MDB_env *open_session(const char *path) {
    MDB_env *session;
    check(mdb_env_create(&session), "mdb_env_create");
    check(mdb_env_set_mapsize(session, (size_t)1 << 30), "mdb_env_set_mapsize");
    check(mdb_env_open(session, path, MDB_NOSYNC, 0644), "mdb_env_open");
    return session;
}

/* Creates environments with a few records, closes them, and then opens them to read. */
static void sessions(const char *directory, uint64_t count) {
    char path[4096];
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key, value;
    uint64_t creating = 0, closing = 0, opening = 0;
    for (uint64_t number = 0; number < count; number++) {
        snprintf(path, sizeof path, "%s/%" PRIu64, directory, number);
        mkdir(path, 0755);
        uint64_t begin = now();
        MDB_env *session = open_session(path);
        check(mdb_txn_begin(session, NULL, 0, &txn), "mdb_txn_begin");
        check(mdb_dbi_open(txn, NULL, 0, &table), "mdb_dbi_open");
        for (uint64_t each = 0; each < BATCH; each++) {
            key = key_of(each), value = value_of(each);
            check(mdb_put(txn, table, &key, &value, 0), "mdb_put");
        }
        check(mdb_txn_commit(txn), "mdb_txn_commit");
        uint64_t made = now();
        mdb_env_close(session);
        uint64_t closed = now();
        session = open_session(path);
        check(mdb_txn_begin(session, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
        check(mdb_dbi_open(txn, NULL, 0, &table), "mdb_dbi_open");
        key = key_of(number % BATCH);
        check(mdb_get(txn, table, &key, &value), "mdb_get");
        mdb_txn_abort(txn);
        mdb_env_close(session);
        opening += now() - closed;
        closing += closed - made;
        creating += made - begin;
    }
    uint64_t end = now();
    tell("create", count, end - creating);
    tell("close", count, end - closing);
    tell("open-and-close", count, end - opening);
}

/* New environments of which each gets a thousand records, one in a commit, and is closed. */
static void short_runs(const char *directory, uint64_t count) {
    char path[4096];
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key, value;
    uint64_t opening = 0, first = 0, others = 0, closing = 0;
    for (uint64_t number = 0; number < count; number++) {
        snprintf(path, sizeof path, "%s/short-%" PRIu64, directory, number);
        mkdir(path, 0755);
        uint64_t begin = now();
        MDB_env *session = open_session(path);
        uint64_t opened = now(), committed = 0;
        for (uint64_t each = 0; each < BATCH; each++) {
            check(mdb_txn_begin(session, NULL, 0, &txn), "mdb_txn_begin");
            if (each == 0)
                check(mdb_dbi_open(txn, NULL, 0, &table), "mdb_dbi_open");
            key = key_of(each), value = value_of(each);
            check(mdb_put(txn, table, &key, &value, 0), "mdb_put");
            check(mdb_txn_commit(txn), "mdb_txn_commit");
            if (each == 0)
                committed = now();
        }
        uint64_t filled = now();
        mdb_env_close(session);
        closing += now() - filled;
        others += filled - committed;
        first += committed - opened;
        opening += opened - begin;
    }
    uint64_t end = now();
    tell("short-open", count, end - opening);
    tell("short-first-commit", count, end - first);
    tell("short-999-commits", count, end - others);
    tell("short-close", count, end - closing);
}

/* Transactions of one record, durable when the commit returns. */
static void durable_transactions(uint64_t count) {
    check(mdb_env_set_flags(env, MDB_NOSYNC, 0), "mdb_env_set_flags");
    check(mdb_env_sync(env, 1), "mdb_env_sync");
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < count; draw++) {
        MDB_txn *txn;
        check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
        put(txn, mixed(draw) % records, draw + 1);
        check(mdb_txn_commit(txn), "mdb_txn_commit");
    }
    tell("durable", count, begin);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: works DIRECTORY RECORDS DURABLE\n");
        return 2;
    }
    records = strtoull(words[2], NULL, 10);
    if (records < 100) {
        fprintf(stderr, "RECORDS must be 100 at least\n");
        return 2;
    }
    check(mdb_env_create(&env), "mdb_env_create");
    check(mdb_env_set_mapsize(env, (size_t)1 << 34), "mdb_env_set_mapsize");
    check(mdb_env_open(env, words[1], MDB_NOSYNC, 0644), "mdb_env_open");
    MDB_txn *txn;
    check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
    check(mdb_dbi_open(txn, NULL, 0, &dbi), "mdb_dbi_open");
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    load();
    get();
    scan();
    ranges();
    read_transactions();
    renewals();
    empty_transactions();
    small_transactions();
    single_records();
    sessions(words[1], 50);
    short_runs(words[1], 12);
    durable_transactions(strtoull(words[3], NULL, 10));
    mdb_env_close(env);
    return 0;
}
