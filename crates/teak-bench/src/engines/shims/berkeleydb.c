/* Berkeley DB behind the few functions that the Rust side calls. A return of 0 is success, MISSING a record that is not there, anything else
 * one of Berkeley DB's codes. A transaction that was chosen to give way to another while it made its first change is begun anew. */

#include <db.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING = 1 };
/* A transaction of a load locks a page for each of its records. */
enum { LOCKS_MAX = 400000, TRANSACTIONS_MAX = 1000, LOG_BUFFER = 16 << 20, LOG_FILE = 256 << 20 };
enum { DURABLE = 0, LAZY = 1 };

struct store { DB_ENV *env; DB *db; };
struct connection { struct store *store; DBT value, key, found; };
struct transaction { struct connection *connection; DB_TXN *txn; uint32_t flags; int changes; };
struct cursor { struct connection *connection; DBC *cursor; };

int berkeleydb_open(const char *directory, int mode, uint64_t cache_bytes, void **result) {
    struct store *store = calloc(1, sizeof *store);
    const uint32_t parts = DB_INIT_MPOOL | DB_INIT_LOG | DB_INIT_LOCK | DB_INIT_TXN;
    int code = db_env_create(&store->env, 0);
    if (code != 0) return code;
    DB_ENV *env = store->env;
    env->set_cachesize(env, cache_bytes >> 30, cache_bytes & ((1 << 30) - 1), 1);
    env->set_lk_max_locks(env, LOCKS_MAX);
    env->set_lk_max_objects(env, LOCKS_MAX);
    env->set_lk_detect(env, DB_LOCK_DEFAULT);
    env->set_tx_max(env, TRANSACTIONS_MAX);
    env->set_lg_bsize(env, LOG_BUFFER);
    env->set_lg_max(env, LOG_FILE);
    env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1);
    env->set_flags(env, DB_AUTO_COMMIT, 1);
    if (mode != DURABLE) env->set_flags(env, mode == LAZY ? DB_TXN_WRITE_NOSYNC : DB_TXN_NOSYNC, 1);
    code = env->open(env, directory, DB_CREATE | DB_THREAD | DB_PRIVATE | DB_RECOVER | parts, 0644);
    if (code == 0) code = db_create(&store->db, env, 0);
    if (code == 0) {
        const uint32_t flags = DB_CREATE | DB_THREAD | DB_AUTO_COMMIT | DB_MULTIVERSION;
        code = store->db->open(store->db, NULL, "bench.db", NULL, DB_BTREE, flags, 0644);
    }
    *result = store;
    return code;
}

int berkeleydb_sync(void *handle) {
    DB_ENV *env = ((struct store *)handle)->env;
    return env->txn_checkpoint(env, 0, 0, DB_FORCE);
}

void berkeleydb_close(void *handle) {
    struct store *store = handle;
    if (store->db) store->db->close(store->db, 0);
    store->env->txn_checkpoint(store->env, 0, 0, DB_FORCE);
    store->env->close(store->env, 0);
    free(store);
}

int berkeleydb_connect(void *store, void **result) {
    struct connection *connection = calloc(1, sizeof *connection);
    connection->store = store;
    connection->value.flags = connection->key.flags = connection->found.flags = DB_DBT_REALLOC;
    *result = connection;
    return 0;
}

void berkeleydb_disconnect(void *handle) {
    struct connection *connection = handle;
    free(connection->value.data);
    free(connection->key.data);
    free(connection->found.data);
    free(connection);
}

int berkeleydb_begin(void *handle, int writes, void **result) {
    struct transaction *transaction = calloc(1, sizeof *transaction);
    transaction->connection = handle;
    transaction->flags = writes ? 0 : DB_TXN_SNAPSHOT;
    DB_ENV *env = transaction->connection->store->env;
    *result = transaction;
    return env->txn_begin(env, NULL, &transaction->txn, transaction->flags);
}

int berkeleydb_commit(void *handle) {
    struct transaction *transaction = handle;
    int code = transaction->txn->commit(transaction->txn, 0);
    free(transaction);
    return code;
}

void berkeleydb_abort(void *handle) {
    struct transaction *transaction = handle;
    if (transaction->txn) transaction->txn->abort(transaction->txn);
    free(transaction);
}

static DBT given(const void *data, size_t len) {
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = (void *)data;
    dbt.size = len;
    return dbt;
}

int berkeleydb_get(void *handle, const void *key, size_t key_len, const void **value, size_t *len) {
    struct transaction *transaction = handle;
    struct connection *connection = transaction->connection;
    DB *db = connection->store->db;
    DBT wanted = given(key, key_len);
    int code = db->get(db, transaction->txn, &wanted, &connection->value, 0);
    *value = connection->value.data;
    *len = connection->value.size;
    return code == DB_NOTFOUND ? MISSING : code;
}

/* Whether the first change of a transaction had to give way, and may be tried again in a new one. */
static int again(struct transaction *transaction, int code) {
    DB_ENV *env = transaction->connection->store->env;
    if (code != DB_LOCK_DEADLOCK || transaction->changes > 0) return 0;
    transaction->txn->abort(transaction->txn);
    return env->txn_begin(env, NULL, &transaction->txn, transaction->flags) == 0;
}

int berkeleydb_put(void *handle, const void *key, size_t key_len, const void *value, size_t len) {
    struct transaction *transaction = handle;
    DB *db = transaction->connection->store->db;
    DBT record_key = given(key, key_len), record_value = given(value, len);
    int code;
    do code = db->put(db, transaction->txn, &record_key, &record_value, 0);
    while (again(transaction, code));
    transaction->changes++;
    return code;
}

int berkeleydb_remove(void *handle, const void *key, size_t key_len) {
    struct transaction *transaction = handle;
    DB *db = transaction->connection->store->db;
    DBT record_key = given(key, key_len);
    int code;
    do code = db->del(db, transaction->txn, &record_key, 0);
    while (again(transaction, code));
    transaction->changes++;
    return code;
}

int berkeleydb_cursor(void *handle, void **result) {
    struct transaction *transaction = handle;
    struct cursor *cursor = calloc(1, sizeof *cursor);
    DB *db = transaction->connection->store->db;
    cursor->connection = transaction->connection;
    *result = cursor;
    return db->cursor(db, transaction->txn, &cursor->cursor, 0);
}

static int moved(struct cursor *cursor, uint32_t how, const void **data, size_t *lens) {
    struct connection *connection = cursor->connection;
    int code = cursor->cursor->get(cursor->cursor, &connection->key, &connection->found, how);
    data[0] = connection->key.data;
    data[1] = connection->found.data;
    lens[0] = connection->key.size;
    lens[1] = connection->found.size;
    return code == DB_NOTFOUND ? MISSING : code;
}

int berkeleydb_next(void *cursor, const void **data, size_t *lens) {
    return moved(cursor, DB_NEXT, data, lens);
}

int berkeleydb_previous(void *cursor, const void **data, size_t *lens) {
    return moved(cursor, DB_PREV, data, lens);
}

int berkeleydb_seek(void *handle, const void *key, size_t len, const void **data, size_t *lens) {
    struct cursor *cursor = handle;
    DBT *place = &cursor->connection->key;
    place->data = realloc(place->data, len);
    place->size = len;
    memcpy(place->data, key, len);
    return moved(cursor, DB_SET_RANGE, data, lens);
}

void berkeleydb_cursor_close(void *handle) {
    struct cursor *cursor = handle;
    if (cursor->cursor) cursor->cursor->close(cursor->cursor);
    free(cursor);
}

const char *berkeleydb_error(int code) { return db_strerror(code); }
