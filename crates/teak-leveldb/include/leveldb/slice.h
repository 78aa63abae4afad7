// Bytes that belong to somebody else.

#ifndef TEAK_LEVELDB_SLICE_H
#define TEAK_LEVELDB_SLICE_H

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include "leveldb/export.h"

namespace leveldb {

// An address and a length. The owner of the bytes must keep them as long as the slice is used.
class LEVELDB_EXPORT Slice {
 public:
  Slice() : data_(""), size_(0) {}
  Slice(const char* data, size_t size) : data_(data), size_(size) {}
  Slice(const std::string& text) : data_(text.data()), size_(text.size()) {}
  Slice(const char* text) : data_(text), size_(strlen(text)) {}
  Slice(const Slice&) = default;
  Slice& operator=(const Slice&) = default;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  char operator[](size_t index) const {
    assert(index < size_);
    return data_[index];
  }

  void clear() {
    data_ = "";
    size_ = 0;
  }

  // Leaves out the first bytes.
  void remove_prefix(size_t count) {
    assert(count <= size_);
    data_ += count;
    size_ -= count;
  }

  std::string ToString() const { return std::string(data_, size_); }

  // Less than, equal to or greater than 0, by unsigned bytes; a beginning comes first.
  int compare(const Slice& other) const {
    const size_t common = size_ < other.size_ ? size_ : other.size_;
    const int order = memcmp(data_, other.data_, common);
    if (order != 0 || size_ == other.size_) {
      return order;
    }
    return size_ < other.size_ ? -1 : 1;
  }

  bool starts_with(const Slice& start) const {
    return size_ >= start.size_ && memcmp(data_, start.data_, start.size_) == 0;
  }

 private:
  const char* data_;
  size_t size_;
};

inline bool operator==(const Slice& left, const Slice& right) {
  return left.size() == right.size() && memcmp(left.data(), right.data(), left.size()) == 0;
}

inline bool operator!=(const Slice& left, const Slice& right) { return !(left == right); }

}  // namespace leveldb

#endif
