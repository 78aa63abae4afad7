// Records, transactions and handles: moves, rollbacks at the end of a scope, and refusals.
#include "common.hpp"

static void bytes() {
  const std::string text = "ash";
  const std::string_view view = text;
  const char *const address = "ash";
  const std::vector<std::byte> vector{std::byte{'a'}, std::byte{'s'}, std::byte{'h'}};
  const std::array<unsigned char, 3> array{'a', 's', 'h'};
  const unsigned char raw[] = {'a', 's', 'h'};
  for (const teak::bytes_view bytes :
       {teak::bytes_view(text), teak::bytes_view(view), teak::bytes_view(address), teak::bytes_view("ash"), teak::bytes_view(vector),
        teak::bytes_view(array), teak::bytes_view(raw), teak::bytes_view(raw, 3)}) {
    assert(bytes == "ash" && !(bytes != "ash") && bytes < "asi" && bytes.size() == 3);
    assert(bytes.to_string() == text && bytes.to_vector() == vector && bytes[1] == std::byte{'s'});
  }
  assert(teak::bytes_view(std::string_view("a\0b", 3)).size() == 3);
  assert(teak::bytes_view().empty() && teak::bytes_view().to_string().empty());
  assert(teak::big_endian(std::uint32_t{1}) < teak::big_endian(std::uint32_t{256}));
  assert(teak::little_endian(std::uint16_t{0x0102})[0] == std::byte{2});
  assert(teak::from_big_endian<std::uint64_t>(teak::big_endian(UINT64_MAX - 1)) == UINT64_MAX - 1);
  assert(teak::from_little_endian<std::uint8_t>(teak::little_endian(std::uint8_t{200})) == 200);
  assert(refuses<teak::decode>([] { return teak::from_big_endian<std::uint32_t>("abc"); }));
}

static void one_by_one(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table ages = txn.create_table("ages");
  assert(!txn.open_table("no such table"));
  assert(!ages.get(txn, "Ada") && !ages.contains(txn, "Ada"));
  ages.insert(txn, "Ada", "36");
  assert(*ages.get(txn, std::string("Ada")) == "36");
  assert(!ages.insert_new(txn, "Ada", "37") && ages.insert_new(txn, "Grace", "85"));
  assert(ages.update(txn, "Ada", "37") && !ages.update(txn, "Bob", "1"));
  ages.append(txn, "Zoe", "");
  assert(ages.get(txn, "Zoe")->empty());
  assert(refuses<teak::not_sorted>([&] { return ages.append(txn, "Bob", "1"), 0; }));
  assert(ages.compare_and_swap(txn, "door", std::nullopt, "mine"));
  assert(!ages.compare_and_swap(txn, "door", std::nullopt, "mine"));
  assert(ages.compare_and_swap(txn, "door", "mine", std::nullopt));
  assert(ages.remove(txn, "Zoe") && !ages.remove(txn, "Zoe"));
  assert(ages.remove_many(txn, {"Ada", "Bob"}) == 1);
  assert(ages.stat(txn).records == 1 && ages.count(txn, teak::range()) == 1);
  ages.clear(txn);
  assert(ages.draw_sequence(txn, 5) + 5 == ages.draw_sequence(txn, 1));
  txn.commit();
}

static void many(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table numbers = txn.create_table("numbers", teak::table_options().order(teak::order::integer).counted());
  std::vector<std::array<std::byte, 8>> keys;
  std::vector<teak::record> records;
  std::vector<teak::bytes_view> views;
  for (std::uint64_t i = 0; i < 1000; i++) keys.push_back(teak::little_endian(i * 7 % 1000));
  for (const auto &key : keys) records.push_back({key, key});
  for (const auto &key : keys) views.push_back(key);
  assert(numbers.insert_many(txn, records) == 1000);
  assert(numbers.insert_many(txn, records) == 0);
  const auto missing = teak::little_endian(std::uint64_t{5000});
  views.push_back(missing);
  const auto found = numbers.get_many(txn, views);
  for (std::size_t i = 0; i < 1000; i++) assert(*found[i] == views[i]);
  assert(found.size() == 1001 && !found.back());
  assert(numbers.get_many(txn, {keys[0], missing})[0] && numbers.get_many(txn, std::vector<teak::bytes_view>()).empty());
  const teak::range range = teak::range::after(teak::little_endian(std::uint64_t{9})).until(teak::little_endian(std::uint64_t{20}));
  assert(numbers.count(txn, range) == 10);
  const teak::estimate about = numbers.estimate(txn, range);
  assert(about.at_least <= 10 && about.at_most >= 10);
  assert(numbers.remove_range(txn, range) == 10 && numbers.stat(txn).records == 990);
  assert(numbers.compare_keys(txn, keys[1], teak::little_endian(std::uint64_t{256})) < 0);
  assert(refuses<teak::invalid_argument>([&] { return numbers.insert(txn, "no integer", ""), 0; }));
}

