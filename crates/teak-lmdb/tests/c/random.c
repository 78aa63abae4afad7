/* Random calls, for SEEDS seeds from SEED on. After others have changed its table, a cursor first
 * searches for a record. */
#include "common.h"
#include <stdint.h>

#define COUNT(array) (sizeof array / sizeof *array)

static uint64_t state;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 20) % limit;
}

/* The arguments of the running call. A comparison must receive them first. */
static const MDB_val *passed_key, *passed_data;
static int wrong_calls;

static int by_bytes(const MDB_val *a, const MDB_val *b)
{
    size_t len = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int diff = memcmp(a->mv_data, b->mv_data, len);
    wrong_calls += b == passed_key || b == passed_data;
    return diff ? diff : a->mv_size < b->mv_size ? -1 : a->mv_size > b->mv_size;
}

static int descending(const MDB_val *a, const MDB_val *b)
{
    return -by_bytes(a, b);
}

/* Ignores the last byte. */
static int by_beginning(const MDB_val *a, const MDB_val *b)
{
    MDB_val x = *a, y = *b;
    wrong_calls += b == passed_key || b == passed_data;
    x.mv_size -= x.mv_size != 0;
    y.mv_size -= y.mv_size != 0;
    return by_bytes(&x, &y);
}

static struct table {
    const char *name;
    unsigned flags, key_len, value_len; /* 0 for any length */
    MDB_cmp_func *keys, *values;
    MDB_dbi dbi;
} tables[] = {
    { "plain", 0, 0, 0 },
    { "reverse", MDB_REVERSEKEY, 0, 0 },
    { "integers", MDB_INTEGERKEY, 8, 0 },
    { "descending", 0, 0, 0, descending },
    { "several", MDB_DUPSORT, 0, 0 },
    { "backwards", MDB_DUPSORT | MDB_REVERSEDUP, 0, 0 },
    { "fixed", MDB_DUPSORT | MDB_DUPFIXED, 0, 6 },
    { "numbers", MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP, 4, 8 },
    { "both", MDB_DUPSORT, 0, 0, descending, descending },
    { "beginnings", MDB_DUPSORT, 0, 5, NULL, by_beginning },
};

/* Transactions: write transactions, each nested in the previous one, and read transactions. */
#define DEPTH 3
#define READERS 2
static MDB_env *env;
static char path[16];
static MDB_txn *writers[DEPTH], *readers[READERS];
static int depth, is_reset[READERS];

static struct slot {
    MDB_cursor *cursor;
    struct table *table;
    int reader; /* -1 for a cursor of the writer */
    int depth; /* of the write transaction that has opened it */
    int is_stale; /* It must search first. */
    int is_in_gap; /* It has deleted its record. */
    int was_last; /* It was on the last record. LMDB remembers that too long. */
} slots[6];

static unsigned char key_bytes[600], data_bytes[40000], many_bytes[4096];

static const char letters[] = "abcz";

static MDB_val any_key(struct table *table)
{
    MDB_val key = { table->key_len, key_bytes };
    unsigned i;
    if (!key.mv_size)
        switch (below(40)) {
        case 0: key.mv_size = below(600); break;
        case 1: key.mv_size = 511; break;
        default: key.mv_size = 1 + below(table->flags & MDB_DUPSORT ? 2 : 5);
        }
    else if (!below(100))
        key.mv_size = 0;
    memset(key_bytes, 0, 8);
    if (table->key_len)
        key_bytes[0] = below(table->flags & MDB_DUPSORT ? 8 : 250), key_bytes[1] = below(4);
    else
        for (i = 0; i < key.mv_size; i++)
            key_bytes[i] = letters[below(table->flags & MDB_DUPSORT ? 2 : 4)];
    return key;
}

static MDB_val any_data(struct table *table)
{
    MDB_val data = { table->value_len, data_bytes };
    unsigned i;
    if (!data.mv_size) {
        if (table->flags & MDB_DUPSORT)
            data.mv_size = below(30) ? 1 + below(6) : 1 + below(600);
        else
            data.mv_size = below(30) ? below(60) : below(40000);
    }
    for (i = 0; i < data.mv_size && i < 700; i++)
        data_bytes[i] = table->flags & MDB_INTEGERDUP ? (i < 2 ? below(16) : 0) : letters[below(4)];
    return data;
}

