// Functions of the caller and their exceptions; snapshots, differences, tickets, backups, checks;
// threads.
#include "common.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>
#include <utility>
#include <vector>

struct thrown {
  int number;
};

static void what_functions_throw_comes_out(teak::database &db, const std::string &directory) {
  const teak::read_txn reader = db.begin_read();
  int calls = 0;
  const auto throws = [&](auto &&work) {
    try {
      work();
    } catch (const thrown &thrown) {
      return thrown.number == 7;
    }
    return false;
  };
  assert(throws([&] { reader.each_table([](std::string_view, bool) { throw thrown{7}; }); }));
  assert(throws([&] { db.backup(directory + "/none", [](std::uint64_t, std::uint64_t) { throw thrown{7}; }); }));
  assert(throws([&] { db.compact([](std::uint64_t, std::uint64_t) { throw thrown{7}; }); }));
  assert(throws([&] { db.compact_with(teak::compact_options(), [](std::uint64_t, std::uint64_t) { throw thrown{7}; }); }));
  assert(reader.each_table([&](std::string_view name, bool has_several) {
    calls++;
    assert(name == "words" && !has_several);
  }));
  assert(calls == 1);
  assert(!reader.each_table([](std::string_view, bool) { return teak::step::stop; }));
}

static int by_length(teak::bytes_view a, teak::bytes_view b) noexcept {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return std::memcmp(a.data(), b.data(), a.size());
}

static void orders_and_events(const std::string &path) {
  std::atomic<int> commits{0}, opened{0};
  auto count = [&](teak::event event, std::string_view text) noexcept {
    commits += event == teak::event::commit;
    opened += event == teak::event::opened && !text.empty();
  };
  const auto options = teak::options().comparison("by length", by_length).on_event(count);
  teak::database db = teak::database::open(path, options);
  teak::write_txn txn = db.begin_write();
  teak::table words = txn.create_table("words", teak::table_options().comparison("by length"));
  words.insert_many(txn, {{"teak", ""}, {"ash", ""}, {"sequoia", ""}, {"oak", ""}});
  txn.commit();
  const teak::read_txn reader = db.begin_read();
  std::string all;
  for (auto [key, value] : words.records(reader, teak::range::from("zzz").until("xxxxxxx"))) all += key.to_string() + ' ';
  assert(all == "teak sequoia " && words.compare_keys(reader, "zz", "aaa") < 0);
  assert(commits == 1 && opened == 1);
  assert(refuses<teak::options_differ>([&] { return teak::database::open(path, teak::options().sharing(teak::sharing::alone)); }));
}

static void slow_readers_are_asked_about(const std::string &path) {
  int asked = 0;
  auto ask = [&](const teak::slow_reader &reader) noexcept {
    asked++;
    return reader.wanted_pages > 0 ? teak::slow_reader_choice::give_up : teak::slow_reader_choice::grow;
  };
  teak::database db = teak::database::open(path, teak::options().on_slow_reader(ask));
  const auto write = [&](char byte) {
    teak::write_txn txn = db.begin_write();
    teak::table words = txn.create_table("words");
    for (std::uint32_t i = 0; i < 400; i++) words.insert(txn, teak::big_endian(i), std::string(2000, byte));
    return txn.commit();
  };
  const std::uint64_t first = write('a');
  const teak::read_txn slow = db.begin_read();
  try {
    for (char byte = 'b'; byte < 'z'; byte++) write(byte);
    assert(false);
  } catch (const teak::held_by_reader &error) {
    assert(asked > 0 && error.details().number == first && slow.id() == first);
  }
}

static void snapshots_and_differences(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table words = *txn.open_table("words");
  words.insert_many(txn, {{"ash", "1"}, {"elm", "2"}, {"oak", "3"}});
  txn.create_snapshot("monday");
  assert(refuses<teak::snapshot_exists>([&] { return txn.create_snapshot("monday"), 0; }));
  txn.commit();
  txn = db.begin_write();
  words.remove(txn, "ash");
  words.insert(txn, "elm", "20");
  words.insert(txn, "teak", "4");
  txn.commit();
  assert(!db.open_snapshot("tuesday"));
  const teak::read_txn monday = *db.open_snapshot("monday"), now = db.begin_read();
  std::string told;
  const auto tell = [&](const teak::difference &difference) {
    told += std::to_string(static_cast<std::uint32_t>(difference.change)) + difference.key.to_string() + ':' +
            difference.old_value.to_string() + ':' + difference.new_value.to_string() + ' ';
  };
  assert(words.each_difference(monday, now, tell));
  assert(told == "2ash:1: 1elm:2:20 0teak::4 ");
  assert(!words.each_difference(monday, now, [](const teak::difference &) { return teak::step::stop; }));
  const auto snapshots = db.snapshots();
  assert(snapshots.size() == 1 && snapshots[0].name == "monday" && snapshots[0].transaction == monday.id());
  assert(snapshots[0].time > std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50)));
  txn = db.begin_write();
  txn.roll_back_to_snapshot("monday");
  txn.commit();
  assert(*words.get(now, "elm") == "20");
  txn = db.begin_write();
  assert(*words.get(txn, "elm") == "2" && txn.drop_snapshot("monday") && !txn.drop_snapshot("monday"));
  assert(refuses<teak::snapshot_not_found>([&] { return txn.roll_back_to_snapshot("monday"), 0; }));
  txn.commit();
}

