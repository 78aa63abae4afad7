// The functions of the part that is written in Rust: src/bridge.rs describes them.

#ifndef TEAK_LEVELDB_BRIDGE_H
#define TEAK_LEVELDB_BRIDGE_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "leveldb/slice.h"
#include "leveldb/status.h"

extern "C" {

struct tl_slice {
  const char* data;
  size_t len;
};

struct tl_status {
  uint32_t code;
  char* text;
  size_t len;
};

struct tl_record {
  tl_slice key;
  tl_slice value;
  bool is_valid;
  bool has_failed;
};

struct tl_options {
  bool create_if_missing;
  bool error_if_exists;
  bool may_compress;
  tl_slice comparator_name;
  int (*compare)(const void* comparator, tl_slice a, tl_slice b);
  const void* comparator;
};

struct tl_store;
struct tl_snapshot;
struct tl_iterator;
struct tl_memory;
struct tl_lock_file;

tl_store* tl_open(tl_slice name, const tl_options* options, tl_status* status);
void tl_close(tl_store* store);
tl_memory* tl_memory_new();
void tl_memory_free(tl_memory* memory);
tl_store* tl_open_in_memory(const tl_memory* memory, tl_slice name, const tl_options* options,
                            tl_status* status);
int tl_get(const tl_store* store, const tl_snapshot* snapshot, tl_slice key,
           void (*found)(void* context, tl_slice value), void* context, tl_status* status);
bool tl_write(const tl_store* store, tl_slice batch, bool is_synced, tl_status* status);
tl_snapshot* tl_snapshot_new(const tl_store* store, tl_status* status);
void tl_snapshot_free(tl_snapshot* snapshot);
tl_iterator* tl_iterator_new(const tl_store* store, const tl_snapshot* snapshot,
                             tl_status* status);
void tl_iterator_free(tl_iterator* iterator);
void tl_iterator_first(tl_iterator* iterator, tl_record* record);
void tl_iterator_last(tl_iterator* iterator, tl_record* record);
void tl_iterator_next(tl_iterator* iterator, tl_record* record);
void tl_iterator_prev(tl_iterator* iterator, tl_record* record);
void tl_iterator_seek(tl_iterator* iterator, tl_slice target, tl_record* record);
bool tl_iterator_failure(const tl_iterator* iterator, tl_status* status);
uint64_t tl_approximate_size(const tl_store* store, tl_slice start, tl_slice limit);
bool tl_compact(const tl_store* store, tl_status* status);
const char* tl_version();
uint64_t tl_memory_bytes(const tl_store* store);
tl_lock_file* tl_lock(tl_slice name, tl_status* status);
void tl_unlock(tl_lock_file* lock);
bool tl_destroy(tl_slice name, tl_status* status);
bool tl_repair(tl_slice name, const tl_options* options, tl_status* status);
void tl_free_text(char* text, size_t len);
bool tl_snappy_compress(tl_slice plain, void (*made)(void* context, tl_slice bytes),
                        void* context);
bool tl_snappy_decompress(tl_slice compressed, void (*made)(void* context, tl_slice bytes),
                          void* context);
uint32_t tl_crc32c(uint32_t before, tl_slice bytes);

}  // extern "C"

namespace leveldb {

inline tl_slice Bridged(const Slice& slice) { return {slice.data(), slice.size()}; }
inline Slice Unbridged(const tl_slice& slice) { return Slice(slice.data, slice.len); }

// The status of a function that failed. Frees the text.
inline Status TakeStatus(const tl_status& status) {
  const std::string text(status.text, status.len);
  tl_free_text(status.text, status.len);
  switch (status.code) {
    case 1:
      return Status::NotFound(text);
    case 2:
      return Status::Corruption(text);
    case 3:
      return Status::NotSupported(text);
    case 4:
      return Status::InvalidArgument(text);
    default:
      return Status::IOError(text);
  }
}

// A string that the other part fills. An exception must not go through it.
struct Target {
  std::string* text;
  bool is_out_of_memory = false;

  static void Assign(void* context, tl_slice bytes) noexcept {
    Target* target = static_cast<Target*>(context);
    try {
      target->text->assign(bytes.data, bytes.len);
    } catch (const std::exception&) {
      target->is_out_of_memory = true;
    }
  }
};

}  // namespace leveldb

#endif
