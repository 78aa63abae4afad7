// Walks through ranges and values, and cursors.
#include "common.hpp"
#if __cplusplus >= 202002L
#include <span>
// Clang before 16 cannot compile the views of GCC's library.
#if !defined(__clang__) || __clang_major__ >= 16
#define HAS_VIEWS
#include <ranges>
#endif
#endif

static std::string number(unsigned number) {
  char text[16];
  std::snprintf(text, sizeof text, "%05u", number);
  return text;
}

/// The elements of a walk in either kind of transaction, as one text.
template <class Txn> std::string keys(const Txn &txn, teak::table table, const teak::range &range, bool backward = false) {
  std::string keys;
  for (auto [key, value] : backward ? table.records_back(txn, range) : table.records(txn, range)) {
    assert(key == value);
    keys += key.to_string() + ' ';
  }
  return keys;
}

template <class Txn> void bounds(const Txn &txn, teak::table table) {
  using teak::range;
  assert(keys(txn, table, range::from("00003").until("00007")) == "00004 00006 ");
  assert(keys(txn, table, range::from("00004").until("00008")) == "00004 00006 ");
  assert(keys(txn, table, range::from("00004").through("00008")) == "00004 00006 00008 ");
  assert(keys(txn, table, range::after("00004").through("00008")) == "00006 00008 ");
  assert(keys(txn, table, range::from("00004").through("00008"), true) == "00008 00006 00004 ");
  assert(keys(txn, table, range::after("00004").until("00008"), true) == "00006 ");
  assert(keys(txn, table, range::of("00004")) == "00004 " && keys(txn, table, range::of("00005")).empty());
  assert(keys(txn, table, range::prefix("0001")) == "00010 00012 00014 00016 00018 ");
  assert(keys(txn, table, range::from("00008").until("00004")).empty());
  assert(keys(txn, table, range::from("x")).empty() && keys(txn, table, range().until(""), true).empty());
  assert(keys(txn, table, range().until("00003")) == "00000 00002 ");
  for (const unsigned count : {0U, 1U, 3U, 4U, 5U, 15U, 16U, 17U, 20U, 21U, 83U, 84U, 85U, 339U, 340U, 341U, 2000U}) {
    unsigned walked = 0;
    for (auto [key, value] : table.records(txn, range().until(number(2 * count)))) assert(key == number(2 * walked++));
    assert(walked == count);
    for (auto [key, value] : table.records_back(txn, range::from(number(4000 - 2 * count))))
      assert(key == number(4000 - 2 * (count - walked-- + 1)));
    assert(walked == 0);
  }
  std::size_t all = 0;
  for (const auto &record : table.records(txn)) all += record.key.size() == 5;
  assert(all == 2000);
}

static void changed_on_the_way(teak::write_txn &txn, teak::table table) {
  unsigned walked = 0;
  for (auto [key, value] : table.records(txn, teak::range().until("00100"))) {
    const std::string here = key.to_string();
    assert(table.remove(txn, here));
    if (walked++ % 10 == 0) table.insert(txn, here + "a", here + "a");
  }
  assert(walked == 56); // records inserted after the position are seen
  assert(keys(txn, table, teak::range().until("00100")).size() == 0);
}

static void the_end_is_removed(teak::write_txn &txn, teak::table table) {
  std::string walked;
  for (auto [key, value] : table.records(txn, teak::range::from("01000").until("01006"))) {
    walked += key.to_string() + ' ';
    table.remove(txn, "01004");
  }
  assert(walked == "01000 01002 ");
}

static void by_hand(const teak::read_txn &txn, teak::table table) {
  auto walk = table.records(txn);
  auto at = walk.begin();
  assert(at != walk.end() && (*at).key == "00000");
  at++;
  assert((*at).key == "00002" && (*walk.begin()).key == "00002");
  auto moved = std::move(walk);
  assert((*++at).key == "00004");
#if defined(HAS_VIEWS)
  static_assert(std::input_iterator<decltype(at)> && std::ranges::input_range<decltype(moved)>);
  std::string keys;
  for (auto [key, value] : table.records(txn) | std::views::take(3)) keys += key.to_string();
  assert(keys == "000000000200004");
#endif
#if __cplusplus >= 202002L
  const std::span<const std::byte> span = (*at).key;
  assert(span.size() == 5 && teak::bytes_view(span) == "00004");
#endif
}

