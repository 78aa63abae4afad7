// Files as text.

#ifndef TEAK_LEVELDB_DUMPFILE_H
#define TEAK_LEVELDB_DUMPFILE_H

#include <string>

#include "leveldb/env.h"
#include "leveldb/export.h"
#include "leveldb/status.h"

namespace leveldb {

// Writes the records of a table file to `dst` as text. Databases of Teak have no such files; `teak
// dump` shows them.
LEVELDB_EXPORT Status DumpFile(Env* env, const std::string& fname, WritableFile* dst);

}  // namespace leveldb

#endif
