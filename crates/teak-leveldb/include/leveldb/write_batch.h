// Several changes that are made together.

#ifndef TEAK_LEVELDB_WRITE_BATCH_H
#define TEAK_LEVELDB_WRITE_BATCH_H

#include <string>

#include "leveldb/export.h"
#include "leveldb/status.h"

namespace leveldb {

class Slice;

// Changes in an order: later ones of a key win.
class LEVELDB_EXPORT WriteBatch {
 public:
  // Receives the changes of a batch.
  class LEVELDB_EXPORT Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  WriteBatch();
  WriteBatch(const WriteBatch&) = default;
  WriteBatch& operator=(const WriteBatch&) = default;
  ~WriteBatch();

  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);
  void Clear();
  // The number of bytes of the batch's representation.
  size_t ApproximateSize() const;
  // Adds the changes of another batch.
  void Append(const WriteBatch& source);
  // Shows the changes to a handler, in their order.
  Status Iterate(Handler* handler) const;

 private:
  friend class WriteBatchInternal;

  // A sequence number in eight bytes, the number of changes in four, and the changes.
  std::string rep_;
};

}  // namespace leveldb

#endif
