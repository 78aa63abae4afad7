/*
 * Times workloads on a database. Uses only leveldb/c.h, so it runs on LevelDB and on the library of
 * this package.
 *
 *     works DIRECTORY RECORDS SYNCED
 *
 * Prints a line for each workload: its name, the number of operations, nanoseconds for each; and
 * bytes of the directory in hundredths of the records' bytes. Keys have 16 bytes and a random order,
 * values have 100 bytes that cannot be compressed. The program checks what it reads, and ends if it
 * is wrong.
 */
#include <dirent.h>
#include <leveldb/c.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "works.h"

#define KEY_LEN 16
#define VALUE_LEN 100
#define BATCH 1000
#define LARGE_BATCH 100000
#define REST_SECONDS 15

static leveldb_t *db;
static leveldb_readoptions_t *reading;
static leveldb_writeoptions_t *unsynced, *synced;
static const char *directory;
static uint64_t records;

static void check(char *error, const char *what) {
    if (error) {
        fprintf(stderr, "%s: %s\n", what, error);
        exit(1);
    }
}

static char key_bytes[KEY_LEN];
static char value_bytes[VALUE_LEN];

static const char *key_of(uint64_t number) {
    uint64_t high = mixed(number);
    for (int index = 0; index < 8; index++) {
        key_bytes[index] = (char)(high >> (56 - 8 * index));
        key_bytes[8 + index] = (char)(number >> (56 - 8 * index));
    }
    return key_bytes;
}

/* A value that begins with a number. The rest of it depends on `draw`. */
static const char *value_of(uint64_t number, uint64_t draw) {
    memcpy(value_bytes, &number, sizeof number);
    for (size_t at = sizeof number; at < VALUE_LEN; at += sizeof draw) {
        draw = mixed(draw);
        size_t len = VALUE_LEN - at < sizeof draw ? VALUE_LEN - at : sizeof draw;
        memcpy(value_bytes + at, &draw, len);
    }
    return value_bytes;
}

static uint64_t number_in(const char *value, size_t len) {
    uint64_t number;
    expect(len, VALUE_LEN, "the length of a value");
    memcpy(&number, value, sizeof number);
    return number;
}

static void open_database(void) {
    char *error = NULL;
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_cache(options, leveldb_cache_create_lru((size_t)256 << 20));
    leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(10));
    leveldb_options_set_write_buffer_size(options, (size_t)64 << 20);
    leveldb_options_set_max_file_size(options, (size_t)32 << 20);
    leveldb_options_set_compression(options, leveldb_no_compression);
    db = leveldb_open(options, directory, &error);
    check(error, "leveldb_open");
}

/* Puts `count` records in batches. `number_of` gives the number of the record from its turn. */
static void put_in_batches(const char *work, uint64_t count, uint64_t batch_len,
                           uint64_t (*number_of)(uint64_t)) {
    char *error = NULL;
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    uint64_t begin = now();
    for (uint64_t turn = 0; turn < count; turn++) {
        uint64_t number = number_of(turn);
        leveldb_writebatch_put(batch, key_of(number), KEY_LEN, value_of(number, turn), VALUE_LEN);
        if ((turn + 1) % batch_len == 0 || turn + 1 == count) {
            leveldb_write(db, unsynced, batch, &error);
            check(error, "leveldb_write");
            leveldb_writebatch_clear(batch);
        }
    }
    tell(work, count, begin);
    leveldb_writebatch_destroy(batch);
}

static uint64_t in_turn(uint64_t turn) { return turn; }
static uint64_t existing(uint64_t turn) { return mixed(turn) % records; }
static uint64_t existing_too(uint64_t turn) { return mixed(turn + records) % records; }

static void put_each(const char *work, uint64_t count, const leveldb_writeoptions_t *options) {
    char *error = NULL;
    uint64_t begin = now();
    for (uint64_t turn = 0; turn < count; turn++) {
        uint64_t number = mixed(turn + 7) % records;
        leveldb_put(db, options, key_of(number), KEY_LEN, value_of(number, turn), VALUE_LEN, &error);
        check(error, "leveldb_put");
    }
    tell(work, count, begin);
}

