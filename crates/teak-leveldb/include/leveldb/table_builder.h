// Writing files of sorted records.

#ifndef TEAK_LEVELDB_TABLE_BUILDER_H
#define TEAK_LEVELDB_TABLE_BUILDER_H

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

class WritableFile;

// Writes a file that Table reads.
class LEVELDB_EXPORT TableBuilder {
 public:
  // The caller closes the file.
  TableBuilder(const Options& options, WritableFile* file);
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;
  // Finish or Abandon was called before.
  ~TableBuilder();

  // Changes options for the records to come. The comparator must be the same.
  Status ChangeOptions(const Options& options);
  // Adds a record, whose key is greater than all before.
  void Add(const Slice& key, const Slice& value);
  // Ends the block: the next record begins another one.
  void Flush();
  // The first error.
  Status status() const;
  Status Finish();
  // Ends without a complete file.
  void Abandon();
  uint64_t NumEntries() const;
  // The number of bytes so far; after Finish that of the file.
  uint64_t FileSize() const;

 private:
  struct Rep;
  Rep* rep_;
};

}  // namespace leveldb

#endif
