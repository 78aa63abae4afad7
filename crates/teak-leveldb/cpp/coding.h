// Numbers in bytes: little-endian, and in groups of seven bits.

#ifndef TEAK_LEVELDB_CODING_H
#define TEAK_LEVELDB_CODING_H

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace leveldb {

inline void PutFixed(std::string* out, uint64_t number, int bytes) {
  for (int index = 0; index < bytes; index++) {
    out->push_back(static_cast<char>(number >> (8 * index)));
  }
}

inline uint64_t GetFixed(const char* in, int bytes) {
  uint64_t number = 0;
  for (int index = 0; index < bytes; index++) {
    number |= static_cast<uint64_t>(static_cast<unsigned char>(in[index])) << (8 * index);
  }
  return number;
}

inline void PutVarint(std::string* out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) {
    out->push_back(static_cast<char>(number | 0x80));
  }
  out->push_back(static_cast<char>(number));
}

inline void PutString(std::string* out, const Slice& text) {
  PutVarint(out, text.size());
  out->append(text.data(), text.size());
}

// Takes a number from the beginning of `in`. False if there is none of up to `bits`.
inline bool GetVarint(Slice* in, int bits, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < bits && !in->empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>((*in)[0]);
    in->remove_prefix(1);
    *number |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      return bits == 64 || (*number >> bits) == 0;
    }
  }
  return false;
}

// Takes a byte string after its length.
inline bool GetString(Slice* in, Slice* text) {
  uint64_t size;
  if (!GetVarint(in, 32, &size) || size > in->size()) {
    return false;
  }
  *text = Slice(in->data(), size);
  in->remove_prefix(size);
  return true;
}

}  // namespace leveldb

#endif
