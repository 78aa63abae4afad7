// Sizes and offsets that programs compiled with LevelDB's headers have in them. This compiles with
// either headers.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "leveldb/write_batch.h"

using namespace leveldb;

static_assert(sizeof(Slice) == 16, "an address and a length");
static_assert(sizeof(Status) == 8, "an address");
static_assert(sizeof(Iterator) == 40, "a vtable and a cleanup function");
static_assert(sizeof(WriteBatch) == sizeof(std::string), "a string");
static_assert(sizeof(EnvWrapper) == 16, "a vtable and the other environment");
static_assert(sizeof(Range) == 32, "two slices");
static_assert(sizeof(DB) == 8 && sizeof(Env) == 8 && sizeof(Comparator) == 8, "a vtable");
static_assert(sizeof(Cache) == 16, "a vtable and an address");
static_assert(sizeof(Table) == 8 && sizeof(TableBuilder) == 8, "an address");
static_assert(sizeof(ReadOptions) == 16 && offsetof(ReadOptions, fill_cache) == 1 &&
                  offsetof(ReadOptions, snapshot) == 8,
              "two flags and an address");
static_assert(sizeof(WriteOptions) == 1, "a flag");
static_assert(offsetof(Options, comparator) == 0 && offsetof(Options, create_if_missing) == 8 &&
                  offsetof(Options, error_if_exists) == 9 &&
                  offsetof(Options, paranoid_checks) == 10 && offsetof(Options, env) == 16 &&
                  offsetof(Options, info_log) == 24 && offsetof(Options, write_buffer_size) == 32 &&
                  offsetof(Options, max_open_files) == 40 && offsetof(Options, block_cache) == 48 &&
                  offsetof(Options, block_size) == 56 &&
                  offsetof(Options, block_restart_interval) == 64 &&
                  offsetof(Options, max_file_size) == 72 && offsetof(Options, compression) == 80 &&
                  offsetof(Options, reuse_logs) == 84 && offsetof(Options, filter_policy) == 88 &&
                  sizeof(Options) == 96,
              "the order of LevelDB 1.23");

// The number of a virtual function in the vtable.
template <typename Function>
long Slot(Function function) {
  static_assert(sizeof(Function) == 2 * sizeof(intptr_t), "as GCC and Clang have it");
  intptr_t parts[2];
  __builtin_memcpy(parts, &function, sizeof parts);
  return static_cast<long>((parts[0] - 1) / static_cast<intptr_t>(sizeof(intptr_t)));
}

int main(int, char**) {
  const long slots[] = {
      Slot(&DB::Put), Slot(&DB::Delete), Slot(&DB::Write), Slot(&DB::Get), Slot(&DB::NewIterator),
      Slot(&DB::GetSnapshot), Slot(&DB::ReleaseSnapshot), Slot(&DB::GetProperty),
      Slot(&DB::GetApproximateSizes), Slot(&DB::CompactRange),
      // After the two destructors, in the order of their declaration.
      Slot(&Iterator::Valid), Slot(&Iterator::SeekToFirst), Slot(&Iterator::SeekToLast),
      Slot(&Iterator::Seek), Slot(&Iterator::Next), Slot(&Iterator::Prev), Slot(&Iterator::key),
      Slot(&Iterator::value), Slot(&Iterator::status), -1,
      Slot(&Env::NewSequentialFile), Slot(&Env::NewRandomAccessFile), Slot(&Env::NewWritableFile),
      Slot(&Env::NewAppendableFile), Slot(&Env::FileExists), Slot(&Env::GetChildren),
      Slot(&Env::RemoveFile), Slot(&Env::DeleteFile), Slot(&Env::CreateDir), Slot(&Env::RemoveDir),
      Slot(&Env::DeleteDir), Slot(&Env::GetFileSize), Slot(&Env::RenameFile), Slot(&Env::LockFile),
      Slot(&Env::UnlockFile), Slot(&Env::Schedule), Slot(&Env::StartThread),
      Slot(&Env::GetTestDirectory), Slot(&Env::NewLogger), Slot(&Env::NowMicros),
      Slot(&Env::SleepForMicroseconds), -1,
      Slot(&Comparator::Compare), Slot(&Comparator::Name), Slot(&Comparator::FindShortestSeparator),
      Slot(&Comparator::FindShortSuccessor), -1,
      Slot(&Cache::Insert), Slot(&Cache::Lookup), Slot(&Cache::Release), Slot(&Cache::Value),
      Slot(&Cache::Erase), Slot(&Cache::NewId), Slot(&Cache::Prune), Slot(&Cache::TotalCharge), -1,
      Slot(&FilterPolicy::Name), Slot(&FilterPolicy::CreateFilter),
      Slot(&FilterPolicy::KeyMayMatch), -1,
      Slot(&WritableFile::Append), Slot(&WritableFile::Close), Slot(&WritableFile::Flush),
      Slot(&WritableFile::Sync), -1,
  };
  long expected = 2;
  for (const long slot : slots) {
    if (slot == 2 || slot == -1) {
      expected = 2;
    }
    if (slot != -1 && slot != expected++) {
      std::printf("a function is in slot %ld\n", slot);
      return 1;
    }
  }
  return 0;
}
