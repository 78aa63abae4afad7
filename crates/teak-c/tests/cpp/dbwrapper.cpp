// Stores with each backend that is compiled in: what nodes expect of their database wrapper.
#include "common.hpp"

#include <teak/dbwrapper.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace db = teak::dbwrapper;
namespace fs = std::filesystem;

/// Serialises numbers, most significant byte first, and text.
struct codec {
  static void pack(std::string &bytes, const std::string &text) { bytes += text; }
  static void pack(std::string &bytes, std::uint32_t number) { bytes += teak::bytes_view(teak::big_endian(number)).text(); }
  static bool unpack(teak::bytes_view bytes, std::string &text) {
    text = bytes.to_string();
    return true;
  }
  static bool unpack(teak::bytes_view bytes, std::uint32_t &number) {
    if (bytes.size() != sizeof number) return false;
    number = teak::from_big_endian<std::uint32_t>(bytes);
    return true;
  }
};
using numbers = db::typed_store<codec>;

/// The backend that is tested, and a directory for it.
struct tested {
  std::string backend;
  std::string directory;

  [[nodiscard]] db::options at(const std::string &name, bool obfuscate = false) const {
    db::options options;
    options.path = directory + "/" + name;
    options.backend = backend;
    options.cache_bytes = 8 << 20;
    options.obfuscate = obfuscate;
    return options;
  }
  [[nodiscard]] db::options wiped(const std::string &name, bool obfuscate = false) const {
    db::options options = at(name, obfuscate);
    options.wipe = true;
    return options;
  }
  [[nodiscard]] db::options in_memory(bool obfuscate = false) const {
    db::options options = at("none", obfuscate);
    options.in_memory = true;
    return options;
  }
};

/// The text of the error of `work`.
template <class Work> static std::string failure(Work &&work) {
  try {
    work();
  } catch (const db::error &error) {
    return error.what();
  }
  return "";
}

static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

static std::string value_of(const db::store &store, teak::bytes_view key) {
  std::string value = "none";
  return store.read(key, value) ? value : "none";
}

static std::string keys_of(db::iterator it) {
  std::string keys;
  for (it.seek_to_first(); it.valid(); it.next()) keys += it.key().to_string() + ' ';
  return keys;
}

static void records_are_written_and_read(const tested &tested) {
  for (const bool obfuscate : {false, true}) {
    for (const db::options &options : {tested.in_memory(obfuscate), tested.at(obfuscate ? "obfuscated" : "plain", obfuscate)}) {
      db::store store(options);
      assert(store.backend() == tested.backend && store.is_empty() == !obfuscate);
      assert(store.obfuscation_key().size() == (obfuscate ? 8 : 0));
      assert(value_of(store, "k") == "none" && !store.exists("k"));
      for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 127U, 128U, 20000U}) {
        const std::string key = "k" + std::to_string(size), value(size, 'v');
        store.write(key, value, size == 9);
        assert(store.exists(key) && value_of(store, key) == value);
        auto it = store.new_iterator();
        it.seek(key);
        assert(it.key() == key && it.key_size() == key.size() && it.value() == value && it.value_size() == size);
      }
      store.write("k1", "new");
      assert(value_of(store, "k1") == "new");
      store.erase("k1");
      store.erase("k1");
      assert(value_of(store, "k1") == "none");
      const std::string longest(512, '\xff');
      store.write(longest, "long");
      assert(value_of(store, longest) == "long");
    }
  }
}

static void records_of_a_node_stay(const tested &tested) {
  const std::map<std::string, std::string> records = {{"b" + std::string(32, 'h'), "block"}, {std::string("f\1\0\0\0", 5), "file"},
                                                      {"l", "1"}, {"R", "0"}, {"Ftxindex", "1"}, {"C" + std::string(32, '\0') + "\1", "coin"}};
  for (const bool obfuscate : {false, true}) {
    const std::string name = obfuscate ? "node, obfuscated" : "node";
    for (int opening = 0; opening < 3; opening++) {
      db::store store(tested.at(name, obfuscate));
      for (const auto &[key, value] : records) {
        if (opening == 0) store.write(key, value, key == "R");
        assert(value_of(store, key) == value);
      }
    }
  }
}

