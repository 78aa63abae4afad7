// Files of sorted records, as LevelDB has them. Databases of Teak have none.

#ifndef TEAK_LEVELDB_TABLE_H
#define TEAK_LEVELDB_TABLE_H

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/iterator.h"

namespace leveldb {

struct Options;
class RandomAccessFile;
struct ReadOptions;
class TableCache;

// A file of sorted records. Several threads may use it at the same time.
class LEVELDB_EXPORT Table {
 public:
  // Opens the first `file_size` bytes of a file, which the caller keeps as long as the table. The
  // caller deletes *table.
  static Status Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                     Table** table);

  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table();

  // An iterator over all records. The caller deletes it, before the table.
  Iterator* NewIterator(const ReadOptions& options) const;
  // The offset in the file at which the record of `key` begins, or would begin.
  uint64_t ApproximateOffsetOf(const Slice& key) const;

 private:
  // A class of this name, if a program has one, may look up keys.
  friend class TableCache;
  struct Rep;
  explicit Table(Rep* rep) : rep_(rep) {}

  // Calls a function with the first record that is not less than the key, if it is in the block in
  // which the key would be and the filter does not rule the key out.
  Status InternalGet(const ReadOptions& options, const Slice& key, void* context,
                     void (*found)(void* context, const Slice& key, const Slice& value));

  Rep* const rep_;
};

}  // namespace leveldb

#endif
