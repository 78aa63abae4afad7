#ifndef TEAK_LEVELDB_WRITE_BATCH_INTERNAL_H
#define TEAK_LEVELDB_WRITE_BATCH_INTERNAL_H

#include "leveldb/write_batch.h"

namespace leveldb {

class WriteBatchInternal {
 public:
  // The bytes of a batch.
  static Slice Contents(const WriteBatch* batch);
};

}  // namespace leveldb

#endif
