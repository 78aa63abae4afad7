#include "leveldb/db.h"

#include <memory>

#include "bridge.h"
#include "env_kinds.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/write_batch.h"
#include "write_batch_internal.h"

namespace leveldb {

DB::~DB() = default;
Snapshot::~Snapshot() = default;

// Classes of the application that are a DB may call these.
Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

namespace {

// Calls the application's comparator. An exception ends the process: it must not go on through the
// other language.
int Compare(const void* comparator, tl_slice a, tl_slice b) noexcept {
  return static_cast<const Comparator*>(comparator)->Compare(Unbridged(a), Unbridged(b));
}

tl_options OptionsFor(const Options& options) {
  // Another object with this name has the same order.
  const bool is_bytewise =
      std::string(options.comparator->Name()) == BytewiseComparator()->Name();
  return {options.create_if_missing, options.error_if_exists,
          options.compression != kNoCompression,
          Bridged(options.comparator->Name()), is_bytewise ? nullptr : Compare,
          options.comparator};
}

// A state, or the error because of which there is none: GetSnapshot cannot return it.
class StoreSnapshot : public Snapshot {
 public:
  StoreSnapshot(tl_snapshot* snapshot, const Status& status)
      : snapshot_(snapshot), status_(status) {}
  ~StoreSnapshot() override {
    if (snapshot_ != nullptr) {
      tl_snapshot_free(snapshot_);
    }
  }

  const tl_snapshot* get() const { return snapshot_; }
  const Status& status() const { return status_; }

 private:
  tl_snapshot* const snapshot_;
  const Status status_;
};

// The state that is to be read; null for the newest one.
Status FindSnapshot(const ReadOptions& options, const tl_snapshot** found) {
  const auto* snapshot = static_cast<const StoreSnapshot*>(options.snapshot);
  *found = snapshot == nullptr ? nullptr : snapshot->get();
  return snapshot == nullptr ? Status::OK() : snapshot->status();
}

class StoreIterator : public Iterator {
 public:
  explicit StoreIterator(tl_iterator* iterator) : iterator_(iterator), record_() {}
  ~StoreIterator() override { tl_iterator_free(iterator_); }

  bool Valid() const override { return record_.is_valid; }
  void SeekToFirst() override { tl_iterator_first(iterator_, &record_); }
  void SeekToLast() override { tl_iterator_last(iterator_, &record_); }
  void Seek(const Slice& target) override {
    tl_iterator_seek(iterator_, Bridged(target), &record_);
  }
  void Next() override { tl_iterator_next(iterator_, &record_); }
  void Prev() override { tl_iterator_prev(iterator_, &record_); }
  Slice key() const override { return Text(record_.key); }
  Slice value() const override { return Text(record_.value); }

  Status status() const override {
    tl_status failure;
    if (record_.has_failed && tl_iterator_failure(iterator_, &failure)) {
      return TakeStatus(failure);
    }
    return record_.has_failed ? Status::IOError("internal error of the library")
                              : Status::OK();
  }

 private:
  // Before the first move there is no address.
  static Slice Text(const tl_slice& slice) {
    return slice.data == nullptr ? Slice() : Unbridged(slice);
  }

  tl_iterator* const iterator_;
  tl_record record_;
};

class StoreDb : public DB {
 public:
  StoreDb(tl_store* store, std::unique_ptr<Logger> own_log, Logger* log)
      : store_(store), own_log_(std::move(own_log)), log_(log) {
    Log(log_, "opened");
  }

  ~StoreDb() override {
    tl_close(store_);
    Log(log_, "closed");
    if (memory_env_ != nullptr) {
      memory_env_->Release(memory_name_);
    }
  }

  // Releases the name in an Env in memory at the end.
  void ReleaseAtEnd(MemoryEnv* env, const std::string& name, std::shared_ptr<tl_memory> place) {
    memory_env_ = env;
    memory_name_ = name;
    place_ = std::move(place);
  }

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    return DB::Put(options, key, value);
  }