static void batches_are_written_together(const tested &tested) {
  for (const bool obfuscate : {false, true}) {
    db::store store(tested.in_memory(obfuscate));
    db::batch batch(store);
    batch.write("i", "1");
    batch.write("j", "2");
    batch.write("k", "3");
    batch.erase("j");
    batch.erase("absent");
    batch.erase("i");
    batch.write("i", "again");
    assert(batch.count() == 7 && !store.exists("i"));
    store.write_batch(batch);
    assert(value_of(store, "i") == "again" && value_of(store, "j") == "none" && value_of(store, "k") == "3");
    batch.clear();
    assert(batch.count() == 0 && batch.size_estimate() == 0 && batch.approximate_size() == 12);
    store.write_batch(batch, true);
    assert(value_of(store, "k") == "3");
  }
}

static void sizes_of_batches_are_those_of_leveldb(const tested &tested) {
  db::store store(tested.in_memory(true));
  db::batch batch(store);
  std::size_t exact = 12, estimate = 0;
  const auto check = [&] { assert(batch.approximate_size() == exact && batch.size_estimate() == estimate); };
  const auto varint = [](std::size_t size) { return size < 128 ? 1U : size < 16384 ? 2U : 3U; };
  for (const std::size_t size : {0U, 1U, 127U, 128U, 16383U, 16384U}) {
    const std::string bytes(size, 'b');
    batch.write(bytes, bytes);
    batch.erase(bytes);
    exact += 1 + 2 * (varint(size) + size) + 1 + varint(size) + size;
    const std::size_t more = size > 127 ? 1 : 0;
    estimate += 3 + 2 * (more + size) + 2 + more + size;
    check();
  }
}

static void iterators_seek_and_step(const tested &tested) {
  db::store store(tested.in_memory(true));
  store.write("j", "1");
  store.write("k", "2");
  store.write("m", "3");
  auto it = store.new_iterator();
  assert(!it.valid() && it.key().empty());
  it.seek("j");
  assert(it.key() == "j" && it.value() == "1");
  it.next();
  assert(it.key() == "k" && it.value() == "2" && it.value() == "2");
  it.seek("l");
  assert(it.key() == "m");
  it.next();
  assert(!it.valid());
  it.next();
  assert(!it.valid());
  it.seek("zzz");
  assert(!it.valid());
  it.seek_to_first();
  assert(it.key() == teak::bytes_view("\x0e\0obfuscate_key", 15) && it.value_size() == 9);
}

static void iterators_keep_their_state(const tested &tested) {
  db::store store(tested.in_memory());
  store.write("a", "1");
  store.write("b", "1");
  const db::snapshot before = store.take_snapshot();
  auto open = store.new_iterator();
  store.erase("a");
  store.write("b", "2");
  store.write("c", "1");
  auto old = store.new_iterator(before);
  old.seek("b");
  assert(old.value() == "1" && keys_of(store.new_iterator(before)) == "a b " && keys_of(store.new_iterator()) == "b c ");
  assert(keys_of(std::move(open)) == "a b ");
}

/// More than an iterator reads at a time.
static void numbers_come_in_their_order(const tested &tested) {
  numbers store(tested.at("order"));
  db::typed_batch<codec> batch(store);
  const std::uint32_t count = 1000;
  for (std::uint32_t i = 0; i < count; i++) batch.write(i * 7919 % count * 2, i * 7919 % count * 4);
  store.write_batch(batch);
  for (const std::uint32_t start : {0U, 1U, 2U, 777U, 1998U, 1999U}) {
    db::typed_iterator<codec> it(store.new_iterator());
    it.seek(start);
    for (std::uint32_t expected = (start + 1) / 2; expected < count; expected++, it.next()) {
      std::uint32_t key = 0, value = 0;
      assert(it.valid() && it.get_key(key) && it.get_value(value) && key == 2 * expected && value == 4 * expected);
    }
    assert(!it.valid());
  }
  std::uint32_t value = 0;
  assert(store.read(std::uint32_t{8}, value) && value == 16 && store.exists(std::uint32_t{8}) && !store.exists(std::uint32_t{9}));
  store.write(std::uint32_t{9}, std::string("no number"));
  assert(!store.read(std::uint32_t{9}, value));
  store.erase(std::uint32_t{9});
  assert(!store.exists(std::uint32_t{9}) && store.estimate_size(std::uint32_t{5}, std::uint32_t{5}) == 0);
}

