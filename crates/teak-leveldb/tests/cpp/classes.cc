// The classes of LevelDB's interface, in the directory that is the first argument. With ON_LEVELDB,
// for LevelDB itself, it leaves out what LevelDB does not define or does not have.

#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "leveldb/write_batch.h"

using namespace leveldb;

// In memory, LevelDB lets a database be opened twice.
#ifdef ON_LEVELDB
static const bool kLocksMemory = false;
#else
static const bool kLocksMemory = true;
#endif

static void Check(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

static void TestStatus() {
  assert(Status::OK().ToString() == "OK");
  Status status = Status::IOError("a", "b");
  Status copy = status;
  status = Status::NotFound(Slice());
  assert(copy.ToString() == "IO error: a: b" && copy.IsIOError());
  assert(status.ToString() == "NotFound: " && status.IsNotFound());
  assert(Status::NotSupported("x").ToString() == "Not implemented: x");
  Status moved = std::move(copy);
  assert(moved.IsIOError());
}

static void TestBatch() {
  WriteBatch batch;
  assert(batch.ApproximateSize() == 12);
  batch.Put("key", "value");
  assert(batch.ApproximateSize() == 12 + 1 + 4 + 6);
  batch.Put(std::string(200, 'k'), std::string(300, 'v'));
  assert(batch.ApproximateSize() == 23 + 1 + 202 + 302);
  batch.Append(batch);
  struct Counter : WriteBatch::Handler {
    void Put(const Slice&, const Slice&) override { puts++; }
    void Delete(const Slice&) override { deletes++; }
    int puts = 0, deletes = 0;
  } counter;
  batch.Delete("key");
  Check(batch.Iterate(&counter));
  assert(counter.puts == 4 && counter.deletes == 1);
}

#ifndef ON_LEVELDB
static int deleted = 0;

// LevelDB's cache has 16 parts, each with a sixteenth of the capacity.
static void TestCache() {
  std::unique_ptr<Cache> cache(NewLRUCache(3));
  const auto insert = [&](const char* key, size_t charge) {
    cache->Release(cache->Insert(key, &deleted, charge, [](const Slice&, void* value) {
      ++*static_cast<int*>(value);
    }));
  };
  insert("a", 1);
  insert("b", 1);
  insert("c", 1);
  assert(cache->TotalCharge() == 3 && deleted == 0);
  Cache::Handle* a = cache->Lookup("a");
  assert(a != nullptr && cache->Value(a) == &deleted);
  insert("d", 1);
  assert(deleted == 1 && cache->Lookup("b") == nullptr);
  insert("a", 1);
  assert(deleted == 1);
  cache->Release(a);
  assert(deleted == 2);
  cache->Erase("d");
  cache->Prune();
  assert(deleted == 5 && cache->TotalCharge() == 0);
  assert(cache->NewId() != cache->NewId());
  insert("e", 1);
  cache.reset();
  assert(deleted == 6);
}
#endif

static void TestFilter() {
  std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(10));
  std::vector<std::string> keys;
  for (int number = 0; number < 1000; number++) {
    keys.push_back("key" + std::to_string(number));
  }
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::string filter;
  policy->CreateFilter(slices.data(), 1000, &filter);
  assert(filter.size() == 1251);
  int wrong = 0;
  for (int number = 0; number < 1000; number++) {
    assert(policy->KeyMayMatch(keys[number], filter));
    wrong += policy->KeyMayMatch("other" + std::to_string(number), filter);
  }
  assert(wrong < 30);
  assert(policy->Name() == std::string("leveldb.BuiltinBloomFilter2"));
}

static void TestComparator() {
  const Comparator* order = BytewiseComparator();
  std::string start = "helloWorld";
  order->FindShortestSeparator(&start, "helloZoo");
  assert(start == "helloX");
  start = "hello";
  order->FindShortestSeparator(&start, "hello there");
  assert(start == "hello");
  std::string key = "\xff\xff" "abc";
  order->FindShortSuccessor(&key);
  assert(key == "\xff\xff" "b");
  assert(order->Compare("a", "ab") < 0 && order->Compare("\x80", "a") > 0);
}