static void prepared_transactions(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table words = *txn.open_table("words");
  words.insert(txn, "fir", "5");
  const auto fir = [&](const teak::read_txn &reader) {
    const auto found = words.get(reader, "fir");
    return found ? found->to_string() : std::string();
  };
  const std::uint64_t id = txn.prepare("seven");
  const auto prepared = db.prepared();
  assert(prepared.size() == 1 && prepared[0].name == "seven" && prepared[0].transaction == id);
  assert(prepared[0].changed_pages > 0);
  assert(refuses<teak::transaction_prepared>([&] { return db.begin_write_within(std::chrono::milliseconds(0)), 0; }));
  assert(fir(db.begin_read()).empty() && fir(*db.open_prepared("seven")) == "5");
  assert(!db.open_prepared("eight"));
  assert(db.commit_prepared("seven") > id && fir(db.begin_read()) == "5");
  assert(refuses<teak::prepared_not_found>([&] { return db.commit_prepared("seven"), 0; }));
  txn = db.begin_write();
  words.remove(txn, "fir");
  txn.prepare("eight");
  db.roll_back_prepared("eight");
  assert(db.prepared().empty() && fir(db.begin_read()) == "5");
  txn = db.begin_write();
  words.remove(txn, "fir");
  txn.commit();
}

/// Records that are generated while they are read, with an error in the middle.
struct made {
  struct iterator {
    std::uint32_t at;
    std::pair<std::string, std::string> operator*() const {
      if (at == 900) throw thrown{7};
      return {"a long key, so that it has memory of its own " + std::to_string(10000 + at), "value"};
    }
    iterator &operator++() {
      at++;
      return *this;
    }
    bool operator==(const iterator &other) const { return at == other.at; }
    bool operator!=(const iterator &other) const { return at != other.at; }
  };
  std::uint32_t count;
  iterator begin() const { return {0}; }
  iterator end() const { return {count}; }
};

static void loading(const std::string &path) {
  teak::database db = teak::database::open(path);
  teak::write_txn txn = db.begin_write();
  teak::table made_table = txn.create_table("made"), trees = txn.create_table("trees");
  assert(made_table.bulk_load(txn, made{500}) == 500);
  try {
    trees.bulk_load(txn, made{1000});
    assert(false);
  } catch (const thrown &thrown) {
    assert(thrown.number == 7);
  }
  assert(trees.stat(txn).records == 0);
  const std::vector<teak::record> records = {{"oak", "1"}, {"ash", "2"}, {"oak", "3"}};
  assert(refuses<teak::not_sorted>([&] { return trees.bulk_load(txn, records); }));
  std::uint64_t told = 0;
  const auto note = [&](std::uint64_t done, std::uint64_t) { told = done; };
  assert(trees.bulk_load_unsorted(txn, records, {1 << 16, {}, note}) == 2 && *trees.get(txn, "oak") == "3");
  assert(told == 2);
  teak::multi_table lines = txn.create_multi_table("lines"), some = txn.create_multi_table("some");
  const std::multimap<std::string, std::string> pairs = {{"ash", "1"}, {"ash", "2"}, {"elm", "3"}};
  assert(lines.bulk_load(txn, pairs) == 3);
  assert(lines.copy_range(txn, teak::range::of("ash"), some) == 2 && some.count_values(txn, "ash") == 2);
  assert(trees.move_range(txn, teak::range(), made_table) == 2 && trees.stat(txn).records == 0);
  assert(refuses<teak::invalid_argument>([&] { return trees.copy_range(txn, teak::range(), trees); }));
  const teak::commit_latency latency = txn.commit_measured();
  assert(latency.whole_ns > 0 && latency.wait_ns <= latency.whole_ns);
  assert(db.metrics().commits == 1);
  teak::read_txn reader = db.begin_read();
  teak::parked_txn parked = reader.park();
  assert(refuses<teak::invalid_handle>([&] { return reader.id(); }));
  reader = parked.resume();
  assert(*made_table.get(reader, "ash") == "2");
  const teak::read_txn clone = reader.clone();
  assert(refuses<teak::invalid_argument>([&] { return reader.park(), 0; }));
  teak::parked_txn left = db.begin_read().park();
}

