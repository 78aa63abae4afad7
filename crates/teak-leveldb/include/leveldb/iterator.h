// Iteration over records.

#ifndef TEAK_LEVELDB_ITERATOR_H
#define TEAK_LEVELDB_ITERATOR_H

#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

// A position among records. It begins at none. One thread may use it at a time.
class LEVELDB_EXPORT Iterator {
 public:
  Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator();

  // Whether it is at a record.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // Moves to the first record whose key is at least `target`.
  virtual void Seek(const Slice& target) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // The key and the value at the position. They stay until the iterator moves.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  // The error that ended the last move, if any.
  virtual Status status() const = 0;

  // Calls `function` when the iterator is deleted.
  using CleanupFunction = void (*)(void* arg1, void* arg2);
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2);

 private:
  // The first one is in the iterator; `function` is null if there is none.
  struct CleanupNode {
    CleanupFunction function;
    void* arg1;
    void* arg2;
    CleanupNode* next;
  };
  CleanupNode cleanup_head_;
};

// An iterator without records.
LEVELDB_EXPORT Iterator* NewEmptyIterator();
// An iterator without records, and with an error.
LEVELDB_EXPORT Iterator* NewErrorIterator(const Status& status);

}  // namespace leveldb

#endif
