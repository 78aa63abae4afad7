// Eight threads that write, read and iterate, in the directory that is the first argument. It prints
// what does not depend on their order, for comparison with LevelDB.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/write_batch.h"

using namespace leveldb;

static void Check(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

static void Fail(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::exit(1);
}

static const int kThreads = 8;
static const int kRounds = 3000;
static const int kKeys = 200;

static std::string Key(int thread, int number) {
  return "t" + std::to_string(thread) + "-" + std::to_string(1000 + number);
}

// Both halves of a pair are always written in one batch.
static void CheckPairs(DB* db, const Snapshot* snapshot) {
  ReadOptions read;
  read.snapshot = snapshot;
  for (int pair = 0; pair < 4; pair++) {
    std::string left, right;
    const std::string name = std::to_string(pair);
    const Status found = db->Get(read, "left" + name, &left);
    if (found.IsNotFound()) continue;
    Check(found);
    Check(db->Get(read, "right" + name, &right));
    if (left != right) Fail("half of a batch was seen");
  }
}

static void Work(DB* db, int thread, std::map<std::string, std::string>* expected) {
  uint64_t random = 88172645463325252u + static_cast<uint64_t>(thread) * 977;
  const auto next = [&random](uint64_t limit) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<int>(random % limit);
  };
  for (int round = 0; round < kRounds; round++) {
    WriteOptions write;
    write.sync = round % 500 == 499;
    const std::string key = Key(thread, next(kKeys));
    const std::string value = std::to_string(round) + std::string(next(300), 'v');
    WriteBatch batch;
    switch (next(5)) {
      case 0:
        Check(db->Delete(write, key));
        expected->erase(key);
        break;
      case 1: {
        const std::string pair = std::to_string(next(4));
        batch.Put("left" + pair, value);
        batch.Put(key, value);
        batch.Put("right" + pair, value);
        Check(db->Write(write, &batch));
        (*expected)[key] = value;
        break;
      }
      default:
        Check(db->Put(write, key, value));
        (*expected)[key] = value;
    }
    const std::string other = Key(thread, next(kKeys));
    std::string found;
    const Status status = db->Get(ReadOptions(), other, &found);
    const auto wanted = expected->find(other);
    if (status.ok() != (wanted != expected->end())) Fail("a key is there or not, wrongly");
    if (status.ok() && found != wanted->second) Fail("another value");
    if (round % 100 == 0) {
      const Snapshot* snapshot = db->GetSnapshot();
      CheckPairs(db, snapshot);
      ReadOptions read;
      read.snapshot = snapshot;
      std::unique_ptr<Iterator> iterator(db->NewIterator(read));
      auto own = expected->begin();
      for (iterator->Seek(Key(thread, 0)); iterator->Valid() && own != expected->end();
           iterator->Next(), ++own) {
        if (iterator->key() != own->first || iterator->value() != own->second) {
          Fail("another record");
        }
      }
      if (own != expected->end()) Fail("a record is missing");
      Check(iterator->status());
      iterator.reset();
      db->ReleaseSnapshot(snapshot);
    }
  }
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 18;
  DB* opened;
  const std::string path = std::string(arguments[1]) + "/db";
  Check(DB::Open(options, path, &opened));
  std::unique_ptr<DB> db(opened);
  std::vector<std::map<std::string, std::string>> expected(kThreads);
  std::vector<std::thread> threads;
  std::atomic<bool> is_over{false};
  std::thread compactor([&] {
    while (!is_over) {
      db->CompactRange(nullptr, nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] { Work(db.get(), thread, &expected[thread]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  is_over = true;
  compactor.join();
  CheckPairs(db.get(), nullptr);
  db.reset();
  Check(DB::Open(options, path, &opened));
  db.reset(opened);
  for (int thread = 0; thread < kThreads; thread++) {
    uint64_t sum = 14695981039346656037u;
    for (const auto& record : expected[thread]) {
      std::string value;
      Check(db->Get(ReadOptions(), record.first, &value));
      for (const char byte : record.first + value) {
        sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211u;
      }
    }
    std::printf("%d: %zu records, sum %016llx\n", thread, expected[thread].size(),
                static_cast<unsigned long long>(sum));
  }
  return 0;
}
