// Blocks of table files.

#ifndef TEAK_LEVELDB_BLOCK_H
#define TEAK_LEVELDB_BLOCK_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class Comparator;
class RandomAccessFile;

const uint64_t kTableMagic = 0xdb4775248b80fb57ull;
const size_t kFooterSize = 48;
// The handles of the footer, with zeros up to this size.
const size_t kHandlesSize = 40;
// The kind of compression and the checksum after a block.
const size_t kTrailerSize = 5;

// The place of a block.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;

  void AppendTo(std::string* out) const;
  // Takes a handle from the beginning of `in`.
  bool ParseFrom(Slice* in);
};

// The checksum as it is stored.
uint32_t MaskedChecksum(const Slice& content, char kind);

// Reads a block of a file of `file_size` bytes, compares its checksum and decompresses it.
Status ReadBlock(const RandomAccessFile* file, uint64_t file_size, const BlockHandle& handle,
                 std::string* content);

// Writes the entries of a block. Keys ascend; all but every `restart_interval`-th one are stored
// without what they share with the key before.
class BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval);

  // For the next keys, also of the current block.
  void set_restart_interval(int interval) { restart_interval_ = interval; }
  void Add(const Slice& key, const Slice& value);
  bool empty() const { return bytes_.empty(); }
  // The size that the content would have.
  size_t size() const { return bytes_.size() + 4 * (restarts_.size() + 1); }
  // The content. Afterwards the builder is empty.
  std::string Finish();

 private:
  int restart_interval_;
  std::string bytes_;
  std::vector<uint32_t> restarts_;
  // Entries since the last restart.
  int entries_;
  std::string last_key_;
};

// An iterator over the entries of a block.
std::unique_ptr<Iterator> NewBlockIterator(std::shared_ptr<const std::string> content,
                                           const Comparator* comparator);

}  // namespace leveldb

#endif
