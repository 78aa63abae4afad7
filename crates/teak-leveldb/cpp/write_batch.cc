#include "leveldb/write_batch.h"

#include "coding.h"
#include "leveldb/slice.h"
#include "write_batch_internal.h"

namespace leveldb {

namespace {

// The sequence number and the number of changes.
const size_t kHeaderSize = 12;
const size_t kCountOffset = 8;
const char kDeletion = 0;
const char kValue = 1;

uint64_t Count(const std::string& rep) { return GetFixed(rep.data() + kCountOffset, 4); }

void SetCount(std::string* rep, uint64_t count) {
  std::string bytes;
  PutFixed(&bytes, count, 4);
  rep->replace(kCountOffset, 4, bytes);
}

}  // namespace

WriteBatch::Handler::~Handler() = default;

WriteBatch::WriteBatch() { Clear(); }

WriteBatch::~WriteBatch() = default;

void WriteBatch::Clear() { rep_.assign(kHeaderSize, '\0'); }

size_t WriteBatch::ApproximateSize() const { return rep_.size(); }

void WriteBatch::Put(const Slice& key, const Slice& value) {
  SetCount(&rep_, Count(rep_) + 1);
  rep_.push_back(kValue);
  PutString(&rep_, key);
  PutString(&rep_, value);
}

void WriteBatch::Delete(const Slice& key) {
  SetCount(&rep_, Count(rep_) + 1);
  rep_.push_back(kDeletion);
  PutString(&rep_, key);
}

void WriteBatch::Append(const WriteBatch& source) {
  // The source may be this batch.
  const size_t end = source.rep_.size();
  SetCount(&rep_, Count(rep_) + Count(source.rep_));
  rep_.append(source.rep_, kHeaderSize, end - kHeaderSize);
}

Status WriteBatch::Iterate(Handler* handler) const {
  if (rep_.size() < kHeaderSize) {
    return Status::Corruption("malformed WriteBatch (too small)");
  }
  Slice rest(rep_);
  rest.remove_prefix(kHeaderSize);
  uint64_t found = 0;
  while (!rest.empty()) {
    found++;
    const char kind = rest[0];
    rest.remove_prefix(1);
    Slice key, value;
    if (kind == kValue) {
      if (!GetString(&rest, &key) || !GetString(&rest, &value)) {
        return Status::Corruption("bad WriteBatch Put");
      }
      handler->Put(key, value);
    } else if (kind == kDeletion) {
      if (!GetString(&rest, &key)) {
        return Status::Corruption("bad WriteBatch Delete");
      }
      handler->Delete(key);
    } else {
      return Status::Corruption("unknown WriteBatch tag");
    }
  }
  return found == Count(rep_) ? Status::OK() : Status::Corruption("WriteBatch has wrong count");
}

Slice WriteBatchInternal::Contents(const WriteBatch* batch) { return Slice(batch->rep_); }

}  // namespace leveldb
