/* Tables and records, one by one and many in one call. */
#include "common.h"

static void one_by_one(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table ages = create(txn, "ages");
  teak_slice ada = teak_text("Ada"), bob = teak_text("Bob"), value;
  check(teak_insert(txn, ages, ada, teak_text("36"), &error));
  assert(teak_insert_new(txn, ages, ada, teak_text("37"), &error) == TEAK_NONE);
  check(teak_insert_new(txn, ages, bob, teak_text(""), &error));
  check(teak_get(txn, ages, ada, &value, &error));
  assert(is_text(value, "36"));
  check(teak_get(txn, ages, bob, &value, &error));
  assert(value.len == 0);
  check(teak_update(txn, ages, bob, teak_text("8"), &error));
  assert(teak_update(txn, ages, teak_text("Eve"), teak_text("8"), &error) == TEAK_NONE);
  check(teak_contains(txn, ages, bob, &error));
  assert(teak_contains(txn, ages, teak_text("Eve"), &error) == TEAK_NONE);
  check(teak_remove(txn, ages, bob, &error));
  assert(teak_remove(txn, ages, bob, &error) == TEAK_NONE);
  assert(teak_get(txn, ages, bob, &value, &error) == TEAK_NONE);
  assert(value.data == NULL && value.len == 0);
  check(teak_append(txn, ages, teak_text("Zoe"), teak_text("1"), &error));
  refused(teak_append(txn, ages, teak_text("Yve"), teak_text("1"), &error), TEAK_NOT_SORTED);
  uint64_t id = 0;
  check(teak_txn_commit(txn, &id, &error));
  assert(id == 1);

  txn = begin_read(db);
  check(teak_txn_id(txn, &id, &error));
  assert(id == 1);
  check(teak_get(txn, ages, ada, &value, &error));
  check(teak_txn_end(txn, &error));
}

static void many_at_once(teak_db db) {
  enum { COUNT = 1000 };
  static char texts[COUNT][16];
  static teak_record records[COUNT];
  static teak_slice keys[COUNT], values[COUNT];
  for (int i = 0; i < COUNT; i++) {
    snprintf(texts[i], sizeof texts[i], "key %05d", (i * 7919) % COUNT);
    keys[i] = teak_text(texts[i]);
    records[i] = (teak_record){keys[i], teak_text(texts[i] + 4)};
  }
  teak_txn txn = begin_write(db);
  teak_table table = create(txn, "many");
  uint64_t count = 0;
  check(teak_insert_many(txn, table, records, COUNT, &count, &error));
  assert(count == COUNT);
  check(teak_remove_many(txn, table, keys, 10, &count, &error));
  assert(count == 10);
  check(teak_remove_many(txn, table, keys, 10, NULL, &error));
  check(teak_txn_commit(txn, NULL, &error));

  txn = begin_read(db);
  size_t found = 0;
  check(teak_get_many(txn, table, keys, COUNT, values, &found, &error));
  assert(found == COUNT - 10);
  for (int i = 0; i < COUNT; i++) {
    assert((values[i].data == NULL) == (i < 10));
    assert(i < 10 || is_text(values[i], texts[i] + 4));
  }
  check(teak_get_many(txn, table, NULL, 0, NULL, NULL, &error));
  teak_table_stat stat = {.size = sizeof stat};
  check(teak_table_get_stat(txn, table, &stat, &error));
  assert(stat.records == COUNT - 10 && stat.leaf_pages > 1 && stat.depth == 2 && stat.several_values == 0);
  check(teak_txn_end(txn, &error));

  txn = begin_write(db);
  teak_bound low = {.kind = TEAK_INCLUDED, .key = teak_text("key 00100")};
  teak_bound high = {.kind = TEAK_EXCLUDED, .key = teak_text("key 00900")};
  check(teak_remove_range(txn, table, low, high, &count, &error));
  assert(count >= 790 && count <= 800);
  check(teak_table_clear(txn, table, &error));
  check(teak_table_get_stat(txn, table, &stat, &error));
  assert(stat.records == 0);
  check(teak_txn_end(txn, &error));
}

static void large_values(teak_db db) {
  enum { LEN = 3 << 20 };
  char *large = malloc(LEN);
  for (int i = 0; i < LEN; i++) large[i] = (char)(i * 31 >> 3);
  teak_txn txn = begin_write(db);
  teak_table table = create(txn, "large");
  check(teak_insert(txn, table, teak_text("one"), teak_bytes(large, LEN), &error));
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_read(db);
  uint64_t before, after;
  check(teak_txn_read_faults(txn, &before, &error));
  teak_slice value;
  check(teak_get(txn, table, teak_text("one"), &value, &error));
  assert(value.len == LEN && memcmp(value.data, large, LEN) == 0);
  check(teak_txn_read_faults(txn, &after, &error));
  assert(before == after);
  check(teak_txn_end(txn, &error));
  free(large);
}

static int note(void *user, teak_slice name, uint32_t several_values) {
  char *names = user;
  strncat(names, name.data, name.len);
  strcat(names, several_values ? "+" : ",");
  return is_text(name, "ages");
}

