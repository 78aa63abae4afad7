#include "leveldb/status.h"

#include "coding.h"

namespace leveldb {

// Bytes before the text: its length and the code.
static const size_t kHeaderSize = 5;

Status::Status(Code code, const Slice& text, const Slice& more) {
  std::string full = text.ToString();
  if (!more.empty()) {
    full.append(": ").append(more.data(), more.size());
  }
  std::string state;
  PutFixed(&state, full.size(), 4);
  state.push_back(static_cast<char>(code));
  state.append(full);
  state_ = CopyState(state.data());
}

const char* Status::CopyState(const char* state) {
  const size_t size = GetFixed(state, 4) + kHeaderSize;
  char* copy = new char[size];
  memcpy(copy, state, size);
  return copy;
}

std::string Status::ToString() const {
  static const char* const kNames[] = {
      "OK", "NotFound: ", "Corruption: ", "Not implemented: ", "Invalid argument: ", "IO error: ",
  };
  if (state_ == nullptr) {
    return kNames[kOk];
  }
  const size_t index = static_cast<unsigned char>(state_[4]);
  std::string text = index <= kIOError
                         ? std::string(kNames[index])
                         : "Unknown code(" + std::to_string(index) + "): ";
  return text.append(state_ + kHeaderSize, GetFixed(state_, 4));
}

}  // namespace leveldb
