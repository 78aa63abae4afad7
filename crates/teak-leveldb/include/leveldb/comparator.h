// Orders of keys.

#ifndef TEAK_LEVELDB_COMPARATOR_H
#define TEAK_LEVELDB_COMPARATOR_H

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

// A total order. Several threads may use it at the same time, and it must not throw.
class LEVELDB_EXPORT Comparator {
 public:
  virtual ~Comparator();

  // Less than, equal to or greater than 0.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  // The name is stored with the database, which cannot be opened with another comparator. Names
  // that begin with "leveldb." are reserved.
  virtual const char* Name() const = 0;
  // May change *start to a shorter string that is at least *start and less than `limit`. Used by
  // tables only.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  // May change *key to a shorter string that is at least *key.
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

// The order of unsigned bytes. It belongs to the library.
LEVELDB_EXPORT const Comparator* BytewiseComparator();

}  // namespace leveldb

#endif
