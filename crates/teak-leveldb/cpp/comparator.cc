#include "leveldb/comparator.h"

#include "leveldb/slice.h"

namespace leveldb {

Comparator::~Comparator() = default;

namespace {

class BytewiseOrder : public Comparator {
 public:
  const char* Name() const override { return "leveldb.BytewiseComparator"; }

  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }

  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    size_t common = 0;
    while (common < start->size() && common < limit.size() && (*start)[common] == limit[common]) {
      common++;
    }
    if (common == start->size() || common == limit.size()) {
      // One begins with the other.
      return;
    }
    const unsigned char next = static_cast<unsigned char>((*start)[common]) + 1;
    if (next != 0 && next < static_cast<unsigned char>(limit[common])) {
      (*start)[common] = static_cast<char>(next);
      start->resize(common + 1);
    }
  }

  void FindShortSuccessor(std::string* key) const override {
    for (size_t index = 0; index < key->size(); index++) {
      const unsigned char byte = (*key)[index];
      if (byte != 0xff) {
        (*key)[index] = static_cast<char>(byte + 1);
        key->resize(index + 1);
        return;
      }
    }
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  // It is never deleted, so that databases may be used until the end of the process.
  static const Comparator* const kOrder = new BytewiseOrder;
  return kOrder;
}

}  // namespace leveldb
