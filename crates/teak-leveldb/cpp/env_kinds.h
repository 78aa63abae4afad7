// The Envs that databases can use.

#ifndef TEAK_LEVELDB_ENV_KINDS_H
#define TEAK_LEVELDB_ENV_KINDS_H

#include <memory>
#include <string>

#include "bridge.h"
#include "leveldb/env.h"

namespace leveldb {

// An Env in memory, as far as databases use it.
class MemoryEnv {
 public:
  virtual ~MemoryEnv();
  // The place of the database of this name, which is created if it does not exist. It stays until
  // the Env is deleted or the last user is gone.
  virtual std::shared_ptr<tl_memory> Place(const std::string& name) = 0;
  // Removes a place. Open databases stay.
  virtual void RemovePlace(const std::string& name) = 0;
  // Notes that a database is open. False if it is already.
  virtual bool Hold(const std::string& name) = 0;
  virtual void Release(const std::string& name) = 0;
};

// The Env in memory that `env` is or passes all files to; null if there is none.
MemoryEnv* FindMemoryEnv(Env* env);

// Whether `env` is the default one, or passes all files to it.
bool IsDefaultEnv(Env* env);

}  // namespace leveldb

#endif