static void tables(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table_options options = {.size = sizeof options, .several_values = 1};
  teak_table lines, again;
  check(teak_table_create(txn, teak_text("lines"), &options, &lines, &error));
  check(teak_table_create(txn, teak_text("lines"), &options, &again, &error));
  assert(lines.number == again.number);
  check(teak_table_open(txn, teak_text("lines"), &again, &error));
  assert(lines.number == again.number);
  refused(teak_table_create(txn, teak_text("lines"), NULL, &again, &error), TEAK_TABLE_MISMATCH);
  assert(again.number == 0);
  teak_slice value;
  refused(teak_get(txn, lines, teak_text("teak"), &value, &error), TEAK_TABLE_MISMATCH);
  teak_record pairs[] = {{teak_text("teak"), teak_text("3")}, {teak_text("teak"), teak_text("5")}};
  uint64_t count;
  check(teak_insert_many(txn, lines, pairs, 2, &count, &error));
  assert(count == 2);
  char names[100] = "";
  assert(teak_table_each(txn, note, names, &error) == TEAK_NONE);
  assert(strcmp(names, "ages,") == 0);
  check(teak_table_drop(txn, teak_text("ages"), &error));
  assert(teak_table_drop(txn, teak_text("ages"), &error) == TEAK_NONE);
  check(teak_table_rename(txn, teak_text("many"), teak_text("few"), &error));
  refused(teak_table_rename(txn, teak_text("many"), teak_text("x"), &error), TEAK_TABLE_NOT_FOUND);
  refused(teak_table_rename(txn, teak_text("few"), teak_text("lines"), &error), TEAK_TABLE_EXISTS);
  names[0] = 0;
  check(teak_table_each(txn, note, names, &error));
  assert(strcmp(names, "few,large,lines+") == 0);
  uint64_t first;
  check(teak_table_draw_sequence(txn, lines, 10, &first, &error));
  assert(first == 0);
  check(teak_table_draw_sequence(txn, lines, 1, &first, &error));
  assert(first == 10);
  refused(teak_table_draw_sequence(txn, lines, UINT64_MAX, &first, &error), TEAK_SEQUENCE_EXHAUSTED);
  check(teak_txn_end(txn, &error));
}

static void savepoints(teak_db db) {
  teak_txn txn = begin_write(db);
  teak_table table = create(txn, "saved");
  uint64_t outer, inner;
  check(teak_txn_savepoint(txn, &outer, &error));
  check(teak_insert(txn, table, teak_text("a"), teak_text("1"), &error));
  check(teak_txn_savepoint(txn, &inner, &error));
  check(teak_insert(txn, table, teak_text("b"), teak_text("1"), &error));
  check(teak_txn_roll_back_to(txn, inner, &error));
  assert(teak_contains(txn, table, teak_text("b"), &error) == TEAK_NONE);
  check(teak_contains(txn, table, teak_text("a"), &error));
  check(teak_txn_roll_back_to(txn, outer, &error));
  assert(teak_contains(txn, table, teak_text("a"), &error) == TEAK_NONE);
  refused(teak_txn_roll_back_to(txn, inner, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_release(txn, outer, &error));
  refused(teak_txn_release(txn, outer, &error), TEAK_INVALID_ARGUMENT);
  check(teak_txn_checkpoint(txn, NULL, &error));
  check(teak_insert(txn, table, teak_text("c"), teak_text("1"), &error));
  check(teak_txn_roll_back(txn, &error));
  assert(teak_contains(txn, table, teak_text("c"), &error) == TEAK_NONE);
  check(teak_txn_end(txn, &error));
  txn = begin_read(db);
  check(teak_table_open(txn, teak_text("saved"), &table, &error));
  check(teak_txn_end(txn, &error));
}

/* Values of a small transaction, whose memory grows meanwhile, as arguments. */
static void own_values(teak_db db) {
  char text[32];
  teak_table table;
  for (int round = 0; round < 2; round++) {
    teak_txn txn = begin_write(db);
    check(teak_txn_set_durability(txn, TEAK_DURABILITY_LAZY, &error));
    table = create(txn, "own");
    check(teak_insert(txn, table, teak_text("z0"), teak_text("a value of some length"), &error));
    for (int i = 0; i < 200 * round; i++) {
      teak_slice value;
      snprintf(text, sizeof text, "z%d", i);
      check(teak_get(txn, table, teak_text(text), &value, &error));
      snprintf(text, sizeof text, "z%d", i + 1);
      check(teak_insert(txn, table, teak_text(text), value, &error));
      snprintf(text, sizeof text, "a%d", 999 - i);
      check(teak_insert(txn, table, teak_text(text), teak_text("other"), &error));
    }
    check(teak_txn_commit(txn, NULL, &error));
  }
  teak_txn txn = begin_write(db);
  check(teak_txn_set_durability(txn, TEAK_DURABILITY_LAZY, &error));
  enum { COUNT = 30 };
  static char keys[COUNT][16];
  teak_record records[COUNT];
  teak_slice value;
  check(teak_insert(txn, table, teak_text("own"), teak_text("stored just now"), &error));
  check(teak_get(txn, table, teak_text("own"), &value, &error));
  for (int i = 0; i < COUNT; i++) {
    snprintf(keys[i], sizeof keys[i], "m%02d", (i * 7) % COUNT);
    records[i] = (teak_record){teak_text(keys[i]), value};
  }
  check(teak_insert_many(txn, table, records, COUNT, NULL, &error));
  check(teak_txn_commit(txn, NULL, &error));
  txn = begin_read(db);
  check(teak_get(txn, table, teak_text("z200"), &value, &error));
  assert(is_text(value, "a value of some length"));
  for (int i = 0; i < COUNT; i++) {
    check(teak_get(txn, table, teak_text(keys[i]), &value, &error));
    assert(is_text(value, "stored just now"));
  }
  check(teak_txn_end(txn, &error));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak_db db = open_at(path_of(argv[1], "records.teak"));
  one_by_one(db);
  many_at_once(db);
  large_values(db);
  tables(db);
  savepoints(db);
  own_values(db);
  check(teak_db_close(db, &error));
  return 0;
}