static void print_long(const MDB_val *v)
{
    MDB_val head = { v->mv_size < 20 ? v->mv_size : 20, v->mv_data };
    unsigned sum = 0;
    size_t i;
    if (!v->mv_data && v->mv_size) {
        printf("null");
        return;
    }
    for (i = 0; i < v->mv_size; i++)
        sum = sum * 31 + ((unsigned char *)v->mv_data)[i];
    print_val(&head);
    if (v->mv_size > 20)
        printf("...%zu:%x", v->mv_size, sum);
}

static int show(int rc)
{
    printf(": %s", code(rc));
    if (wrong_calls)
        printf(" compared the wrong way round");
    wrong_calls = 0;
    return rc;
}

static void pass(const MDB_val *key, const MDB_val *data)
{
    passed_key = key;
    passed_data = data;
}

static void changed(struct table *table, struct slot *by)
{
    unsigned i;
    for (i = 0; i < COUNT(slots); i++)
        if (slots[i].cursor && slots[i].reader < 0 && slots[i].table == table && &slots[i] != by)
            slots[i].is_stale = 1;
}

static void close_slots(int reader, int from_depth)
{
    unsigned i;
    for (i = 0; i < COUNT(slots); i++) {
        struct slot *slot = &slots[i];
        if (!slot->cursor || (slot->reader >= 0) != (reader >= 0))
            continue;
        if (reader >= 0 ? slot->reader != reader : slot->depth < from_depth)
            continue;
        mdb_cursor_close(slot->cursor);
        slot->cursor = NULL;
    }
}

/* An open transaction of either kind; NULL if there is none. */
static MDB_txn *any_txn(int *reader)
{
    *reader = (int)below(READERS + 3) - 3;
    if (*reader < 0) {
        *reader = -1;
        return depth ? writers[depth - 1] : NULL;
    }
    return readers[*reader] && !is_reset[*reader] ? readers[*reader] : NULL;
}

static unsigned any_flags(struct table *table)
{
    static const unsigned all[] = { MDB_NOOVERWRITE, MDB_NODUPDATA, MDB_APPEND, MDB_APPENDDUP };
    unsigned flags = 0;
    if (below(3))
        return 0;
    flags |= all[below(4)];
    if (!below(4))
        flags |= all[below(4)];
    if (!(table->flags & MDB_DUPSORT)) {
        flags &= ~MDB_APPENDDUP;
        if (!below(3))
            flags |= MDB_RESERVE;
    }
    return flags;
}

/* The client writes to the reserved memory, and makes other calls in between. */
static void fill(struct table *table, MDB_val *key, MDB_val *data, unsigned flags, int rc)
{
    MDB_val other = any_key(table), found;
    if (rc || !(flags & MDB_RESERVE))
        return;
    memset(data->mv_data, 'q', data->mv_size);
    pass(&other, NULL);
    show(mdb_get(writers[depth - 1], table->dbi, &other, &found));
    if (below(2) && !show(mdb_get(writers[depth - 1], table->dbi, key, &found)))
        print_long(&found);
    memset(data->mv_data, 'r', data->mv_size);
}

static void put(struct table *table)
{
    MDB_val key = any_key(table), data = any_data(table), old;
    unsigned flags = any_flags(table);
    int rc;
    if (table->flags & MDB_DUPSORT && !below(20) && data.mv_size <= 511 && key.mv_size
        && mdb_get(writers[depth - 1], table->dbi, &key, &old) == MDB_NOTFOUND) {
        flags = MDB_RESERVE;
    }
    printf("put %s %x ", table->name, flags);
    print_long(&key);
    printf("=");
    print_long(&data);
    pass(&key, &data);
    rc = show(mdb_put(writers[depth - 1], table->dbi, &key, &data, flags));
    fill(table, &key, &data, flags, rc);
    if (rc == MDB_KEYEXIST && flags & MDB_NOOVERWRITE && !(flags & MDB_APPEND)) {
        printf(" ");
        print_long(&data);
    }
    changed(table, NULL);
}