  Status Delete(const WriteOptions& options, const Slice& key) override {
    return DB::Delete(options, key);
  }

  Status Write(const WriteOptions& options, WriteBatch* updates) override {
    // In LevelDB no batch means that its buffer is to be written. There is none.
    if (updates == nullptr) {
      return Status::OK();
    }
    tl_status failure;
    const tl_slice batch = Bridged(WriteBatchInternal::Contents(updates));
    return tl_write(store_, batch, options.sync, &failure) ? Status::OK() : TakeStatus(failure);
  }

  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override {
    const tl_snapshot* snapshot;
    const Status status = FindSnapshot(options, &snapshot);
    if (!status.ok()) {
      return status;
    }
    tl_status failure;
    Target target{value};
    switch (tl_get(store_, snapshot, Bridged(key), Target::Assign, &target, &failure)) {
      case 1:
        return target.is_out_of_memory ? Status::IOError("out of memory") : Status::OK();
      case 0:
        return Status::NotFound(Slice());
      default:
        return TakeStatus(failure);
    }
  }

  Iterator* NewIterator(const ReadOptions& options) override {
    const tl_snapshot* snapshot;
    const Status status = FindSnapshot(options, &snapshot);
    if (!status.ok()) {
      return NewErrorIterator(status);
    }
    tl_status failure;
    tl_iterator* iterator = tl_iterator_new(store_, snapshot, &failure);
    if (iterator == nullptr) {
      return NewErrorIterator(TakeStatus(failure));
    }
    return new StoreIterator(iterator);
  }

  const Snapshot* GetSnapshot() override {
    tl_status failure;
    tl_snapshot* snapshot = tl_snapshot_new(store_, &failure);
    return new StoreSnapshot(snapshot, snapshot == nullptr ? TakeStatus(failure) : Status::OK());
  }

  void ReleaseSnapshot(const Snapshot* snapshot) override {
    delete static_cast<const StoreSnapshot*>(snapshot);
  }

  bool GetProperty(const Slice& property, std::string* value) override {
    value->clear();
    if (property == "teak.version") {
      *value = tl_version();
      return true;
    }
    const std::string prefix = "leveldb.";
    Slice name = property;
    if (!name.starts_with(prefix)) {
      return false;
    }
    name.remove_prefix(prefix.size());
    const std::string files = "num-files-at-level";
    if (name.starts_with(files)) {
      name.remove_prefix(files.size());
      if (!IsLevel(name)) {
        return false;
      }
      *value = "0";
      return true;
    }
    if (name == "stats") {
      *value =
          "                               Compactions\n"
          "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
          "--------------------------------------------------\n";
      return true;
    }
    if (name == "sstables") {
      for (int level = 0; level < kLevels; level++) {
        *value += "--- level " + std::to_string(level) + " ---\n";
      }
      return true;
    }
    if (name == "approximate-memory-usage") {
      *value = std::to_string(tl_memory_bytes(store_));
      return true;
    }
    return false;
  }

  void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override {
    for (int index = 0; index < n; index++) {
      sizes[index] =
          tl_approximate_size(store_, Bridged(range[index].start), Bridged(range[index].limit));
    }
  }

  void CompactRange(const Slice*, const Slice*) override {
    tl_status failure;
    if (!tl_compact(store_, &failure)) {
      Log(log_, "compaction: %s", TakeStatus(failure).ToString().c_str());
    }
  }

 private:
  static const int kLevels = 7;

  // Whether a text is the number of a level: digits, with any zeros before it.
  static bool IsLevel(const Slice& text) {
    uint64_t level = 0;
    for (size_t index = 0; index < text.size(); index++) {
      if (text[index] < '0' || text[index] > '9' || level >= kLevels) {
        return false;
      }
      level = level * 10 + (text[index] - '0');
    }
    return !text.empty() && level < kLevels;
  }