static void handles_move(teak::database &db) {
  teak::write_txn one = db.begin_write();
  one.create_table("moved");
  teak::write_txn other = std::move(one);
  assert(one.raw().handle == 0 && refuses<teak::invalid_handle>([&] { return one.id(); }));
  other = teak::write_txn();
  assert(!db.begin_read().open_table("moved"));
  teak::read_txn reader = db.begin_read(), clone = reader.clone();
  const std::uint64_t id = reader.id();
  reader.end();
  assert(clone.id() == id && !clone.refresh() && clone.read_faults() == 0);
  assert(refuses<teak::invalid_handle>([&] { return reader.id(); }));
  teak::database second = db.clone();
  teak::database third = std::move(second);
  second = std::move(third);
  assert(second.begin_read().id() == id && third.raw().handle == 0);
  second.close();
  assert(refuses<teak::invalid_handle>([&] { return second.begin_read().id(); }));
}

static void what_is_not_committed_is_undone(teak::database &db) {
  {
    teak::write_txn txn = db.begin_write();
    txn.create_table("undone");
  }
  try {
    teak::write_txn txn = db.begin_write();
    txn.create_table("undone");
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error &) {
  }
  assert(!db.begin_read().open_table("undone"));
  teak::write_txn txn = db.begin_write();
  teak::table words = txn.create_table("words");
  {
    teak::savepoint outer = txn.savepoint();
    words.insert(txn, "ash", "1");
    {
      teak::savepoint inner = txn.savepoint();
      words.insert(txn, "elm", "2");
    }
    assert(words.contains(txn, "ash") && !words.contains(txn, "elm"));
    outer.keep();
  }
  {
    teak::savepoint part = txn.savepoint();
    words.insert(txn, "oak", "3");
    part.roll_back();
    words.insert(txn, "elm", "2");
    teak::savepoint moved = std::move(part);
    moved.keep();
  }
  assert(words.stat(txn).records == 2);
  const std::uint64_t id = txn.checkpoint();
  words.clear(txn);
  txn.roll_back();
  assert(words.stat(txn).records == 2);
  txn.abort();
  assert(refuses<teak::invalid_handle>([&] { return txn.commit(); }));
  const teak::read_txn reader = db.begin_read();
  assert(reader.id() == id && words.stat(reader).records == 2);
}

/// A savepoint that outlives its transaction has nothing to undo.
static void savepoints_end_with_their_transaction(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table late = txn.create_table("late");
  teak::savepoint part = txn.savepoint();
  late.insert(txn, "ash", "1");
  txn.commit();
  teak::write_txn other = db.begin_write();
  assert(late.contains(other, "ash"));
}

static void errors(teak::database &db, const std::string &directory) {
  using teak::options;
  assert(refuses<teak::file_not_found>(
      [&] { return teak::database::open(directory + "/none", options().create(teak::create::never)); }));
  assert(refuses<teak::invalid_argument>([&] { return teak::database::open(std::string("a\0b", 3)); }));
  assert(refuses<teak::invalid_argument>([&] { return teak::database::open(directory + "/x", options().page_size(5)); }));
  teak::write_txn txn = db.begin_write();
  assert(refuses<teak::busy>([&] { return db.begin_write(); }));
  assert(!db.begin_write_within(std::chrono::milliseconds(0)));
  assert(refuses<teak::busy>([&] { return db.close(), 0; }));
  teak::table table = txn.create_table("plain");
  txn.create_multi_table("several");
  assert(refuses<teak::table_mismatch>([&] { return txn.open_table("several"); }));
  assert(refuses<teak::table_mismatch>([&] { return txn.open_multi_table("plain"); }));
  assert(refuses<teak::table_mismatch>([&] { return txn.create_multi_table("plain"); }));
  assert(refuses<teak::key_too_long>([&] { return table.insert(txn, std::string(5000, 'a'), ""), 0; }));
  txn.rename_table("plain", "renamed");
  assert(refuses<teak::table_exists>([&] { return txn.rename_table("renamed", "several"), 0; }));
  assert(txn.drop_table("renamed") && !txn.drop_table("renamed"));
  teak::database other = teak::database::open(directory + "/other.teak");
  const teak::read_txn elsewhere = other.begin_read();
  assert(refuses<teak::wrong_database>([&] { return table.get(elsewhere, "ash"); }));
  try {
    static_cast<void>(table.get(elsewhere, "ash"));
  } catch (const teak::error &error) {
    const teak::error copy = error;
    assert(copy.is<teak::wrong_database>() && !copy.is<teak::full>() && copy.details().page == UINT64_MAX);
    assert(std::string(copy.what()) == error.what());
  }
}

static void the_order_of_ends_does_not_matter(const std::string &path) {
  teak::write_txn txn;
  teak::read_txn reader;
  teak::table table;
  {
    teak::database db = teak::database::open(path);
    txn = db.begin_write();
    table = txn.create_table("words");
    reader = db.begin_read();
  }
  table.insert(txn, "ash", "1");
  txn.commit();
  assert(!reader.open_table("words"));
  reader.end();
  teak::database again = teak::database::open(path);
  assert(again.begin_read().open_table("words"));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const std::string directory = argv[1];
  bytes();
  teak::database db = teak::database::open(directory + "/records.teak");
  one_by_one(db);
  many(db);
  handles_move(db);
  what_is_not_committed_is_undone(db);
  savepoints_end_with_their_transaction(db);
  errors(db, directory);
  db.close();
  the_order_of_ends_does_not_matter(directory + "/order.teak");
}
