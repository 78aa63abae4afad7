// Caches for an application's own use. A database of Teak has no cache: its pages are those of the
// system.

#ifndef TEAK_LEVELDB_CACHE_H
#define TEAK_LEVELDB_CACHE_H

#include <cstddef>
#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

class LEVELDB_EXPORT Cache;

// A cache that removes the entry used longest ago when the sum of charges is greater than
// `capacity`. The caller deletes it.
LEVELDB_EXPORT Cache* NewLRUCache(size_t capacity);

// A map from keys to values, for several threads. An entry with a handle stays in memory until the
// handle is released.
class LEVELDB_EXPORT Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  // Calls the deleters of all entries. There must be no handles.
  virtual ~Cache();

  struct Handle {};

  // Inserts an entry in place of that of the same key. `deleter` is called when neither the cache
  // nor a handle has it any more.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;
  // Null if there is no such entry.
  virtual Handle* Lookup(const Slice& key) = 0;
  virtual void Release(Handle* handle) = 0;
  virtual void* Value(Handle* handle) = 0;
  virtual void Erase(const Slice& key) = 0;
  // A number that was not given before, so that users of one cache have keys of their own.
  virtual uint64_t NewId() = 0;
  // Removes all entries without handles.
  virtual void Prune() {}
  virtual size_t TotalCharge() const = 0;

 private:
  // Clients that were compiled with LevelDB's headers expect an object of this size.
  struct Rep;
  Rep* rep_;
};

}  // namespace leveldb

#endif