  tl_store* const store_;
  // Created for this database; null if the application has given one.
  const std::unique_ptr<Logger> own_log_;
  Logger* const log_;
  MemoryEnv* memory_env_ = nullptr;
  std::string memory_name_;
  std::shared_ptr<tl_memory> place_;
};

// The file LOG, if the application gives no logger. The one before it is kept as LOG.old.
std::unique_ptr<Logger> OwnLog(const Options& options, const std::string& name) {
  Logger* logger = nullptr;
  if (options.info_log == nullptr) {
    options.env->RenameFile(name + "/LOG", name + "/LOG.old");
    // Without it there is no log.
    options.env->NewLogger(name + "/LOG", &logger);
  }
  return std::unique_ptr<Logger>(logger);
}

Status Unsupported(const std::string& name) {
  return Status::NotSupported(
      name, "a database can use Env::Default(), NewMemEnv() and an EnvWrapper around them that "
            "overrides no functions for files, but no other Env");
}

Status OpenInMemory(const Options& options, const std::string& name, MemoryEnv* env, DB** dbptr) {
  if (!env->Hold(name)) {
    return Status::IOError("lock " + name + "/LOCK", "already held by process");
  }
  std::unique_ptr<Logger> own_log = OwnLog(options, name);
  Logger* log = options.info_log == nullptr ? own_log.get() : options.info_log;
  std::shared_ptr<tl_memory> place = env->Place(name);
  tl_status failure;
  const tl_options given = OptionsFor(options);
  tl_store* store = tl_open_in_memory(place.get(), Bridged(name), &given, &failure);
  if (store == nullptr) {
    env->Release(name);
    return TakeStatus(failure);
  }
  auto db = std::make_unique<StoreDb>(store, std::move(own_log), log);
  db->ReleaseAtEnd(env, name, std::move(place));
  *dbptr = db.release();
  return Status::OK();
}

}  // namespace

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  *dbptr = nullptr;
  if (MemoryEnv* memory = FindMemoryEnv(options.env)) {
    return OpenInMemory(options, name, memory, dbptr);
  }
  if (!IsDefaultEnv(options.env)) {
    return Unsupported(name);
  }
  // As LevelDB does, before anything else is known. Errors show up later.
  options.env->CreateDir(name);
  std::unique_ptr<Logger> own_log = OwnLog(options, name);
  Logger* log = options.info_log == nullptr ? own_log.get() : options.info_log;
  tl_status failure;
  const tl_options given = OptionsFor(options);
  tl_store* store = tl_open(Bridged(name), &given, &failure);
  if (store == nullptr) {
    return TakeStatus(failure);
  }
  *dbptr = new StoreDb(store, std::move(own_log), log);
  return Status::OK();
}

Status DestroyDB(const std::string& name, const Options& options) {
  if (MemoryEnv* memory = FindMemoryEnv(options.env)) {
    if (!memory->Hold(name)) {
      return Status::IOError("lock " + name + "/LOCK", "already held by process");
    }
    memory->RemovePlace(name);
    memory->Release(name);
    return Status::OK();
  }
  if (!IsDefaultEnv(options.env)) {
    return Unsupported(name);
  }
  tl_status failure;
  return tl_destroy(Bridged(name), &failure) ? Status::OK() : TakeStatus(failure);
}

Status RepairDB(const std::string& dbname, const Options& options) {
  if (FindMemoryEnv(options.env) != nullptr) {
    return Status::OK();
  }
  if (!IsDefaultEnv(options.env)) {
    return Unsupported(dbname);
  }
  if (options.info_log == nullptr) {
    // As LevelDB does, for its log.
    options.env->CreateDir(dbname);
  }
  tl_status failure;
  const tl_options given = OptionsFor(options);
  return tl_repair(Bridged(dbname), &given, &failure) ? Status::OK() : TakeStatus(failure);
}

}  // namespace leveldb
