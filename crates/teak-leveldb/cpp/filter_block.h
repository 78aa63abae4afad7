// The filters of a table, one after the other: each for the blocks that begin in a range of the
// file.

#ifndef TEAK_LEVELDB_FILTER_BLOCK_H
#define TEAK_LEVELDB_FILTER_BLOCK_H

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"

namespace leveldb {

class FilterPolicy;

// The key under which a table has the handle of its filters.
std::string FilterKey(const FilterPolicy* policy);

// Writes the filters of a table.
class FilterBlockBuilder {
 public:
  explicit FilterBlockBuilder(const FilterPolicy* policy) : policy_(policy) {}

  void Add(const Slice& key) { keys_.push_back(key.ToString()); }
  // Keys to come are in a block at `offset`.
  void BeginBlock(uint64_t offset);
  std::string Finish();

 private:
  void EndFilter();

  const FilterPolicy* const policy_;
  std::vector<std::string> keys_;
  std::string filters_;
  std::vector<uint32_t> offsets_;
};

// Asks the filters of a table.
class FilterBlockReader {
 public:
  FilterBlockReader(const FilterPolicy* policy, std::string content);

  // False if the block at `offset` does not have the key. True if that is not known, and if the
  // filters are damaged.
  bool MayHave(uint64_t offset, const Slice& key) const;

 private:
  // Where the filter of a range begins. That of the range after the last one is the end.
  uint64_t Offset(uint64_t range) const;

  const FilterPolicy* const policy_;
  const std::string content_;
  // The offset of the array of offsets, and the number of ranges.
  uint64_t array_ = 0;
  uint64_t count_ = 0;
  int range_log_ = 0;
};

}  // namespace leveldb

#endif
