// Applies a block of the Bitcoin chain to a database of coins, as a node does:
// crates/teak/examples/coins.rs in C++.
//
//     coins DATA [DATABASE [COINS]]
//
// DATA is the directory of the sample, examples/data. COINS records are read of each of its files,
// or all.
//
// The coins that the block spends and that older blocks created are not part of the sample. They
// are generated here (with real keys, but other amounts and scripts) and are in the database before
// the block is applied. Then one durable transaction looks up all coins that the block spends,
// checks that they exist, removes them, and inserts the coins that the block creates. A coin that
// the block both creates and spends never reaches the database.

#include <teak.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using records = std::map<std::string, std::string>;

/// The key of the record with the last applied block.
constexpr std::string_view tip_name = "height";

/// The changes of a block.
struct block {
  std::uint32_t height = 0;
  /// Coins that exist before the block, and not after it.
  std::vector<std::string> spent;
  /// Coins that exist after the block, and not before it.
  records created;
  std::size_t spent_within_count = 0;
};

class stopwatch {
public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string read_hex(const std::string &line) {
  std::string bytes;
  for (std::size_t at = line.find_first_not_of(' '); at + 1 < line.size(); at += 2)
    bytes += static_cast<char>(std::stoi(line.substr(at, 2), nullptr, 16));
  return bytes;
}

/// Reads a file of the sample. The README there describes the format.
records read_dump(const std::string &path, std::size_t count_max) {
  std::ifstream file(path);
  std::string line, value;
  while (std::getline(file, line) && line != "HEADER=END") {
  }
  records read;
  while (read.size() < count_max && std::getline(file, line) && std::getline(file, value))
    read[read_hex(line)] = read_hex(value);
  if (read.empty()) throw std::runtime_error(path + " has no records");
  return read;
}

block read_block(const std::string &data, std::size_t count_max) {
  block block;
  block.created = read_dump(data + "/coins-702861.dump", count_max);
  for (const auto &[key, value] : read_dump(data + "/spends-702861.dump", count_max)) {
    // Coins that the block both creates and spends are skipped from here on.
    if (block.created.erase(key) == 0)
      block.spent.push_back(key);
    else
      block.spent_within_count++;
  }
  if (block.created.empty()) throw std::runtime_error("the block creates no coins");
  const std::string &coin = block.created.begin()->second;
  block.height = teak::from_big_endian<std::uint32_t>(teak::bytes_view(coin.data(), 4));
  return block;
}

/// The last applied block; 0 if there is none.
std::uint32_t tip(const teak::database &db) {
  const teak::read_txn txn = db.begin_read();
  const auto state = txn.open_table("state");
  const auto height = state ? state->get(txn, tip_name) : std::nullopt;
  return height ? teak::from_big_endian<std::uint32_t>(*height) : 0;
}

/// The amount in a coin's value, in satoshi.
std::uint64_t amount(teak::bytes_view coin) {
  if (coin.size() < 13) throw std::runtime_error("a coin is too short");
  return teak::from_big_endian<std::uint64_t>(teak::bytes_view(coin.data() + 5, 8));
}

/// A coin of the previous block that anybody can spend, with an amount derived from its key.
std::string made_up_coin(const std::string &key, std::uint32_t height) {
  constexpr char op_true = 0x51;
  const std::uint64_t amount = 1000 + std::uint64_t{static_cast<unsigned char>(key[0])} * 1000000;
  return teak::bytes_view(teak::big_endian(height - 1)).to_string() + '\0' +
         teak::bytes_view(teak::big_endian(amount)).to_string() + op_true;
}

/// Brings the database to the state before the block.
void make_up_older_coins(const teak::database &db, const block &block) {
  const stopwatch watch;
  teak::write_txn txn = db.begin_write();
  const teak::table coins = txn.create_table("coins");
  std::vector<std::string> made_up;
  for (const std::string &key : block.spent) made_up.push_back(made_up_coin(key, block.height));
  std::vector<teak::record> batch;
  for (std::size_t i = 0; i < made_up.size(); i++) batch.push_back({block.spent[i], made_up[i]});
  coins.insert_many(txn, batch);
  txn.commit();
  std::printf("made up %zu coins of older blocks in %.1f ms\n", batch.size(), watch.ms());
}

/// Looks up all coins that the block spends, together. Fails if one does not exist.
std::uint64_t amount_of_spent(teak::table coins, const teak::write_txn &txn, const std::vector<teak::bytes_view> &keys) {
  std::uint64_t sum = 0;
  for (const auto &coin : coins.get_many(txn, keys)) {
    if (!coin) throw std::runtime_error("the block spends a coin that does not exist");
    sum += amount(*coin);
  }
  return sum;
}

void apply(const teak::database &db, const block &block) {
  const stopwatch watch;
  teak::write_txn txn = db.begin_write();
  const teak::table coins = txn.create_table("coins");
  const std::vector<teak::bytes_view> spent(block.spent.begin(), block.spent.end());
  const std::uint64_t spent_amount = amount_of_spent(coins, txn, spent);
  coins.remove_many(txn, spent);
  std::uint64_t created_amount = 0;
  std::vector<teak::record> created;
  for (const auto &[key, value] : block.created) {
    created.push_back({key, value});
    created_amount += amount(value);
  }
  if (coins.insert_many(txn, created) != created.size()) throw std::runtime_error("the block creates a coin that exists");
  txn.create_table("state").insert(txn, tip_name, teak::big_endian(block.height));
  const std::uint64_t count = coins.stat(txn).records, id = txn.commit();
  std::printf("applied block %u durably as transaction %llu in %.1f ms\n", block.height, static_cast<unsigned long long>(id),
              watch.ms());
  const auto line = [](std::size_t number, const char *what, std::uint64_t satoshi) {
    std::printf("  %6zu %-18s %17.8f BTC\n", number, what, static_cast<double>(satoshi) / 1e8);
  };
  line(spent.size(), "coins removed", spent_amount);
  line(created.size(), "coins inserted", created_amount);
  std::printf("  %6zu coins created and spent within the block\n", block.spent_within_count);
  std::printf("  %6llu coins in the database\n", static_cast<unsigned long long>(count));
}

/// Scans all coins, and prints their total value.
void add_up(const teak::database &db) {
  const teak::read_txn txn = db.begin_read();
  const stopwatch watch;
  std::uint64_t sum = 0, count = 0;
  for (auto [outpoint, coin] : txn.open_table("coins").value().records(txn)) {
    sum += amount(coin);
    count++;
  }
  std::printf("walked through %llu coins of %.8f BTC in %.1f ms\n", static_cast<unsigned long long>(count),
              static_cast<double>(sum) / 1e8, watch.ms());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: coins DATA [DATABASE [COINS]]\n";
    return 2;
  }
  try {
    const std::string path = argc > 2 ? argv[2] : "coins-example.teak";
    const block block = read_block(argv[1], argc > 3 ? std::stoul(argv[3]) : SIZE_MAX);
    teak::database db = teak::database::open(path);
    if (tip(db) == block.height) {
      std::printf("block %u is already applied to %s; nothing to do\n", block.height, path.c_str());
      return 0;
    }
    make_up_older_coins(db, block);
    apply(db, block);
    add_up(db);
    db.close();
  } catch (const std::exception &error) {
    std::cerr << "coins: " << error.what() << '\n';
    return 1;
  }
}