static void del(struct table *table)
{
    MDB_val key = any_key(table), data = any_data(table);
    int is_whole = below(2);
    printf("del %s %d ", table->name, is_whole);
    print_long(&key);
    printf("=");
    print_long(&data);
    pass(&key, &data);
    show(mdb_del(writers[depth - 1], table->dbi, &key, is_whole ? NULL : &data));
    changed(table, NULL);
}

static void get(struct table *table)
{
    int reader, rc;
    MDB_txn *txn = any_txn(&reader);
    MDB_val key = any_key(table), data = { 0, NULL }, other = any_data(table), mine = any_data(table);
    MDB_stat stat;
    if (!txn)
        return;
    printf("get %d %s ", reader, table->name);
    print_long(&key);
    pass(&key, NULL);
    rc = show(mdb_get(txn, table->dbi, &key, &data));
    if (!rc)
        print_long(&data);
    MUST(mdb_stat(txn, table->dbi, &stat));
    printf(" of %zu", stat.ms_entries);
    mine.mv_data = many_bytes;
    memcpy(many_bytes, "abab", 4);
    mine.mv_size = other.mv_size = table->value_len ? table->value_len : 3;
    pass(NULL, NULL);
    if (table->flags & MDB_DUPSORT) {
        rc = mdb_dcmp(txn, table->dbi, &mine, &other);
        printf(" %d", rc < 0 ? -1 : rc > 0);
    }
}

static void open_cursor(void)
{
    struct slot *slot = &slots[below(COUNT(slots))];
    struct table *table = &tables[below(COUNT(tables))];
    int reader;
    MDB_txn *txn = any_txn(&reader);
    if (slot->cursor) {
        printf("close");
        mdb_cursor_close(slot->cursor);
        slot->cursor = NULL;
        return;
    }
    if (!txn)
        return;
    printf("open %d %s", reader, table->name);
    if (show(mdb_cursor_open(txn, table->dbi, &slot->cursor)))
        exit(1);
    slot->table = table;
    slot->reader = reader;
    slot->depth = depth;
    slot->is_stale = slot->is_in_gap = slot->was_last = 0;
}

static void move(struct slot *slot)
{
    static const MDB_cursor_op all[] = { MDB_NEXT, MDB_NEXT, MDB_PREV, MDB_FIRST, MDB_LAST, MDB_SET, MDB_SET_KEY, MDB_SET_RANGE,
        MDB_GET_CURRENT, MDB_NEXT_NODUP, MDB_PREV_NODUP, MDB_GET_BOTH, MDB_GET_BOTH_RANGE, MDB_NEXT_DUP, MDB_PREV_DUP, MDB_FIRST_DUP,
        MDB_LAST_DUP };
    static const MDB_cursor_op from_gap[] = { MDB_SET_RANGE, MDB_NEXT, MDB_PREV };
    static const MDB_cursor_op absolute[] = { MDB_FIRST, MDB_LAST, MDB_SET, MDB_SET_KEY, MDB_SET_RANGE };
    struct table *table = slot->table;
    MDB_val key = any_key(table), data = any_data(table);
    MDB_cursor_op op = slot->is_stale ? absolute[below(COUNT(absolute))]
        : slot->is_in_gap ? from_gap[below(table->flags & MDB_DUPSORT || slot->was_last ? 1 : 3)] : all[below(COUNT(all))];
    size_t count;
    int rc;
    printf("move %d %s %d ", (int)(slot - slots), table->name, op);
    print_long(&key);
    printf("=");
    print_long(&data);
    pass(&key, &data);
    rc = show(mdb_cursor_get(slot->cursor, &key, &data, op));
    if (op == MDB_FIRST || op == MDB_LAST || op == MDB_SET || op == MDB_SET_KEY || op == MDB_SET_RANGE)
        slot->is_stale = rc != 0;
    if (op == MDB_GET_BOTH || op == MDB_GET_BOTH_RANGE)
        slot->is_stale |= rc != 0;
    slot->is_stale |= slot->is_in_gap && rc;
    if (op == MDB_LAST || rc)
        slot->was_last = 1;
    else if (op == MDB_FIRST || op == MDB_SET || op == MDB_SET_KEY || op == MDB_SET_RANGE)
        slot->was_last = 0;
    slot->is_in_gap = 0;
    if (!rc) {
        printf(" ");
        /* Whether LMDB returns the key of a single value depends on the previous number of values. */
        if (op != MDB_FIRST_DUP && op != MDB_LAST_DUP)
            print_long(&key);
        printf("=");
        print_long(&data);
        if (table->flags & MDB_DUPSORT) {
            MUST(mdb_cursor_count(slot->cursor, &count));
            printf(" of %zu", count);
        }
    }
}

