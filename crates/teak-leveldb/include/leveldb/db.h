// Databases.

#ifndef TEAK_LEVELDB_DB_H
#define TEAK_LEVELDB_DB_H

#include <cstdint>
#include <cstdio>

#include "leveldb/export.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"

namespace leveldb {

// The version of LevelDB whose interface this is.
static const int kMajorVersion = 1;
static const int kMinorVersion = 23;

struct Options;
struct ReadOptions;
struct WriteOptions;
class WriteBatch;

// A state of a database. DB::ReleaseSnapshot deletes it.
class LEVELDB_EXPORT Snapshot {
 protected:
  virtual ~Snapshot();
};

// The keys from `start` up to `limit`, which is excluded.
struct LEVELDB_EXPORT Range {
  Range() = default;
  Range(const Slice& from, const Slice& to) : start(from), limit(to) {}

  Slice start;
  Slice limit;
};

// An open database: a directory with a Teak file. Several threads may use it at the same time.
class LEVELDB_EXPORT DB {
 public:
  // Opens the directory `name`. The caller deletes *dbptr, which is null after an error.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  // It is no error if the key does not exist.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  // Makes the changes of a batch, all or none.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  // Without the key: a status for which IsNotFound() holds, and *value does not change.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  // An iterator over the state at this moment, or that of a snapshot. The caller deletes it.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  // Knows "leveldb.num-files-at-level<N>", "leveldb.stats", "leveldb.sstables" and
  // "leveldb.approximate-memory-usage".
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  // Estimates the bytes of the file that ranges take.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;
  // Makes the file shorter, if that is worth the work. The bounds do not matter.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

// Removes a database. Other files of the directory stay.
LEVELDB_EXPORT Status DestroyDB(const std::string& name, const Options& options);

// If a page is damaged: saves what can be read to a new file in the place of the damaged one.
LEVELDB_EXPORT Status RepairDB(const std::string& dbname, const Options& options);

}  // namespace leveldb

#endif
