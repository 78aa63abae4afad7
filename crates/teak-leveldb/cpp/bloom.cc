#include "coding.h"
#include "leveldb/filter_policy.h"
#include "leveldb/slice.h"

namespace leveldb {

FilterPolicy::~FilterPolicy() = default;

namespace {

const uint32_t kHashSeed = 0xbc9f1d34;
const int kMaxProbes = 30;

uint32_t Hash(const Slice& key) {
  const uint32_t multiplier = 0xc6a4a793;
  uint32_t hash = kHashSeed ^ (static_cast<uint32_t>(key.size()) * multiplier);
  size_t at = 0;
  for (; at + 4 <= key.size(); at += 4) {
    hash = (hash + static_cast<uint32_t>(GetFixed(key.data() + at, 4))) * multiplier;
    hash ^= hash >> 16;
  }
  if (at < key.size()) {
    const int rest = static_cast<int>(key.size() - at);
    hash = (hash + static_cast<uint32_t>(GetFixed(key.data() + at, rest))) * multiplier;
    hash ^= hash >> 24;
  }
  return hash;
}

// The bits of a key: the first by its hash, each further one by the hash rotated.
class Probes {
 public:
  Probes(const Slice& key, size_t bits) : hash_(Hash(key)), bits_(bits) {
    delta_ = (hash_ >> 17) | (hash_ << 15);
  }

  size_t Next() {
    const size_t bit = hash_ % bits_;
    hash_ += delta_;
    return bit;
  }

 private:
  uint32_t hash_;
  uint32_t delta_;
  size_t bits_;
};

class BloomFilterPolicy : public FilterPolicy {
 public:
  explicit BloomFilterPolicy(int bits_per_key) : bits_per_key_(bits_per_key) {
    // Times the logarithm of 2.
    probes_ = static_cast<int>(bits_per_key * 0.69);
    probes_ = probes_ < 1 ? 1 : probes_ > kMaxProbes ? kMaxProbes : probes_;
  }

  const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }

  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    size_t bits = static_cast<size_t>(n) * static_cast<size_t>(bits_per_key_);
    const size_t bytes = ((bits < 64 ? 64 : bits) + 7) / 8;
    bits = bytes * 8;
    const size_t start = dst->size();
    dst->resize(start + bytes, 0);
    for (int index = 0; index < n; index++) {
      Probes probes(keys[index], bits);
      for (int probe = 0; probe < probes_; probe++) {
        const size_t bit = probes.Next();
        (*dst)[start + bit / 8] |= static_cast<char>(1 << (bit % 8));
      }
    }
    dst->push_back(static_cast<char>(probes_));
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    if (filter.size() < 2) {
      return false;
    }
    const size_t bits = (filter.size() - 1) * 8;
    const int count = static_cast<unsigned char>(filter[filter.size() - 1]);
    if (count > kMaxProbes) {
      // Reserved for other kinds of filters.
      return true;
    }
    Probes probes(key, bits);
    for (int probe = 0; probe < count; probe++) {
      const size_t bit = probes.Next();
      if ((filter[bit / 8] & (1 << (bit % 8))) == 0) {
        return false;
      }
    }
    return true;
  }

 private:
  int bits_per_key_;
  int probes_;
};

}  // namespace

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) {
  return new BloomFilterPolicy(bits_per_key < 0 ? 0 : bits_per_key);
}

}  // namespace leveldb