static void put_at(struct slot *slot)
{
    struct table *table = slot->table;
    MDB_val key = any_key(table), data[2] = { any_data(table) }, old_key, old;
    unsigned flags = any_flags(table);
    int rc;
    if (!slot->is_stale && !slot->is_in_gap && !below(3) && !mdb_cursor_get(slot->cursor, &old_key, &old, MDB_GET_CURRENT)) {
        flags = MDB_CURRENT;
        /* LMDB moves the record of the cursor before it copies the key. */
        key.mv_size = old_key.mv_size;
        memcpy(key_bytes, old_key.mv_data, old_key.mv_size);
        if (table->flags & MDB_DUPSORT) {
            /* LMDB does not move a value that belongs elsewhere in the order. */
            memcpy(data_bytes, old.mv_data, old.mv_size);
            data->mv_size = old.mv_size;
            if (table->values == by_beginning)
                data_bytes[old.mv_size - 1] = letters[below(4)];
        }
    }
    printf("put at %d %s %x ", (int)(slot - slots), table->name, flags);
    print_long(&key);
    printf("=");
    print_long(data);
    pass(&key, data);
    rc = show(mdb_cursor_put(slot->cursor, &key, data, flags));
    fill(table, &key, data, flags, rc);
    changed(table, slot);
    slot->is_stale = rc != 0;
    slot->is_in_gap = 0;
}

/* All values of a key in one call. They fit into one page. */
static void get_many(struct slot *slot)
{
    MDB_val key = any_key(slot->table), data = { 0, NULL };
    size_t count;
    int rc;
    printf("get many at %d ", (int)(slot - slots));
    print_long(&key);
    pass(&key, NULL);
    slot->is_in_gap = 0;
    slot->is_stale = show(mdb_cursor_get(slot->cursor, &key, &data, MDB_SET_KEY)) != 0;
    if (slot->is_stale)
        return;
    MUST(mdb_cursor_count(slot->cursor, &count));
    printf(" of %zu", count);
    if (count > 40)
        return;
    rc = show(mdb_cursor_get(slot->cursor, &key, &data, MDB_GET_MULTIPLE));
    if (!rc)
        print_long(&data);
    rc = show(mdb_cursor_get(slot->cursor, &key, &data, MDB_NEXT_MULTIPLE));
    if (!rc)
        print_long(&data);
    slot->is_stale = 1;
}

/* Calls whose key and value are one MDB_val. */
static void same(struct table *table)
{
    MDB_val both = any_key(table);
    int rc;
    if (table->value_len)
        return;
    printf("same %s ", table->name);
    print_long(&both);
    pass(&both, &both);
    show(mdb_put(writers[depth - 1], table->dbi, &both, &both, 0));
    rc = show(mdb_get(writers[depth - 1], table->dbi, &both, &both));
    if (!rc)
        print_long(&both);
    changed(table, NULL);
}

static void same_at(struct slot *slot)
{
    static const MDB_cursor_op all[] = { MDB_FIRST, MDB_LAST, MDB_SET, MDB_SET_KEY, MDB_SET_RANGE };
    MDB_val both = any_key(slot->table);
    MDB_cursor_op op = all[below(COUNT(all))];
    int rc;
    printf("same at %d %d ", (int)(slot - slots), op);
    print_long(&both);
    pass(&both, NULL);
    rc = show(mdb_cursor_get(slot->cursor, &both, &both, op));
    if (!rc)
        print_long(&both);
    slot->was_last = 1;
    slot->is_stale = rc != 0;
    slot->is_in_gap = 0;
}

