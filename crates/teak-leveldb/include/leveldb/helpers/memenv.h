// A system in memory.

#ifndef TEAK_LEVELDB_HELPERS_MEMENV_H
#define TEAK_LEVELDB_HELPERS_MEMENV_H

#include "leveldb/export.h"

namespace leveldb {

class Env;

// An Env whose files and databases are in memory, and exist as long as it does. Everything else is
// that of `base_env`. The caller deletes it, after its databases.
LEVELDB_EXPORT Env* NewMemEnv(Env* base_env);

}  // namespace leveldb

#endif