static void tickets(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  txn.set_durability(teak::durability::lazy);
  txn.create_table("lazy");
  const std::uint64_t id = txn.commit();
  teak::ticket lazy = db.ticket_of(id);
  txn = db.begin_write();
  txn.create_table("async");
  teak::ticket ticket = txn.commit_async();
  assert(ticket.descriptor() >= 0 && ticket.transaction() > id);
  ticket.wait();
  assert(ticket.poll() && ticket.wait_for(std::chrono::milliseconds(0)) && lazy.poll());
  db.begin_sync().wait();
  db.sync();
  teak::ticket none;
  assert(refuses<teak::invalid_handle>([&] { return none.poll(); }));
  teak::read_txn reader = db.begin_read();
  txn = db.begin_write_at(reader);
  txn.create_table("more");
  txn.commit();
  assert(refuses<teak::snapshot_stale>([&] { return db.begin_write_at(reader); }));
  assert(reader.refresh() && !reader.refresh());
}

static void backups(teak::database &db, const std::string &directory) {
  std::uint64_t calls = 0;
  assert(db.backup(directory + "/told.teak", [&](std::uint64_t done, std::uint64_t total) { calls += done <= total; }) && calls > 0);
  assert(!db.backup(directory + "/stopped.teak", [](std::uint64_t, std::uint64_t) { return teak::step::stop; }));
  db.backup(directory + "/backup.teak");
  db.backup_compact(directory + "/compact.teak");
  assert(refuses<teak::file_exists>([&] { return db.backup(directory + "/backup.teak"), 0; }));
  for (const char *name : {"/told.teak", "/backup.teak", "/compact.teak"}) {
    teak::database copy = teak::database::open(directory + name);
    const teak::read_txn reader = copy.begin_read();
    assert(*reader.open_table("words")->get(reader, "oak") == "3");
    assert(copy.check().damages == 0);
    assert(!copy.check_watched([](std::uint64_t, std::uint64_t) { return teak::step::stop; }));
    assert(copy.check_watched([](std::uint64_t, std::uint64_t) {})->damages == 0);
  }
  db.compact();
  const teak::compact_report report = db.compact_with(teak::compact_options().until_free_percent(50).pause(std::chrono::milliseconds(1)));
  assert(report.obstacle == teak::compact_obstacle::reached && report.file_bytes > 0);
  assert(refuses<teak::invalid_argument>([&] { return db.compact_with(teak::compact_options().until_free_percent(101)); }));
  {
    teak::write_txn txn = db.begin_write();
    std::thread waiting([&] {
      const auto options = teak::compact_options().max_wait(std::chrono::milliseconds(1));
      assert(db.compact_with(options).obstacle == teak::compact_obstacle::writers);
    });
    waiting.join();
    assert(*db.writer_process() == static_cast<std::uint32_t>(getpid()));
  }
  assert(teak::lock_file_of(directory + "/x") == std::filesystem::canonical(directory).string() + "/x-lock");
  assert(!teak::remedy(ENOSPC).empty() && teak::remedy(EINTR).empty());
  assert(db.stat().table_count == db.check().tables && db.stat().page_size == 4096);
}

static void damage_is_told_of(teak::database &db, const std::string &path) {
  db.backup(path);
  {
    std::FILE *file = std::fopen(path.c_str(), "r+b");
    assert(file);
    std::fseek(file, 0, SEEK_END);
    const long end = std::ftell(file);
    for (long at = 4 * 4096 + 100; at < end; at += 4096) {
      std::fseek(file, at, SEEK_SET);
      std::fputs("what was never written there", file);
    }
    std::fclose(file);
  }
  try {
    teak::database copy = teak::database::open(path);
    int told = 0;
    const teak::check_report report = copy.check([&](const teak::damage &damage) { told += !damage.detail.empty(); });
    assert(report.damages > 0 && told > 0);
  } catch (const teak::corrupted &error) {
    assert(error.details().page != UINT64_MAX);
  }
}