/* Whether a cursor is on the last key. */
static int is_on_last(struct slot *slot)
{
    MDB_cursor *other;
    MDB_val key, last, data;
    int is_last;
    if (mdb_cursor_get(slot->cursor, &key, &data, MDB_GET_CURRENT))
        return 0;
    MUST(mdb_cursor_open(writers[depth - 1], slot->table->dbi, &other));
    MUST(mdb_cursor_get(other, &last, &data, MDB_LAST));
    is_last = key.mv_size == last.mv_size && !memcmp(key.mv_data, last.mv_data, key.mv_size);
    mdb_cursor_close(other);
    return is_last;
}

static void del_at(struct slot *slot)
{
    unsigned flags = below(4) ? 0 : MDB_NODUPDATA;
    if (slot->is_stale || slot->is_in_gap)
        return;
    /* A put by the cursor does not change that. */
    slot->was_last |= is_on_last(slot);
    printf("del at %d %s %x", (int)(slot - slots), slot->table->name, flags);
    slot->is_in_gap = !show(mdb_cursor_del(slot->cursor, flags));
    changed(slot->table, slot);
}

static void put_many(struct slot *slot)
{
    struct table *table = slot->table;
    MDB_val key = any_key(table), data[2] = { { table->value_len, many_bytes }, { 1 + below(60), NULL } }, old;
    unsigned i, start = below(200), count = data[1].mv_size;
    int rc;
    /* LMDB stops at the only value of a key. */
    if (mdb_get(writers[depth - 1], table->dbi, &key, &old) != MDB_NOTFOUND)
        return;
    memset(many_bytes, 0, table->value_len * count);
    for (i = 0; i < count; i++)
        many_bytes[i * table->value_len] = start + i * 7;
    printf("put many at %d %s %zu ", (int)(slot - slots), table->name, data[1].mv_size);
    print_long(&key);
    pass(&key, data);
    rc = show(mdb_cursor_put(slot->cursor, &key, data, MDB_MULTIPLE));
    printf(" %zu", data[1].mv_size);
    changed(table, slot);
    slot->is_stale = rc || slot->was_last;
    slot->is_in_gap = 0;
}

static void stale_all(void)
{
    unsigned i;
    for (i = 0; i < COUNT(slots); i++)
        if (slots[i].reader < 0)
            slots[i].is_stale = 1;
}

static void begin_or_end(void)
{
    if (depth < DEPTH && (!depth || !below(3))) {
        printf("begin %d", depth);
        show(mdb_txn_begin(env, depth ? writers[depth - 1] : NULL, 0, &writers[depth]));
        stale_all();
        depth++;
        return;
    }
    close_slots(-1, depth);
    depth--;
    if (below(3)) {
        printf("commit %d", depth);
        show(mdb_txn_commit(writers[depth]));
    } else {
        printf("abort %d", depth);
        mdb_txn_abort(writers[depth]);
    }
    stale_all();
}

static void read_or_end(void)
{
    int i = below(READERS);
    if (!readers[i]) {
        printf("read %d", i);
        is_reset[i] = 0;
        show(mdb_txn_begin(env, NULL, MDB_RDONLY, &readers[i]));
    } else if (is_reset[i]) {
        printf("renew %d", i);
        show(mdb_txn_renew(readers[i]));
        is_reset[i] = 0;
    } else {
        close_slots(i, 0);
        is_reset[i] = below(2);
        printf("%s %d", is_reset[i] ? "reset" : "end", i);
        if (is_reset[i]) {
            mdb_txn_reset(readers[i]);
        } else {
            mdb_txn_abort(readers[i]);
            readers[i] = NULL;
        }
    }
}

static void open_table(MDB_txn *txn, struct table *table)
{
    MUST(mdb_dbi_open(txn, table->name, table->flags | MDB_CREATE, &table->dbi));
    if (table->keys)
        MUST(mdb_set_compare(txn, table->dbi, table->keys));
    if (table->values)
        MUST(mdb_set_dupsort(txn, table->dbi, table->values));
}

static void open_environment(void)
{
    MDB_txn *txn;
    unsigned i;
    MUST(mdb_env_create(&env));
    MUST(mdb_env_set_maxdbs(env, COUNT(tables)));
    MUST(mdb_env_set_mapsize(env, 1 << 28));
    MUST(mdb_env_open(env, path, MDB_NOTLS | MDB_NOSYNC, 0644));
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    for (i = 0; i < COUNT(tables); i++)
        open_table(txn, &tables[i]);
    MUST(mdb_txn_commit(txn));
}

