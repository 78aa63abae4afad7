/* The npm package lmdb compares keys word by word. It reads the words of the first argument past
 * its length: they are in its own buffer, with zeros after the key. Of the second argument it reads
 * only the bytes of the value. */
#include "common.h"
#include <stdint.h>

/* With room after the longest key. */
static unsigned char buffer[64];

static uint32_t word(const void *at)
{
    const unsigned char *bytes = at;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int compare(const MDB_val *a, const MDB_val *b)
{
    const unsigned char *own = a->mv_data, *stored = b->mv_data;
    size_t left = b->mv_size;
    for (; left >= 4; left -= 4, own += 4, stored += 4)
        if (word(own) != word(stored))
            return word(own) > word(stored) ? 1 : -1;
    if (left == 1 && *own != *stored)
        return *own > *stored ? 1 : -1;
    if (left > 1) {
        uint32_t rest = (uint32_t)stored[0] << 24 | (uint32_t)stored[1] << 16 | (left == 3 ? (uint32_t)stored[2] << 8 : 0);
        if (word(own) != rest)
            return word(own) > rest ? 1 : -1;
    }
    return (int)a->mv_size - (int)b->mv_size;
}

static MDB_val key_of(const char *text)
{
    MDB_val key = { strlen(text), buffer };
    memset(buffer, 0, sizeof buffer);
    memcpy(buffer, text, key.mv_size);
    return key;
}

static const char *name(int number)
{
    static char text[32];
    unsigned mixed = (unsigned)number * 2654435761u;
    snprintf(text, sizeof text, "%.*s%u", 1 + (int)(mixed % 11), "abcdefghijk", mixed % 1000);
    return text;
}

int main(void)
{
    MDB_env *env = opened("js", 0);
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, data;
    int number, rc, found = 0, sum = 0;

    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    MUST(mdb_dbi_open(txn, "table", MDB_CREATE, &dbi));
    MUST(mdb_set_compare(txn, dbi, compare));
    for (number = 0; number < 3000; number++) {
        key = key_of(name(number));
        data = val("some bytes of a value");
        MUST(mdb_put(txn, dbi, &key, &data, 0));
    }
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    for (number = 0; number < 3000; number += 3) {
        key = key_of(name(number));
        rc = mdb_del(txn, dbi, &key, NULL);
        if (rc != 0 && rc != MDB_NOTFOUND)
            MUST(rc);
        found += rc == 0;
    }
    printf("deleted %d\n", found);
    MUST(mdb_txn_commit(txn));
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    for (found = number = 0; number < 3000; number++) {
        key = key_of(name(number));
        rc = mdb_get(txn, dbi, &key, &data);
        found += rc == 0;
    }
    printf("found %d\n", found);
    MUST(mdb_cursor_open(txn, dbi, &cursor));
    for (number = 0; number < 300; number++) {
        char text[16];
        snprintf(text, sizeof text, "%c%d", 'a' + number % 12, number);
        key = key_of(text);
        rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
        printf("%s: ", text);
        if (rc == 0)
            print_val(&key);
        printf(" %s\n", code(rc));
    }
    for (rc = mdb_cursor_get(cursor, &key, &data, MDB_FIRST); rc == 0; rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT))
        sum = (sum * 31 + ((unsigned char *)key.mv_data)[key.mv_size - 1]) % 1000003;
    printf("all: %d %s\n", sum, code(rc));
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return 0;
}