static void salvage_orders(const std::string &directory) {
  const std::string source = directory + "/ordered.teak", lock = directory + "/ordered.lock";
  {
    teak::database db = teak::database::open(
        source, teak::options().comparison("by length", by_length).lock_file(lock).file_mode(0600).leave_lock_file());
    assert(std::ifstream(lock).good());
    teak::write_txn txn = db.begin_write();
    txn.create_table("words", teak::table_options().comparison("by length")).insert(txn, "oak", "1");
    txn.commit();
  }
  assert(std::ifstream(lock).good());
  assert(teak::salvage(source, directory + "/without.teak")->records == 0);
  const auto stopping = teak::salvage_options().comparison("by length", by_length).progress([](std::uint64_t, std::uint64_t) {
    return teak::step::stop;
  });
  assert(!teak::salvage(source, directory + "/with.teak", stopping));
  std::uint64_t pages = 0;
  std::string text;
  const auto with = teak::salvage_options()
                        .comparison("by length", by_length)
                        .each_line([&](std::string_view line) { text += line; })
                        .progress([&](std::uint64_t, std::uint64_t total) { pages = total; });
  const teak::salvage_report report = *teak::salvage(source, directory + "/with.teak", with);
  assert(report.records == 1 && report.is_complete && pages > 0 && text.find("words") != std::string::npos);
}

static void restoring(const std::string &directory) {
  teak::database db = teak::database::open(directory + "/numbers.teak");
  teak::write_txn txn = db.begin_write();
  teak::table numbers = txn.create_table("numbers", teak::table_options().counted());
  for (std::uint32_t i = 0; i < 100; i++) numbers.append(txn, teak::big_endian(i), "");
  txn.create_snapshot("monday");
  txn.commit();
  db.backup(directory + "/full");
  teak::read_txn monday = *db.open_snapshot("monday");
  assert(!db.wait_for_commit(monday.id(), std::chrono::milliseconds(0)));
  txn = db.begin_write();
  numbers.insert(txn, teak::big_endian(std::uint32_t{100}), "");
  txn.commit();
  assert(*db.wait_for_commit(monday.id(), std::chrono::seconds(10)) > monday.id());
  teak::read_txn now = db.begin_read();
  std::string changed;
  assert(now.each_changed_table(monday, [&](std::string_view name, teak::change change) {
    assert(change == teak::change::changed);
    changed += name;
  }));
  assert(changed == "numbers");
  assert(numbers.rank(now, teak::big_endian(std::uint32_t{42})) == 42);
  teak::cursor cursor = numbers.open_cursor(now);
  assert(cursor.nth(now, 7)->key == teak::big_endian(std::uint32_t{7}) && !cursor.nth(now, 101));
  const auto starts = numbers.split(now, teak::range(), 4);
  std::uint64_t sum = numbers.count(now, teak::range().until(starts[0])) + numbers.count(now, teak::range::from(starts[2]));
  sum += numbers.count(now, teak::range::from(starts[0]).until(starts[2]));
  assert(starts.size() == 3 && sum == 101);
  db.backup_since(monday, directory + "/increment");
  assert(teak::restore(directory + "/full", {directory + "/increment"}, directory + "/restored.teak").records == 101);
  const teak::salvage_report report = *teak::salvage(directory + "/restored.teak", directory + "/saved.teak");
  assert(report.records == 101 && report.lost_snapshots == 1);
  salvage_orders(directory);
  const auto cancel = [](const teak::reader_info &reader) noexcept {
    return reader.lag == 0 ? teak::reader_choice::cancel : teak::reader_choice::leave;
  };
  assert(db.each_reader(cancel));
  assert(refuses<teak::snapshot_lost>([&] { return numbers.get(now, "x"); }));
  assert(numbers.stat(monday).records == 100);
}

static void threads(teak::database &db) {
  teak::write_txn txn = db.begin_write();
  teak::table numbers = txn.create_table("threads");
  txn.commit();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> seen{0};
  for (std::uint32_t thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      teak::database own = db.clone();
      for (std::uint32_t i = 0; i < 20; i++) {
        teak::write_txn one = own.begin_write();
        numbers.insert(one, teak::big_endian(thread * 100 + i), "x");
        one.set_durability(teak::durability::lazy);
        one.commit();
        const teak::read_txn reader = own.begin_read();
        for (auto [key, value] : numbers.records(reader, teak::range::prefix(teak::big_endian(thread * 100 + i)))) seen += value == "x";
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  assert(seen == 80 && numbers.stat(db.begin_read()).records == 80);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const std::string directory = argv[1];
  teak::database db = teak::database::open(directory + "/upkeep.teak");
  teak::write_txn txn = db.begin_write();
  txn.create_table("words");
  txn.commit();
  what_functions_throw_comes_out(db, directory);
  orders_and_events(directory + "/orders.teak");
  slow_readers_are_asked_about(directory + "/slow.teak");
  snapshots_and_differences(db);
  prepared_transactions(db);
  loading(directory + "/loading.teak");
  tickets(db);
  backups(db, directory);
  damage_is_told_of(db, directory + "/damaged.teak");
  restoring(directory);
  threads(db);
  db.close();
}