static void TestEnv(Env* env, const std::string& directory) {
  env->CreateDir(directory);
  const std::string name = directory + "/file";
  Check(WriteStringToFile(env, "hello ", name));
  WritableFile* file;
  Check(env->NewAppendableFile(name, &file));
  Check(file->Append(std::string(100000, 'x')));
  Check(file->Sync());
  Check(file->Close());
  delete file;
  uint64_t size;
  Check(env->GetFileSize(name, &size));
  assert(size == 100006);
  std::string content;
  Check(ReadFileToString(env, name, &content));
  assert(content.size() == size && content.substr(0, 7) == "hello x");
  RandomAccessFile* random;
  Check(env->NewRandomAccessFile(name, &random));
  char scratch[10];
  Slice piece;
  Check(random->Read(4, 3, &piece, scratch));
  assert(piece == "o x");
#ifndef ON_LEVELDB
  // LevelDB refuses this if it has mapped the file, and otherwise reads nothing, too.
  Check(random->Read(size, 3, &piece, scratch));
  assert(piece.empty());
#endif
  delete random;
  SequentialFile* sequential;
  Check(env->NewSequentialFile(name, &sequential));
  Check(sequential->Skip(5));
  Check(sequential->Read(2, &piece, scratch));
  assert(piece == " x");
  delete sequential;
  const auto is_missing = [env](const Status& status) {
    return env == Env::Default() ? status.IsNotFound()
                                 : status.ToString().find(": File not found") != std::string::npos;
  };
  assert(is_missing(env->NewSequentialFile(directory + "/none", &sequential)));
  assert(sequential == nullptr && !env->FileExists(directory + "/none"));
  Check(env->RenameFile(name, directory + "/other"));
  std::vector<std::string> children;
  Check(env->GetChildren(directory, &children));
  bool is_there = false;
  for (const std::string& child : children) {
    is_there |= child == "other";
    assert(child != "file");
  }
  assert(is_there);
  FileLock* lock;
  Check(env->LockFile(directory + "/lock", &lock));
  if (env == Env::Default() || kLocksMemory) {
    FileLock* second;
    assert(!env->LockFile(directory + "/lock", &second).ok());
  }
  Check(env->UnlockFile(lock));
  Check(env->LockFile(directory + "/lock", &lock));
  Check(env->UnlockFile(lock));
  Check(env->DeleteFile(directory + "/other"));
  assert(is_missing(env->RemoveFile(directory + "/other")));
  static int calls;
  calls = 0;
  env->Schedule([](void*) { calls++; }, nullptr);
  for (int wait = 0; wait < 1000 && calls == 0; wait++) {
    env->SleepForMicroseconds(1000);
  }
  assert(calls == 1 && env->NowMicros() > 0);
  std::string path;
  Check(env->GetTestDirectory(&path));
  Logger* logger;
  Check(env->NewLogger(directory + "/log", &logger));
  Log(logger, "%d lines", 1);
  Log(nullptr, "none");
  delete logger;
}

static void TestDatabase(const Options& given, const std::string& name) {
  Options options = given;
  options.create_if_missing = true;
  DB* opened;
  Check(DestroyDB(name, options));
  Check(DB::Open(options, name, &opened));
  std::unique_ptr<DB> db(opened);
  if (options.env == Env::Default() || kLocksMemory) {
    DB* second;
    assert(DB::Open(options, name, &second).IsIOError() && second == nullptr);
  }
  Check(db->Put(WriteOptions(), "a", "1"));
  Check(db->Put(WriteOptions(), std::string(10000, 'b'), "2"));
  std::string value = "unchanged";
  assert(db->Get(ReadOptions(), "none", &value).IsNotFound() && value == "unchanged");
  ReadOptions old;
  old.snapshot = db->GetSnapshot();
  std::unique_ptr<Iterator> iterator(db->NewIterator(old));
  Check(db->Delete(WriteOptions(), "a"));
  Check(db->Write(WriteOptions(), nullptr));
  Check(db->Get(old, "a", &value));
  assert(value == "1" && db->Get(ReadOptions(), "a", &value).IsNotFound());
  db->ReleaseSnapshot(old.snapshot);
  bool is_cleaned = false;
  iterator->RegisterCleanup([](void* flag, void*) { *static_cast<bool*>(flag) = true; },
                            &is_cleaned, nullptr);
  iterator->RegisterCleanup([](void*, void*) {}, nullptr, nullptr);
#ifndef ON_LEVELDB
  // The iterator keeps its state.
  db.reset();
#endif
  iterator->SeekToLast();
  assert(iterator->Valid() && iterator->key().size() == 10000 && iterator->value() == "2");
  iterator->Prev();
  assert(iterator->Valid() && iterator->key() == "a");
  iterator.reset();
  assert(is_cleaned);
  db.reset();
  Check(DB::Open(options, name, &opened));
  db.reset(opened);
  std::string property;
  assert(db->GetProperty("leveldb.sstables", &property));
  assert(!db->GetProperty("leveldb.none", &property));
#ifdef ON_LEVELDB
  assert(!db->GetProperty("teak.version", &property));
#else
  assert(db->GetProperty("teak.version", &property) && property.find('.') != std::string::npos);
#endif
  db.reset();
  Check(RepairDB(name, options));
  Check(DestroyDB(name, options));
  options.create_if_missing = false;
  assert(DB::Open(options, name, &opened).IsInvalidArgument());
}

