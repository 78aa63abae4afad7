// What a node does with its wrapper, in small: connects blocks, flushes batches of coins, stops,
// starts again, and walks through its coins. It is compiled with either header:
//
//     c++ -std=c++17 -I pimpl chainstate.cpp pimpl/dbwrapper.cpp -lteak
//     c++ -std=c++17 -I older -DOLDER_WRAPPER chainstate.cpp -lteak
//
//     chainstate DIRECTORY [BACKEND]

#include "dbwrapper.h"

#include <iostream>

using Outpoint = std::pair<std::uint8_t, std::pair<std::string, std::uint32_t>>;

static const std::uint8_t DB_COIN = 'C', DB_BEST_BLOCK = 'B', DB_HEAD_BLOCKS = 'H';

static CDBWrapper Open(const std::string &path, const std::string &backend, bool wipe) {
  constexpr std::size_t cache_bytes = 8 << 20;
#if defined(OLDER_WRAPPER)
  return CDBWrapper(path, cache_bytes, false, wipe, true, backend);
#else
  return CDBWrapper(DBParams{path, cache_bytes, false, wipe, true, backend});
#endif
}

static Outpoint Coin(std::uint32_t height, std::uint32_t index) {
  return {DB_COIN, {"transaction of block " + std::to_string(height), index}};
}

// Writes the coins of a block in batches, each of which may be the last: the first one says between
// which blocks the database is, the last one at which.
static int Connect(CDBWrapper &db, std::uint32_t height) {
  constexpr std::size_t batch_size = 4000;
  int batches = 0;
  CDBBatch batch(db);
  batch.Erase(DB_BEST_BLOCK);
  batch.Write(DB_HEAD_BLOCKS, std::pair(height, height - 1));
  for (std::uint32_t index = 0; index < 200; index++) {
    batch.Write(Coin(height, index), std::uint64_t{height} * 1000 + index);
    if (height > 1 && index % 2 == 0) batch.Erase(Coin(height - 1, index));
    if (batch.SizeEstimate() > batch_size) {
      db.WriteBatch(batch);
      batch.Clear();
      batches++;
    }
  }
  batch.Erase(DB_HEAD_BLOCKS);
  batch.Write(DB_BEST_BLOCK, height);
  db.WriteBatch(batch, true);
  return batches + 1;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  const std::string path = argv[1], backend = argc > 2 ? argv[2] : "teak";
  try {
    int batches = 0;
    {
      CDBWrapper db = Open(path, backend, true);
      for (std::uint32_t height = 1; height <= 10; height++) batches += Connect(db, height);
    }
    CDBWrapper db = Open(path, backend, false);
    std::uint32_t best = 0;
    if (!db.Read(DB_BEST_BLOCK, best) || db.Exists(DB_HEAD_BLOCKS)) throw std::runtime_error("the database has no best block");
    std::uint64_t coins = 0, sum = 0;
    const std::unique_ptr<CDBIterator> it(db.NewIterator());
    for (it->Seek(DB_COIN); it->Valid(); it->Next()) {
      Outpoint outpoint;
      std::uint64_t amount = 0;
      if (!it->GetKey(outpoint) || outpoint.first != DB_COIN) break;
      if (!it->GetValue(amount)) throw std::runtime_error("a coin cannot be read");
      coins++;
      sum += amount;
    }
    db.CompactFull();
    std::cout << "block " << best << " after " << batches << " batches: " << coins << " coins, " << sum << '\n';
  } catch (const std::exception &error) {
    std::cerr << "chainstate: " << error.what() << '\n';
    return 1;
  }
}
