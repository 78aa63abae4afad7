// Options of databases, reads and writes. "Accepted": it has no effect on databases of Teak.

#ifndef TEAK_LEVELDB_OPTIONS_H
#define TEAK_LEVELDB_OPTIONS_H

#include <cstddef>

#include "leveldb/export.h"

namespace leveldb {

class Cache;
class Comparator;
class Env;
class FilterPolicy;
class Logger;
class Snapshot;

// The compression of blocks of tables.
enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1 };

// Options of opening a database. Objects belong to the caller, who keeps them until it is closed.
struct LEVELDB_EXPORT Options {
  Options();

  // The order of keys; by default that of bytes.
  const Comparator* comparator;
  bool create_if_missing = false;
  bool error_if_exists = false;
  // Accepted: every page is verified when it is first read.
  bool paranoid_checks = false;
  // Env::Default(), one of NewMemEnv(), or an EnvWrapper around them. Others are refused.
  Env* env;
  // Receives a few lines. By default they go to the file LOG of the directory.
  Logger* info_log = nullptr;
  // Accepted.
  size_t write_buffer_size = 4 * 1024 * 1024;
  // Accepted: a database has two open files.
  int max_open_files = 1000;
  // Accepted.
  Cache* block_cache = nullptr;
  // Of tables only.
  size_t block_size = 4 * 1024;
  // Of tables only.
  int block_restart_interval = 16;
  // Accepted.
  size_t max_file_size = 2 * 1024 * 1024;
  // Of tables only.
  CompressionType compression = kSnappyCompression;
  // Accepted.
  bool reuse_logs = false;
  // Of tables only.
  const FilterPolicy* filter_policy = nullptr;
};

// Options of reading.
struct LEVELDB_EXPORT ReadOptions {
  ReadOptions() = default;
  // Accepted: see Options::paranoid_checks.
  bool verify_checksums = false;
  // Accepted.
  bool fill_cache = true;
  // The state to read; by default the newest one.
  const Snapshot* snapshot = nullptr;
};

// Options of writing.
struct LEVELDB_EXPORT WriteOptions {
  WriteOptions() = default;
  // Whether the write, and all before it, must survive a crash of the system. Without it they
  // survive a crash of the process.
  bool sync = false;
};

}  // namespace leveldb

#endif
