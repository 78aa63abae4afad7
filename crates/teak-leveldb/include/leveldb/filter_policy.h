// Filters of tables, which tell that a key is not there without reading a block. Databases of Teak
// do without them.

#ifndef TEAK_LEVELDB_FILTER_POLICY_H
#define TEAK_LEVELDB_FILTER_POLICY_H

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // The name is stored with the filters. A change of their form needs another name.
  virtual const char* Name() const = 0;
  // Appends a filter for `n` keys to *dst.
  virtual void CreateFilter(const Slice* keys, int n, std::string* dst) const = 0;
  // True for all keys of the filter, and false for most others.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

// A Bloom filter; about 10 bits per key find 99 % of absent keys. The caller deletes it.
LEVELDB_EXPORT const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace leveldb

#endif
