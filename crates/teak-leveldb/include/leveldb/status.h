// Results of operations.

#ifndef TEAK_LEVELDB_STATUS_H
#define TEAK_LEVELDB_STATUS_H

#include <string>
#include <utility>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

// Success, or an error of a kind with a text.
class LEVELDB_EXPORT Status {
 public:
  Status() noexcept : state_(nullptr) {}
  ~Status() { delete[] state_; }

  Status(const Status& other) : state_(CopyOf(other)) {}
  Status& operator=(const Status& other) {
    if (state_ != other.state_) {
      delete[] state_;
      state_ = CopyOf(other);
    }
    return *this;
  }

  Status(Status&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Status& operator=(Status&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  static Status OK() { return Status(); }
  // With two texts, ": " is between them.
  static Status NotFound(const Slice& text, const Slice& more = Slice()) {
    return Status(kNotFound, text, more);
  }
  static Status Corruption(const Slice& text, const Slice& more = Slice()) {
    return Status(kCorruption, text, more);
  }
  static Status NotSupported(const Slice& text, const Slice& more = Slice()) {
    return Status(kNotSupported, text, more);
  }
  static Status InvalidArgument(const Slice& text, const Slice& more = Slice()) {
    return Status(kInvalidArgument, text, more);
  }
  static Status IOError(const Slice& text, const Slice& more = Slice()) {
    return Status(kIOError, text, more);
  }

  bool ok() const { return state_ == nullptr; }
  bool IsNotFound() const { return code() == kNotFound; }
  bool IsCorruption() const { return code() == kCorruption; }
  bool IsIOError() const { return code() == kIOError; }
  bool IsNotSupportedError() const { return code() == kNotSupported; }
  bool IsInvalidArgument() const { return code() == kInvalidArgument; }

  // "OK", or the name of the kind and the text.
  std::string ToString() const;

 private:
  enum Code {
    kOk = 0,
    kNotFound = 1,
    kCorruption = 2,
    kNotSupported = 3,
    kInvalidArgument = 4,
    kIOError = 5
  };

  Code code() const { return state_ == nullptr ? kOk : static_cast<Code>(state_[4]); }

  Status(Code code, const Slice& text, const Slice& more);
  static const char* CopyState(const char* state);
  static const char* CopyOf(const Status& other) {
    return other.state_ == nullptr ? nullptr : CopyState(other.state_);
  }

  // Null for success. Otherwise, from `new char[]`: the length of the text in four bytes, the code
  // in one, and the text.
  const char* state_;
};

}  // namespace leveldb

#endif