static void text_comes_in_the_order_of_its_bytes(const tested &tested) {
  db::store store(tested.in_memory());
  for (int digit = 0; digit < 10; digit++) {
    std::string key;
    for (int length = 0; length < 10; length++) {
      key += static_cast<char>('0' + digit);
      store.write(key, key);
    }
  }
  auto it = store.new_iterator();
  for (const int start : {0, 5}) {
    it.seek(std::to_string(start));
    for (int digit = start; digit < 10; digit++) {
      for (std::size_t length = 1; length <= 10; length++, it.next())
        assert(it.valid() && it.value() == std::string(length, static_cast<char>('0' + digit)));
    }
    assert(!it.valid());
  }
}

static void existing_records_are_not_obfuscated_later(const tested &tested) {
  db::store(tested.at("existing")).write("k", "old");
  db::store store(tested.at("existing", true));
  assert(store.obfuscation_key().empty() && value_of(store, "k") == "old");
  store.write("k", "new");
  assert(value_of(store, "k") == "new");
}

static void an_obfuscation_key_stays(const tested &tested) {
  std::string key;
  {
    db::store store(tested.at("key", true));
    key = store.obfuscation_key();
    store.write("k", "value");
  }
  db::store store(tested.at("key"));
  assert(store.obfuscation_key() == key && value_of(store, "k") == "value");
}

static void wiping_begins_again(const tested &tested) {
  std::string first_key;
  for (int opening = 0; opening < 3; opening++) {
    db::store store(tested.wiped("wiped", opening > 0));
    assert(value_of(store, "k") == "none" && store.is_empty() == (opening == 0));
    assert(store.obfuscation_key() != first_key || opening == 0);
    first_key = store.obfuscation_key();
    store.write("k", "value", opening == 1);
  }
  assert(value_of(db::store(tested.at("wiped")), "k") == "value");
  const fs::path foreign = fs::path(tested.directory) / "wiped" / "foreign";
  std::ofstream(foreign) << "stays";
  db::store store(tested.wiped("wiped"));
  assert(store.is_empty() && fs::exists(foreign));
  assert(has(failure([&] { db::store second(tested.wiped("wiped")); }), tested.backend == "teak" ? "" : "lock"));
  assert(!failure([&] { db::store second(tested.wiped("wiped")); }).empty());
}

static void paths_are_utf_8(const tested &tested) {
  const std::string name = "töst/Δ 雪 💾";
  db::store(tested.at(name)).write("k", "v");
  assert(fs::is_directory(fs::path(tested.directory) / name) && value_of(db::store(tested.at(name)), "k") == "v");
}