#ifndef ON_LEVELDB
static void TestForeignEnv(const std::string& directory) {
  class Strange : public EnvWrapper {
   public:
    Strange() : EnvWrapper(nullptr) {}
  } strange;
  Options options;
  options.env = &strange;
  DB* db;
  assert(DB::Open(options, directory + "/strange", &db).IsNotSupportedError());
  // Wrapped ones are used.
  EnvWrapper wrapper(Env::Default());
  options.env = &wrapper;
  TestDatabase(options, directory + "/wrapped");
  // Functions that do not concern files may be overridden.
  class Clock : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    uint64_t NowMicros() override { return 7; }
  } clock(&wrapper);
  options.env = &clock;
  TestDatabase(options, directory + "/clock");
  // Others would have no effect: such an Env is refused, also if another one wraps it.
  class Encrypting : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    Status NewWritableFile(const std::string& name, WritableFile** file) override {
      return EnvWrapper::NewWritableFile(name, file);
    }
  };
  std::unique_ptr<Env> memory(NewMemEnv(Env::Default()));
  for (Env* env : {Env::Default(), memory.get()}) {
    Encrypting encrypting(env);
    EnvWrapper outer(&encrypting);
    for (Env* refused : {static_cast<Env*>(&encrypting), static_cast<Env*>(&outer)}) {
      options.env = refused;
      const std::string name = directory + "/encrypted";
      assert(DB::Open(options, name, &db).IsNotSupportedError());
      assert(DestroyDB(name, options).IsNotSupportedError());
      assert(RepairDB(name, options).IsNotSupportedError());
    }
  }
}
#endif

namespace leveldb {

// The friend of tables.
class TableCache {
 public:
  // The key that is found, or nothing.
  static std::string Find(Table* table, const Slice& key) {
    std::string found;
    Check(table->InternalGet(ReadOptions(), key, &found,
                             [](void* context, const Slice& key, const Slice&) {
                               *static_cast<std::string*>(context) = key.ToString();
                             }));
    return found;
  }
};

}  // namespace leveldb

// Asks each key of a table and as many others.
static void TestLookups(Table* table, const std::map<std::string, std::string>& records,
                        bool is_filtered) {
  size_t others = 0;
  for (const auto& record : records) {
    assert(TableCache::Find(table, record.first) == record.first);
    others += TableCache::Find(table, record.first + "x").empty() ? 0 : 1;
  }
  // With 10 bits per key about one in a hundred is looked for in vain.
  assert(is_filtered ? others < records.size() / 20 : others > records.size() / 2);
  assert(TableCache::Find(table, "z").empty());
}

static void TestTable(const std::string& directory, CompressionType compression, bool is_filtered) {
  Env* env = Env::Default();
  const std::string name = directory + "/000007.ldb";
  std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(10));
  Options options;
  options.compression = compression;
  options.filter_policy = is_filtered ? policy.get() : nullptr;
  std::map<std::string, std::string> expected;
  for (int number = 0; number < 2000; number++) {
    expected["key" + std::to_string(number * 7919 % 2000)] = std::string(number % 50, 'v');
  }
  WritableFile* file;
  Check(env->NewWritableFile(name, &file));
  TableBuilder builder(options, file);
  for (const auto& record : expected) {
    builder.Add(record.first, record.second);
  }
  Check(builder.Finish());
  assert(builder.NumEntries() == 2000);
  Check(file->Close());
  delete file;
  uint64_t size;
  Check(env->GetFileSize(name, &size));
  assert(size == builder.FileSize());
  RandomAccessFile* random;
  Check(env->NewRandomAccessFile(name, &random));
  Table* table;
  Check(Table::Open(options, random, size, &table));
  TestLookups(table, expected, is_filtered);
  std::unique_ptr<Iterator> iterator(table->NewIterator(ReadOptions()));
  iterator->SeekToFirst();
  for (const auto& record : expected) {
    assert(iterator->Valid() && iterator->key() == record.first &&
           iterator->value() == record.second);
    iterator->Next();
  }
  assert(!iterator->Valid());
  iterator->SeekToLast();
  for (auto record = expected.rbegin(); record != expected.rend(); ++record) {
    assert(iterator->Valid() && iterator->key() == record->first);
    iterator->Prev();
  }
  assert(!iterator->Valid());
  for (int number = 0; number < 3000; number += 17) {
    const std::string target = "key" + std::to_string(number);
    iterator->Seek(target);
    const auto found = expected.lower_bound(target);
    assert(iterator->Valid() == (found != expected.end()));
    assert(!iterator->Valid() || iterator->key() == found->first);
  }
  Check(iterator->status());
  assert(table->ApproximateOffsetOf("a") == 0);
  assert(table->ApproximateOffsetOf("key5") > 0 && table->ApproximateOffsetOf("z") <= size);
  iterator.reset();
  delete table;
  delete random;
  Check(env->NewWritableFile(directory + "/text", &file));
  Check(DumpFile(env, name, file));
  Check(file->Close());
  delete file;

  // Any change of a byte is an error, or changes nothing.
  std::string content;
  Check(ReadFileToString(env, name, &content));
  std::unique_ptr<Env> memory(NewMemEnv(env));
  ReadOptions verified;
