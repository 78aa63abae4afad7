/* WiredTiger behind the few functions that the Rust side calls. A return of 0 is success, MISSING a record that is not there, anything else
 * one of WiredTiger's codes. A transaction that met another one's record with its first change is begun anew. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wiredtiger.h>

enum { MISSING = 1 };
enum { DURABLE = 0 };

static const char *const TABLE = "table:records";

struct store { WT_CONNECTION *wt; };
struct connection { WT_SESSION *session; WT_CURSOR *cursor; };
struct transaction { struct connection *connection; int changes; };

int wiredtiger_shim_open(const char *directory, int mode, uint64_t cache_bytes, void **result) {
    char config[512];
    struct store *store = calloc(1, sizeof *store);
    WT_SESSION *session;
    *result = store;
    snprintf(config, sizeof config,
        "create,session_max=1100,cache_size=%lluMB,checkpoint=(wait=60,log_size=1GB),log=(enabled=true,file_max=256MB),"
        "transaction_sync=(enabled=%s,method=fsync)",
        (unsigned long long)(cache_bytes >> 20) + 1, mode == DURABLE ? "true" : "false");
    int code = wiredtiger_open(directory, NULL, config, &store->wt);
    if (code == 0) code = store->wt->open_session(store->wt, NULL, NULL, &session);
    if (code == 0) {
        code = session->create(session, TABLE, "key_format=u,value_format=u");
        session->close(session, NULL);
    }
    return code;
}

int wiredtiger_shim_sync(void *handle) {
    WT_CONNECTION *wt = ((struct store *)handle)->wt;
    WT_SESSION *session;
    int code = wt->open_session(wt, NULL, NULL, &session);
    if (code != 0) return code;
    code = session->checkpoint(session, NULL);
    session->close(session, NULL);
    return code;
}

void wiredtiger_shim_close(void *handle) {
    struct store *store = handle;
    if (store->wt) store->wt->close(store->wt, NULL);
    free(store);
}

int wiredtiger_shim_connect(void *handle, void **result) {
    WT_CONNECTION *wt = ((struct store *)handle)->wt;
    struct connection *connection = calloc(1, sizeof *connection);
    *result = connection;
    int code = wt->open_session(wt, NULL, "isolation=snapshot", &connection->session);
    if (code != 0) return code;
    WT_SESSION *session = connection->session;
    return session->open_cursor(session, TABLE, NULL, NULL, &connection->cursor);
}

void wiredtiger_shim_disconnect(void *handle) {
    struct connection *connection = handle;
    if (connection->session) connection->session->close(connection->session, NULL);
    free(connection);
}

int wiredtiger_shim_begin(void *handle, int writes, void **result) {
    struct transaction *transaction = calloc(1, sizeof *transaction);
    (void)writes;
    transaction->connection = handle;
    *result = transaction;
    WT_SESSION *session = transaction->connection->session;
    return session->begin_transaction(session, NULL);
}

int wiredtiger_shim_commit(void *handle) {
    struct transaction *transaction = handle;
    struct connection *connection = transaction->connection;
    connection->cursor->reset(connection->cursor);
    free(transaction);
    return connection->session->commit_transaction(connection->session, NULL);
}

void wiredtiger_shim_abort(void *handle) {
    struct transaction *transaction = handle;
    struct connection *connection = transaction->connection;
    connection->cursor->reset(connection->cursor);
    connection->session->rollback_transaction(connection->session, NULL);
    free(transaction);
}

static WT_CURSOR *at(struct transaction *transaction, const void *key, size_t len) {
    WT_CURSOR *cursor = transaction->connection->cursor;
    WT_ITEM item = {.data = key, .size = len};
    cursor->set_key(cursor, &item);
    return cursor;
}

int wiredtiger_shim_get(void *handle, const void *key, size_t key_len, const void **value, size_t *len) {
    WT_CURSOR *cursor = at(handle, key, key_len);
    WT_ITEM item;
    int code = cursor->search(cursor);
    if (code == 0) code = cursor->get_value(cursor, &item);
    if (code == 0) {
        *value = item.data;
        *len = item.size;
    }
    return code == WT_NOTFOUND ? MISSING : code;
}

/* Whether the first change of a transaction had to give way, and may be tried again in a new one. */
static int again(struct transaction *transaction, int code) {
    WT_SESSION *session = transaction->connection->session;
    if (code != WT_ROLLBACK || transaction->changes > 0) return 0;
    session->rollback_transaction(session, NULL);
    return session->begin_transaction(session, NULL) == 0;
}

int wiredtiger_shim_put(void *handle, const void *key, size_t key_len, const void *value, size_t len) {
    struct transaction *transaction = handle;
    WT_ITEM item = {.data = value, .size = len};
    int code;
    do {
        WT_CURSOR *cursor = at(transaction, key, key_len);
        cursor->set_value(cursor, &item);
        code = cursor->insert(cursor);
    } while (again(transaction, code));
    transaction->changes++;
    return code;
}

int wiredtiger_shim_remove(void *handle, const void *key, size_t key_len) {
    struct transaction *transaction = handle;
    int code;
    do {
        WT_CURSOR *cursor = at(transaction, key, key_len);
        code = cursor->remove(cursor);
    } while (again(transaction, code));
    transaction->changes++;
    return code;
}

int wiredtiger_shim_cursor(void *handle, void **result) {
    WT_CURSOR *cursor = ((struct transaction *)handle)->connection->cursor;
    *result = cursor;
    return cursor->reset(cursor);
}

static int shown(WT_CURSOR *cursor, int code, const void **data, size_t *lens) {
    WT_ITEM key, value;
    if (code == 0) code = cursor->get_key(cursor, &key);
    if (code == 0) code = cursor->get_value(cursor, &value);
    if (code == 0) {
        data[0] = key.data;
        data[1] = value.data;
        lens[0] = key.size;
        lens[1] = value.size;
    }
    return code == WT_NOTFOUND ? MISSING : code;
}

int wiredtiger_shim_next(void *handle, const void **data, size_t *lens) {
    WT_CURSOR *cursor = handle;
    return shown(cursor, cursor->next(cursor), data, lens);
}

int wiredtiger_shim_previous(void *handle, const void **data, size_t *lens) {
    WT_CURSOR *cursor = handle;
    return shown(cursor, cursor->prev(cursor), data, lens);
}

int wiredtiger_shim_seek(void *handle, const void *key, size_t len, const void **data, size_t *lens) {
    WT_CURSOR *cursor = handle;
    WT_ITEM item = {.data = key, .size = len};
    int exact = 0;
    cursor->set_key(cursor, &item);
    int code = cursor->search_near(cursor, &exact);
    if (code == 0 && exact < 0) code = cursor->next(cursor);
    return shown(cursor, code, data, lens);
}

void wiredtiger_shim_cursor_close(void *handle) {
    WT_CURSOR *cursor = handle;
    cursor->reset(cursor);
}

const char *wiredtiger_shim_error(int code) { return wiredtiger_strerror(code); }