/* Calls while no transaction is open. */
static void change_states(struct table *table)
{
    MDB_txn *txn;
    int is_committed = below(2);
    if (depth || readers[0] || readers[1])
        return;
    switch (below(3)) {
    case 0:
        printf("reopen");
        close_slots(0, 0);
        close_slots(1, 0);
        mdb_env_close(env);
        open_environment();
        return;
    case 1:
        printf("drop %s", table->name);
        MUST(mdb_txn_begin(env, NULL, 0, &txn));
        show(mdb_drop(txn, table->dbi, 1));
        if (is_committed)
            MUST(mdb_txn_commit(txn));
        else
            mdb_txn_abort(txn);
        break;
    default:
        printf("close %s", table->name);
        mdb_dbi_close(env, table->dbi);
    }
    MUST(mdb_txn_begin(env, NULL, 0, &txn));
    open_table(txn, table);
    MUST(mdb_txn_commit(txn));
}

static void clear(struct table *table)
{
    unsigned i;
    printf("clear %s", table->name);
    show(mdb_drop(writers[depth - 1], table->dbi, 0));
    for (i = 0; i < COUNT(slots); i++)
        if (slots[i].reader < 0 && slots[i].table == table)
            slots[i].is_stale = 1;
}

static void print_table(MDB_txn *txn, struct table *table)
{
    MDB_cursor *cursor;
    MDB_val key, data;
    printf("%s:", table->name);
    MUST(mdb_cursor_open(txn, table->dbi, &cursor));
    while (!mdb_cursor_get(cursor, &key, &data, MDB_NEXT)) {
        printf(" ");
        print_long(&key);
        printf("=");
        print_long(&data);
    }
    mdb_cursor_close(cursor);
    printf("\n");
}

static void run(int seed)
{
    int i;
    state = 88172645463325252ull + seed * 2654435761u;
    sprintf(path, "%d", seed);
    mkdir(path, 0755);
    printf("seed %d\n", seed);
    for (i = 0; i < 20; i++)
        below(2);
    open_environment();
    for (i = 0; i < 3000; i++) {
        struct table *table = &tables[below(COUNT(tables))];
        struct slot *slot = &slots[below(COUNT(slots))];
        int is_writers = slot->cursor && slot->reader < 0;
        printf("%d ", i);
        switch (below(16)) {
        case 0: if (!below(4)) begin_or_end(); break;
        case 1: if (!below(2)) read_or_end(); break;
        case 2: get(table); break;
        case 3: open_cursor(); break;
        case 4: case 5: if (depth) put(table); break;
        case 6: if (depth) del(table); break;
        case 7:
            switch (below(30)) {
            case 0: if (depth) clear(table); break;
            case 1: case 2: case 3: change_states(table); break;
            case 4: case 5: case 6: if (depth) same(table); break;
            case 7: case 8: case 9: if (slot->cursor) same_at(slot); break;
            }
            break;
        case 8: case 9: if (is_writers) put_at(slot); break;
        case 10: if (is_writers) del_at(slot); break;
        case 11: if (is_writers && slot->table->flags & MDB_DUPFIXED)
                below(2) ? put_many(slot) : get_many(slot);
            break;
        default: if (slot->cursor) move(slot); break;
        }
        printf("\n");
        fflush(stdout);
    }
    close_slots(-1, 0);
    while (depth)
        MUST(mdb_txn_commit(writers[--depth]));
    for (i = 0; i < READERS; i++) {
        close_slots(i, 0);
        mdb_txn_abort(readers[i]);
        readers[i] = NULL;
    }
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &readers[0]));
    for (i = 0; i < (int)COUNT(tables); i++)
        print_table(readers[0], &tables[i]);
    mdb_txn_abort(readers[0]);
    readers[0] = NULL;
    mdb_env_close(env);
}

int main(void)
{
    const char *first = getenv("SEED"), *count = getenv("SEEDS");
    int seed = first ? atoi(first) : 1, last = seed + (count ? atoi(count) : 20);
    for (; seed < last; seed++)
        run(seed);
    return 0;
}
