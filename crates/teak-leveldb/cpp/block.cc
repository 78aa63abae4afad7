#include "block.h"

#include "bridge.h"
#include "coding.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"

namespace leveldb {

void BlockHandle::AppendTo(std::string* out) const {
  PutVarint(out, offset);
  PutVarint(out, size);
}

bool BlockHandle::ParseFrom(Slice* in) {
  return GetVarint(in, 64, &offset) && GetVarint(in, 64, &size);
}

uint32_t MaskedChecksum(const Slice& content, char kind) {
  const uint32_t checksum = tl_crc32c(tl_crc32c(0, Bridged(content)), {&kind, 1});
  return ((checksum >> 15) | (checksum << 17)) + 0xa282ead8u;
}

static Status Decompress(const Slice& stored, std::string* content) {
  Target target{content};
  if (!tl_snappy_decompress(Bridged(stored), Target::Assign, &target)) {
    return Status::Corruption("corrupted compressed block contents");
  }
  return target.is_out_of_memory ? Status::IOError("out of memory") : Status::OK();
}

Status ReadBlock(const RandomAccessFile* file, uint64_t file_size, const BlockHandle& handle,
                 std::string* content) {
  if (handle.offset > file_size || handle.size > file_size ||
      handle.offset + handle.size + kTrailerSize > file_size) {
    return Status::Corruption("a block ends after the end of its table");
  }
  const size_t size = handle.size;
  std::string buffer(size + kTrailerSize, '\0');
  Slice read;
  const Status status = file->Read(handle.offset, buffer.size(), &read, &buffer[0]);
  if (!status.ok()) {
    return status;
  }
  if (read.size() != buffer.size()) {
    return Status::Corruption("truncated block read");
  }
  const Slice stored(read.data(), size);
  const char kind = read[size];
  if (GetFixed(read.data() + size + 1, 4) != MaskedChecksum(stored, kind)) {
    return Status::Corruption("block checksum mismatch");
  }
  switch (kind) {
    case kNoCompression:
      content->assign(stored.data(), stored.size());
      return Status::OK();
    case kSnappyCompression:
      return Decompress(stored, content);
    default:
      return Status::Corruption("bad block type");
  }
}

BlockBuilder::BlockBuilder(int restart_interval)
    : restart_interval_(restart_interval), restarts_{0}, entries_(0) {}

void BlockBuilder::Add(const Slice& key, const Slice& value) {
  size_t shared = 0;
  if (entries_ > 0 && entries_ >= restart_interval_) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    entries_ = 0;
  } else {
    while (shared < last_key_.size() && shared < key.size() && last_key_[shared] == key[shared]) {
      shared++;
    }
  }
  PutVarint(&bytes_, shared);
  PutVarint(&bytes_, key.size() - shared);
  PutVarint(&bytes_, value.size());
  bytes_.append(key.data() + shared, key.size() - shared);
  bytes_.append(value.data(), value.size());
  last_key_.assign(key.data(), key.size());
  entries_++;
}

std::string BlockBuilder::Finish() {
  for (const uint32_t restart : restarts_) {
    PutFixed(&bytes_, restart, 4);
  }
  PutFixed(&bytes_, restarts_.size(), 4);
  std::string content;
  content.swap(bytes_);
  restarts_.assign(1, 0);
  entries_ = 0;
  last_key_.clear();
  return content;
}

namespace {

class BlockIterator : public Iterator {
 public:
  BlockIterator(std::shared_ptr<const std::string> content, const Comparator* comparator)
      : content_(std::move(content)), comparator_(comparator) {
    const size_t size = content_->size();
    const uint64_t count = size < 4 ? 0 : GetFixed(content_->data() + size - 4, 4);
    if (count == 0 || count > (size - 4) / 4) {
      status_ = Status::Corruption("bad block contents");
      return;
    }
    restart_count_ = count;
    end_ = size - 4 * (count + 1);
  }

  bool Valid() const override { return is_valid_; }
  Status status() const override { return status_; }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }

  void SeekToFirst() override {
    GoToRestart(0);
    ReadNext();
  }

  void SeekToLast() override {
    if (restart_count_ > 0) {
      GoToRestart(restart_count_ - 1);
      while (ReadNext() && next_ < end_) {
      }
    }
  }

  void Next() override { ReadNext(); }

  void Prev() override {
    const size_t current = current_;
    // The last restart before the current entry.
    size_t index = restart_count_;
    while (index > 0 && Restart(index - 1) >= current) {
      index--;
    }
    if (index == 0) {
      is_valid_ = false;
      return;
    }
    GoToRestart(index - 1);
    while (ReadNext() && next_ < current) {
    }
  }

  void Seek(const Slice& target) override {
    // The last restart whose key is less than the target.
    size_t left = 0;
    size_t right = restart_count_;
    while (left + 1 < right) {
      const size_t middle = (left + right) / 2;
      GoToRestart(middle);
      if (!ReadNext()) {
        return;
      }
      if (comparator_->Compare(key_, target) < 0) {
        left = middle;
      } else {
        right = middle;
      }
    }
    GoToRestart(left);
    while (ReadNext() && comparator_->Compare(key_, target) < 0) {
    }
  }

 private:
  size_t Restart(size_t index) const { return GetFixed(content_->data() + end_ + 4 * index, 4); }

  void GoToRestart(size_t index) {
    key_.clear();
    next_ = restart_count_ == 0 ? end_ : Restart(index);
  }

  // Reads the entry at `next_`. False at the end, and if it is damaged.
  bool ReadNext() {
    is_valid_ = false;
    if (next_ >= end_ || !status_.ok()) {
      return false;
    }
    current_ = next_;
    Slice rest(content_->data() + next_, end_ - next_);
    uint64_t shared, unshared, value_size;
    if (!GetVarint(&rest, 32, &shared) || !GetVarint(&rest, 32, &unshared) ||
        !GetVarint(&rest, 32, &value_size) || shared > key_.size() ||
        unshared + value_size > rest.size()) {
      status_ = Status::Corruption("bad entry in block");
      return false;
    }
    key_.resize(shared);
    key_.append(rest.data(), unshared);
    value_ = Slice(rest.data() + unshared, value_size);
    next_ = value_.data() + value_size - content_->data();
    is_valid_ = true;
    return true;
  }

  const std::shared_ptr<const std::string> content_;
  const Comparator* const comparator_;
  size_t restart_count_ = 0;
  // The end of the entries.
  size_t end_ = 0;
  // The offsets of the current entry and of the next one.
  size_t current_ = 0;
  size_t next_ = 0;
  std::string key_;
  Slice value_;
  bool is_valid_ = false;
  Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewBlockIterator(std::shared_ptr<const std::string> content,
                                           const Comparator* comparator) {
  return std::make_unique<BlockIterator>(std::move(content), comparator);
}

}  // namespace leveldb