static void cursors(teak::write_txn &txn, teak::table table) {
  using teak::move, teak::seek, teak::delete_scope;
  teak::cursor cursor = table.open_cursor(txn);
  assert(cursor.move(txn, move::first)->key == "00000" && cursor.move(txn, move::last)->key == "03998");
  assert(!cursor.move(txn, move::next));
  assert(cursor.seek(txn, seek::at_least, "00003")->key == "00004" && cursor.seek(txn, seek::at_most, "00003")->key == "00002");
  assert(!cursor.seek(txn, seek::exact, "00003") && cursor.current(txn)->key == "00004");
  teak::cursor other = cursor.clone();
  assert(cursor.compare(other, txn) == 0 && other.move(txn, move::next) && cursor.compare(other, txn) == -1);
  other.reset();
  assert(!cursor.compare(other, txn));
  assert(cursor.update(txn, "new") && *table.get(txn, "00004") == "new");
  assert(!cursor.insert_new(txn, "00006", "new"));
  cursor.insert(txn, "00005", "five");
  assert(cursor.remove(txn, delete_scope::before) == 3 && cursor.remove(txn, delete_scope::before) == 0);
  assert(cursor.remove(txn, delete_scope::current) == 1 && cursor.move(txn, move::next)->key == "00006");
}

template <class Txn> void values(const Txn &txn, teak::multi_table lines) {
  std::uint32_t next = 0;
  for (teak::bytes_view value : lines.values(txn, "teak")) assert(teak::from_little_endian<std::uint32_t>(value) == next++);
  assert(next == 1000);
  for (teak::bytes_view value : lines.values_back(txn, "teak")) assert(teak::from_little_endian<std::uint32_t>(value) == --next);
  assert(next == 0);
  for (teak::bytes_view value : lines.values(txn, "pine")) assert(value.empty() && false);
  std::size_t pairs = 0;
  for (auto [key, value] : lines.pairs(txn)) pairs += key == "ash" || key == "teak" || key == "oak";
  assert(pairs == 1002 && lines.count(txn, teak::range()) == 1002);
  for (auto [key, value] : lines.pairs_back(txn, teak::range().until("teak"))) pairs -= key.size();
  assert(pairs == 1002 - 6);
}

static void several_values(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  const auto options = teak::multi_table_options().value_order(teak::order::integer).value_size(4);
  teak::multi_table lines = txn.create_multi_table("lines", options);
  const auto line = [](std::uint32_t number) { return teak::little_endian(number); };
  std::vector<std::array<std::byte, 4>> numbers;
  for (std::uint32_t i = 0; i < 1000; i++) numbers.push_back(line(i * 77 % 1000));
  const std::vector<teak::bytes_view> views(numbers.begin(), numbers.end());
  assert(lines.insert_values(txn, "teak", views) == 1000);
  assert(lines.insert(txn, "ash", line(3)) && !lines.insert(txn, "ash", line(3)));
  assert(lines.insert_many(txn, {{"oak", line(1)}, {"ash", line(3)}}) == 1);
  values(txn, lines);
  assert(lines.contains(txn, "ash", line(3)) && lines.count_values(txn, "teak") == 1000 && lines.count_values(txn, "x") == 0);
  assert(lines.compare_values(txn, line(255), line(256)) < 0);
  teak::multi_cursor cursor = lines.open_cursor(txn);
  assert(cursor.seek_pair(txn, teak::seek::exact, "teak", line(9)) && cursor.count_values(txn) == 1000);
  assert(cursor.move(txn, teak::move::next_value)->value == line(10) && cursor.clone().current(txn)->value == line(10));
  assert(cursor.seek_value(txn, teak::seek::less, "teak", line(256))->value == line(255));
  txn.commit();
  const teak::read_txn reader = db.begin_read();
  values(reader, lines);
  txn = db.begin_write();
  assert(lines.replace(txn, "ash", line(3), line(4)) && !lines.replace(txn, "ash", line(3), line(5)));
  assert(lines.remove(txn, "ash", line(4)) && !lines.remove(txn, "ash", line(4)));
  assert(lines.remove_key(txn, "teak") == 1000 && lines.remove_key(txn, "teak") == 0);
}

/// A walk that continues after the end of its transaction is an error.
static void walks_outlive_nothing(teak::database &db, teak::table table) {
  teak::write_txn txn = db.begin_write();
  auto walk = table.records(txn);
  auto at = walk.begin();
  txn.abort();
  assert(refuses<teak::invalid_handle>([&] { return ++at, 0; }));
  auto late = table.records(txn);
  assert(refuses<teak::invalid_handle>([&] { return late.begin() == late.end(); }));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak::database db = teak::database::open(argv[1] + std::string("/walks.teak"));
  teak::write_txn txn = db.begin_write();
  teak::table table = txn.create_table("numbers");
  for (unsigned i = 0; i < 2000; i++) table.append(txn, number(2 * i), number(2 * i));
  bounds(txn, table);
  txn.commit();
  const teak::read_txn reader = db.begin_read();
  bounds(reader, table);
  by_hand(reader, table);
  txn = db.begin_write();
  changed_on_the_way(txn, table);
  the_end_is_removed(txn, table);
  txn.roll_back();
  cursors(txn, table);
  txn.abort();
  several_values(db);
  walks_outlive_nothing(db, table);
}