static void space_is_estimated_and_given_back(const tested &tested) {
  db::store store(tested.at("space"));
  db::batch batch(store);
  for (char first = 'a'; first <= 'z'; first++) {
    for (int i = 0; i < 200; i++) batch.write(first + std::to_string(i), std::string(2000, first));
  }
  store.write_batch(batch, true);
  store.compact_full();
  const std::uint64_t one = store.estimate_size("c", "d"), all = store.estimate_size("a", "{");
  assert(one > 100'000 && one < 1'500'000 && all > 8'000'000 && all < 20'000'000);
  assert(store.estimate_size("d", "c") == 0);
  assert(store.dynamic_memory_usage() > 0);
  batch.clear();
  for (char first = 'b'; first <= 'z'; first++) {
    for (int i = 0; i < 200; i++) batch.erase(first + std::to_string(i));
  }
  store.write_batch(batch, true);
  store.compact_range("a", "{");
  store.compact_full();
  std::uint64_t bytes = 0;
  for (const fs::directory_entry &file : fs::directory_iterator(tested.directory + "/space")) {
    if (file.path().extension() != ".log") bytes += file.file_size();
  }
  assert(bytes < 4'000'000 && value_of(store, "a0") == std::string(2000, 'a'));
}

static void threads_share_a_store(const tested &tested) {
  db::store store(tested.at("threads", true));
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; number++) {
    threads.emplace_back([&store, number] {
      for (int i = 0; i < 200; i++) {
        const std::string key = std::to_string(number) + '-' + std::to_string(i);
        store.write(key, key);
        assert(value_of(store, key) == key);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  assert(value_of(store, "3-199") == "3-199");
}

static void each_refuses_the_directory_of_the_other(const std::string &directory) {
  const tested teak{"teak", directory}, leveldb{"leveldb", directory};
  db::store(teak.at("of teak")).write("k", "v");
  assert(has(failure([&] { db::store store(leveldb.at("of teak")); }), "teak export leveldb:"));
  assert(has(failure([&] { db::store store(leveldb.wiped("of teak")); }), "teak export leveldb:"));
  db::store(leveldb.at("of LevelDB")).write("k", "v");
  assert(has(failure([&] { db::store store(teak.at("of LevelDB")); }), "teak import leveldb:"));
  assert(has(failure([&] { db::store store(teak.wiped("of LevelDB")); }), "teak import leveldb:"));
  assert(value_of(db::store(teak.at("of teak")), "k") == "v" && value_of(db::store(leveldb.at("of LevelDB")), "k") == "v");
}

/// As `teak import leveldb:` leaves it: one table, with values that the node has obfuscated.
static void an_imported_database_is_read(const std::string &directory) {
  const std::string key = "\x8d\x14\x13\x84\xd9\x50\xf1\xa0", tip = "Btip";
  fs::create_directories(directory + "/imported");
  {
    const teak::database imported = teak::database::open(directory + "/imported/data.teak");
    teak::write_txn txn = imported.begin_write();
    const teak::table main = txn.create_table("main");
    main.insert(txn, teak::bytes_view("\x0e\0obfuscate_key", 15), "\x08" + key);
    std::string obfuscated = "tenth byte";
    for (std::size_t i = 0; i < obfuscated.size(); i++) obfuscated[i] = static_cast<char>(obfuscated[i] ^ key[i % 8]);
    main.insert(txn, tip, obfuscated);
    txn.commit();
  }
  db::store store(tested{"teak", directory}.at("imported"));
  assert(store.obfuscation_key() == key && value_of(store, tip) == "tenth byte");
  std::string current;
  std::getline(std::ifstream(directory + "/imported/CURRENT"), current);
  assert(current == "TEAK data.teak");
}

static void synced_batches_are_durable(const std::string &directory) {
  db::store store(tested{"teak", directory}.at("synced"));
  const teak::database same = teak::database::open(directory + "/synced/data.teak");
  const auto is_durable = [&] { return same.stat().durable_transaction == same.stat().transaction; };
  store.write("k", "1", true);
  assert(is_durable());
  store.write("k", "2");
  assert(!is_durable());
  store.write_batch(db::batch(store), true);
  assert(is_durable());
}

static void impossible_stores_and_keys_are_refused(const std::string &directory) {
  const tested teak{"teak", directory};
  db::options unknown = teak.at("unknown");
  unknown.backend = "lmdb";
  assert(has(failure([&] { db::store store(unknown); }), "\"lmdb\"") && !fs::exists(unknown.path));
  {
    db::store store(teak.at("keys"));
    const std::string longest(4000, 'k');
    assert(has(failure([&] { store.write(longest, ""); }), "4000 bytes"));
    assert(!store.exists(longest) && value_of(store, longest) == "none");
    store.write("\x0e" + std::string(1, '\0') + "obfuscate_key", "\x08too short");
  }
  assert(has(failure([&] { db::store store(teak.at("keys")); }), "obfuscation key"));
  {
    const teak::database other = teak::database::open(directory + "/keys/data.teak");
    teak::write_txn txn = other.begin_write();
    txn.open_table("leveldb.long-keys")->insert(txn, "rest", "");
    txn.commit();
  }
  assert(has(failure([&] { db::store store(teak.at("keys")); }), "LevelDB's interface"));
  std::ofstream(directory + "/file") << "no directory";
  assert(!failure([&] { db::store store(teak.at("file/store")); }).empty());
}

/// A child process that waits for a byte, works, answers with a text, and is killed.
class child {
public:
  template <class Work> explicit child(Work work) {
    int to[2], from[2];
    assert(pipe(to) == 0 && pipe(from) == 0);
    id_ = fork();
    assert(id_ >= 0);
    if (id_ == 0) {
      char byte;
      close(to[1]), close(from[0]);
      if (read(to[0], &byte, 1) == 1) {
        const std::string answer = work();
        if (write(from[1], answer.data(), answer.size()) < 0) _exit(2);
      }
      close(from[1]);
      while (true) pause();
    }
    close(to[0]), close(from[1]);
    to_ = to[1], from_ = from[0];
  }
  void start() const { assert(write(to_, "", 1) == 1); }
  std::string answer() const {
    start();
    return answer_of_started();
  }
  std::string answer_of_started() const {
    std::string all;
    char buffer[512];
    for (ssize_t size; (size = read(from_, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(size));
    int status;
    // Not by itself: valgrind would look for leaks in the whole address range of an open database.
    assert(kill(id_, SIGKILL) == 0);
    assert(waitpid(id_, &status, 0) == id_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return all;
  }

private:
  pid_t id_;
  int to_ = -1, from_ = -1;
};

/// Runs before this process opens anything. `other` uses the store while it is open here; `killed`
/// ends without closing it.
static void processes_share_a_store(const tested &tested) {
  const child killed([&] {
    auto *store = new db::store(tested.at("killed", true));
    store->write("k", "not synced");
    return std::string("written");
  });
  const child other([&] {
    return failure([&] {
      db::store store(tested.at("shared"));
      assert(value_of(store, "k") == "of the first");
      store.write("k", "of the second");
    });
  });
  assert(killed.answer() == "written");
  assert(value_of(db::store(tested.at("killed")), "k") == "not synced");
  db::store store(tested.at("shared", true));
  store.write("k", "of the first");
  const std::string refused = other.answer();
  if (tested.backend == "teak") {
    assert(refused.empty() && value_of(store, "k") == "of the second");
  } else {
    assert(has(refused, "lock"));
  }
}

/// As above: runs before this process opens anything.
static void processes_create_a_store_together(const std::string &directory) {
  const tested teak{"teak", directory};
  const auto name = [](int round) { return "together " + std::to_string(round); };
  const int rounds = 20;
  for (int round = 0; round < rounds; round++) {
    const auto work = [&](const char *key) {
      return failure([&] { db::store(teak.at(name(round), true)).write(key, "plain value"); });
    };
    const child first([&] { return work("a"); }), second([&] { return work("b"); });
    first.start(), second.start();
    assert(first.answer_of_started().empty() && second.answer_of_started().empty());
  }
  for (int round = 0; round < rounds; round++) {
    const db::store store(teak.at(name(round), true));
    assert(value_of(store, "a") == "plain value" && value_of(store, "b") == "plain value");
    for (const fs::directory_entry &file : fs::directory_iterator(directory + "/" + name(round)))
      assert(file.path().extension() != ".dbtmp");
  }
}

static void a_damaged_current_is_replaced(const std::string &directory) {
  const tested teak{"teak", directory};
  db::store(teak.at("current")).write("k", "v");
  const std::string current = directory + "/current/CURRENT";
  for (const std::string &content : {std::string(), std::string("TEAK da"), std::string(15, '\0')}) {
    std::ofstream(current) << content;
    assert(value_of(db::store(teak.at("current")), "k") == "v");
    std::string line;
    std::getline(std::ifstream(current), line);
    assert(line == "TEAK data.teak");
  }
  std::ofstream(current) << "another";
  assert(has(failure([&] { db::store store(teak.at("current")); }), "CURRENT names no database"));
  fs::remove(current);
  fs::create_directory(current);
  assert(has(failure([&] { db::store store(teak.at("current")); }), "cannot read"));
}

int main(int, char **arguments) {
  processes_create_a_store_together(arguments[1]);
  std::vector<tested> all;
  for (const std::string &backend : db::backends()) {
    all.push_back({backend, arguments[1] + ("/" + backend)});
    fs::create_directories(all.back().directory);
    processes_share_a_store(all.back());
  }
  for (const tested &tested : all) {
    records_are_written_and_read(tested);
    records_of_a_node_stay(tested);
    batches_are_written_together(tested);
    sizes_of_batches_are_those_of_leveldb(tested);
    iterators_seek_and_step(tested);
    iterators_keep_their_state(tested);
    numbers_come_in_their_order(tested);
    text_comes_in_the_order_of_its_bytes(tested);
    existing_records_are_not_obfuscated_later(tested);
    an_obfuscation_key_stays(tested);
    wiping_begins_again(tested);
    paths_are_utf_8(tested);
    space_is_estimated_and_given_back(tested);
    threads_share_a_store(tested);
  }
  const std::string directory = arguments[1];
  if (all.size() > 1) each_refuses_the_directory_of_the_other(directory);
  an_imported_database_is_read(directory);
  a_damaged_current_is_replaced(directory);
  synced_batches_are_durable(directory);
  impossible_stores_and_keys_are_refused(directory);
}