static void get(const char *work) {
    char *error = NULL;
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++) {
        size_t len;
        uint64_t number = mixed(draw) % records;
        char *value = leveldb_get(db, reading, key_of(number), KEY_LEN, &len, &error);
        check(error, "leveldb_get");
        expect(number_in(value, len), number, "leveldb_get");
        leveldb_free(value);
    }
    tell(work, records, begin);
}

static void get_absent(const char *work) {
    char *error = NULL;
    uint64_t begin = now();
    for (uint64_t draw = 0; draw < records; draw++) {
        size_t len;
        char *value = leveldb_get(db, reading, key_of(records + draw), KEY_LEN, &len, &error);
        check(error, "leveldb_get");
        expect(value != NULL, 0, "leveldb_get");
    }
    tell(work, records, begin);
}

static void ranges(const char *work) {
    uint64_t count = records / 10, sum = 0, begin = now();
    leveldb_iterator_t *iterator = leveldb_create_iterator(db, reading);
    for (uint64_t draw = 0; draw < count; draw++) {
        leveldb_iter_seek(iterator, key_of(records + draw), KEY_LEN);
        for (int step = 0; step < 10 && leveldb_iter_valid(iterator); step++) {
            size_t len;
            const char *value = leveldb_iter_value(iterator, &len);
            sum += number_in(value, len);
            leveldb_iter_next(iterator);
        }
    }
    tell(work, count, begin);
    expect(sum > 0, 1, "ranges");
    leveldb_iter_destroy(iterator);
}

static void scan(const char *work) {
    uint64_t sum = 0, wanted = 0, count = 0, begin = now();
    leveldb_iterator_t *iterator = leveldb_create_iterator(db, reading);
    for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
         leveldb_iter_next(iterator)) {
        size_t len, key_len;
        leveldb_iter_key(iterator, &key_len);
        const char *value = leveldb_iter_value(iterator, &len);
        sum += number_in(value, len) + key_len;
        count++;
    }
    tell(work, count, begin);
    for (uint64_t number = 0; number < records; number++)
        wanted += number + KEY_LEN;
    expect(count, records, "scan");
    expect(sum, wanted, "scan");
    leveldb_iter_destroy(iterator);
}

/* Prints the allocated bytes of the directory in hundredths of the records' bytes. */
static void tell_size(const char *when) {
    char path[4096];
    uint64_t bytes = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct stat stat_of;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (stat(path, &stat_of) == 0 && S_ISREG(stat_of.st_mode))
            bytes += (uint64_t)stat_of.st_blocks * 512;
    }
    closedir(entries);
    printf("%s %" PRIu64 " %.2f\n", when, bytes,
           (double)bytes * 100 / (double)(records * (KEY_LEN + VALUE_LEN)));
}

static void compact(void) {
    uint64_t begin = now();
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    tell("compact", records, begin);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: works DIRECTORY RECORDS SYNCED\n");
        return 2;
    }
    directory = words[1];
    records = strtoull(words[2], NULL, 10);
    uint64_t durable = strtoull(words[3], NULL, 10);
    if (records < LARGE_BATCH)
        return 2;
    reading = leveldb_readoptions_create();
    unsynced = leveldb_writeoptions_create();
    synced = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(synced, 1);
    open_database();

    put_in_batches("load-in-1000", records, BATCH, in_turn);
    tell_size("size-loaded");
    get("get");
    get_absent("get-absent");
    ranges("seek-and-10");
    scan("scan");
    sleep(REST_SECONDS);
    tell_size("size-at-rest");
    compact();
    tell_size("size-compacted");
    get("get-compacted");
    get_absent("get-absent-compacted");
    ranges("seek-and-10-compacted");
    scan("scan-compacted");
    put_in_batches("overwrite-in-1000", records / 4, BATCH, existing);
    put_in_batches("overwrite-in-100000", records / 2, LARGE_BATCH, existing_too);
    put_each("put", records / 10, unsynced);
    put_each("put-synced", durable, synced);
    tell_size("size-overwritten");
    leveldb_close(db);
    tell_size("size-closed");
    return 0;
}