#ifdef ON_LEVELDB
  // LevelDB compares checksums only if it has to.
  options.paranoid_checks = true;
  verified.verify_checksums = true;
#endif
  for (size_t at = 0; at < content.size(); at += content.size() / 300 + 1) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    Check(WriteStringToFile(memory.get(), damaged, "/damaged"));
    Check(memory->NewRandomAccessFile("/damaged", &random));
    if (Table::Open(options, random, damaged.size(), &table).ok()) {
      iterator.reset(table->NewIterator(verified));
      size_t count = 0;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        count++;
      }
      assert(!iterator->status().ok() || count == expected.size());
      for (const auto& record : expected) {
        assert(!iterator->status().ok() || TableCache::Find(table, record.first) == record.first);
      }
      iterator.reset();
      delete table;
    }
    delete random;
  }
}

// The sizes are those of LevelDB 1.23.
static void TestChangedOptions(const std::string& directory) {
  Options options;
  options.block_size = 100;
  options.compression = kNoCompression;
  WritableFile* file;
  Check(Env::Default()->NewWritableFile(directory + "/changed", &file));
  TableBuilder builder(options, file);
  for (int number = 10000; number < 12000; number++) {
    if (number == 11000) {
      options.block_restart_interval = 1;
      Check(builder.ChangeOptions(options));
    }
    builder.Add(std::to_string(number), std::string(20, 'v'));
  }
  Check(builder.Finish());
  assert(builder.FileSize() == 72569);
  // Within a block.
  options.block_size = 1 << 20;
  options.block_restart_interval = 16;
  TableBuilder one_block(options, file);
  for (int number = 10000; number < 10020; number++) {
    if (number == 10003) {
      options.block_restart_interval = 4;
      Check(one_block.ChangeOptions(options));
    }
    one_block.Add(std::to_string(number), "v");
  }
  Check(one_block.Finish());
  assert(one_block.FileSize() == 231);
  options.comparator = nullptr;
  assert(builder.ChangeOptions(options).IsInvalidArgument());
  Check(file->Close());
  delete file;
}

static void TestThreads(const std::string& name) {
  Options options;
  options.create_if_missing = true;
  DB* opened;
  Check(DB::Open(options, name, &opened));
  const std::unique_ptr<DB> db(opened);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; thread++) {
    threads.emplace_back([&db, thread] {
      for (int round = 0; round < 200; round++) {
        const std::string key = std::to_string(thread) + "-" + std::to_string(round);
        WriteOptions write;
        write.sync = round % 50 == 0;
        Check(db->Put(write, key, key));
        std::string value;
        Check(db->Get(ReadOptions(), key, &value));
        assert(value == key);
        if (round % 20 == 0) {
          ReadOptions read;
          read.snapshot = db->GetSnapshot();
          std::unique_ptr<Iterator> iterator(db->NewIterator(read));
          int count = 0;
          for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
            count++;
          }
          assert(count > round);
          iterator.reset();
          db->ReleaseSnapshot(read.snapshot);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

int main(int count, char** arguments) {
  assert(count == 2);
  const std::string directory = arguments[1];
  TestStatus();
  TestBatch();
#ifndef ON_LEVELDB
  TestCache();
  TestForeignEnv(directory);
#endif
  TestFilter();
  TestComparator();
  TestEnv(Env::Default(), directory + "/env");
  std::unique_ptr<Env> memory(NewMemEnv(Env::Default()));
  TestEnv(memory.get(), "/memory");
  TestDatabase(Options(), directory + "/db");
  Options in_memory;
  in_memory.env = memory.get();
  TestDatabase(in_memory, "/database/in/memory");
  TestTable(directory, kSnappyCompression, true);
  TestTable(directory, kNoCompression, false);
  TestChangedOptions(directory);
  TestThreads(directory + "/threads");
  return 0;
}
