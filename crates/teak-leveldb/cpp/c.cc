#include "leveldb/c.h"

#include <cstdlib>
#include <exception>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"
#include "leveldb/write_batch.h"

using leveldb::Cache;
using leveldb::Comparator;
using leveldb::DB;
using leveldb::Env;
using leveldb::FilterPolicy;
using leveldb::Iterator;
using leveldb::Logger;
using leveldb::Options;
using leveldb::Range;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Snapshot;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

struct leveldb_t {
  DB* db;
};
struct leveldb_iterator_t {
  Iterator* iterator;
};
struct leveldb_writebatch_t {
  WriteBatch batch;
};
struct leveldb_snapshot_t {
  const Snapshot* snapshot;
};
struct leveldb_readoptions_t {
  ReadOptions options;
};
struct leveldb_writeoptions_t {
  WriteOptions options;
};
struct leveldb_options_t {
  Options options;
};
struct leveldb_cache_t {
  Cache* cache;
};
struct leveldb_logger_t {
  Logger* logger;
};
struct leveldb_env_t {
  Env* env;
};

struct leveldb_comparator_t : public Comparator {
  ~leveldb_comparator_t() override { destructor(state); }

  int Compare(const Slice& a, const Slice& b) const override {
    return compare(state, a.data(), a.size(), b.data(), b.size());
  }
  const char* Name() const override { return name(state); }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  void* state;
  void (*destructor)(void*);
  int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen);
  const char* (*name)(void*);
};

struct leveldb_filterpolicy_t : public FilterPolicy {
  ~leveldb_filterpolicy_t() override { destructor(state); }

  const char* Name() const override { return name(state); }

  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    std::vector<const char*> data;
    std::vector<size_t> sizes;
    for (int index = 0; index < n; index++) {
      data.push_back(keys[index].data());
      sizes.push_back(keys[index].size());
    }
    size_t size = 0;
    char* filter = create(state, data.data(), sizes.data(), n, &size);
    dst->append(filter, size);
    std::free(filter);
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return match(state, key.data(), key.size(), filter.data(), filter.size()) != 0;
  }

  void* state;
  void (*destructor)(void*);
  const char* (*name)(void*);
  char* (*create)(void*, const char* const* key_array, const size_t* key_length_array,
                  int num_keys, size_t* filter_length);
  uint8_t (*match)(void*, const char* key, size_t length, const char* filter,
                   size_t filter_length);
};

namespace {

// A copy from malloc, with a zero after it. Never null, also if there are no bytes.
char* Copy(const Slice& bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy != nullptr) {
    memcpy(copy, bytes.data(), bytes.size());
    copy[bytes.size()] = '\0';
  }
  return copy;
}

// Whether the status is an error, whose text becomes that of the caller.
bool SaveError(char** errptr, const Status& status) {
  if (status.ok()) {
    return false;
  }
  std::free(*errptr);
  *errptr = Copy(status.ToString());
  return true;
}

// Calls `work`, which returns a status. Returns whether it succeeded. An exception is an error as
// well: C cannot catch it.
template <typename Work>
bool Succeeds(char** errptr, Work work) noexcept {
  try {
    return !SaveError(errptr, work());
  } catch (const std::exception& exception) {
    return !SaveError(errptr, Status::IOError("exception", exception.what()));
  }
}

// A filter policy of the library as one of C: it passes the calls on.
const FilterPolicy* PolicyOf(void* state) { return static_cast<const FilterPolicy*>(state); }

}  // namespace

extern "C" {

leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr) {
  DB* db = nullptr;
  const bool is_open =
      Succeeds(errptr, [&] { return DB::Open(options->options, std::string(name), &db); });
  return is_open ? new leveldb_t{db} : nullptr;
}

void leveldb_close(leveldb_t* db) {
  delete db->db;
  delete db;
}

void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                 size_t keylen, const char* val, size_t vallen, char** errptr) {
  Succeeds(errptr, [&] {
    return db->db->Put(options->options, Slice(key, keylen), Slice(val, vallen));
  });
}

void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr) {
  Succeeds(errptr, [&] { return db->db->Delete(options->options, Slice(key, keylen)); });
}

void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                   leveldb_writebatch_t* batch, char** errptr) {
  Succeeds(errptr, [&] { return db->db->Write(options->options, &batch->batch); });
}

char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                  size_t keylen, size_t* vallen, char** errptr) {
  std::string value;
  bool is_there = false;
  const bool has_succeeded = Succeeds(errptr, [&] {
    const Status status = db->db->Get(options->options, Slice(key, keylen), &value);
    is_there = status.ok();
    return status.IsNotFound() ? Status::OK() : status;
  });
  if (!has_succeeded || !is_there) {
    *vallen = 0;
    return nullptr;
  }
  *vallen = value.size();
  return Copy(value);
}

leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options) {
  return new leveldb_iterator_t{db->db->NewIterator(options->options)};
}

const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db) {
  return new leveldb_snapshot_t{db->db->GetSnapshot()};
}

void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot) {
  db->db->ReleaseSnapshot(snapshot->snapshot);
  delete snapshot;
}

char* leveldb_property_value(leveldb_t* db, const char* propname) {
  std::string value;
  return db->db->GetProperty(Slice(propname), &value) ? Copy(value) : nullptr;
}

void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  std::vector<Range> ranges;
  for (int index = 0; index < num_ranges; index++) {
    ranges.emplace_back(Slice(range_start_key[index], range_start_key_len[index]),
                        Slice(range_limit_key[index], range_limit_key_len[index]));
  }
  db->db->GetApproximateSizes(ranges.data(), num_ranges, sizes);
}

void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len) {
  const Slice start(start_key, start_key_len);
  const Slice limit(limit_key, limit_key_len);
  db->db->CompactRange(start_key == nullptr ? nullptr : &start,
                       limit_key == nullptr ? nullptr : &limit);
}

void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr) {
  Succeeds(errptr, [&] { return leveldb::DestroyDB(name, options->options); });
}

void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr) {
  Succeeds(errptr, [&] { return leveldb::RepairDB(name, options->options); });
}

void leveldb_iter_destroy(leveldb_iterator_t* iterator) {
  delete iterator->iterator;
  delete iterator;
}

uint8_t leveldb_iter_valid(const leveldb_iterator_t* iterator) {
  return iterator->iterator->Valid();
}

void leveldb_iter_seek_to_first(leveldb_iterator_t* iterator) {
  iterator->iterator->SeekToFirst();
}

void leveldb_iter_seek_to_last(leveldb_iterator_t* iterator) { iterator->iterator->SeekToLast(); }

void leveldb_iter_seek(leveldb_iterator_t* iterator, const char* k, size_t klen) {
  iterator->iterator->Seek(Slice(k, klen));
}

void leveldb_iter_next(leveldb_iterator_t* iterator) { iterator->iterator->Next(); }

void leveldb_iter_prev(leveldb_iterator_t* iterator) { iterator->iterator->Prev(); }

const char* leveldb_iter_key(const leveldb_iterator_t* iterator, size_t* klen) {
  const Slice key = iterator->iterator->key();
  *klen = key.size();
  return key.data();
}

const char* leveldb_iter_value(const leveldb_iterator_t* iterator, size_t* vlen) {
  const Slice value = iterator->iterator->value();
  *vlen = value.size();
  return value.data();
}

void leveldb_iter_get_error(const leveldb_iterator_t* iterator, char** errptr) {
  SaveError(errptr, iterator->iterator->status());
}

leveldb_writebatch_t* leveldb_writebatch_create(void) { return new leveldb_writebatch_t; }

void leveldb_writebatch_destroy(leveldb_writebatch_t* batch) { delete batch; }

void leveldb_writebatch_clear(leveldb_writebatch_t* batch) { batch->batch.Clear(); }

void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen) {
  batch->batch.Put(Slice(key, klen), Slice(val, vlen));
}

void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen) {
  batch->batch.Delete(Slice(key, klen));
}

void leveldb_writebatch_iterate(
    const leveldb_writebatch_t* batch, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen)) {
  class Caller : public WriteBatch::Handler {
   public:
    void Put(const Slice& key, const Slice& value) override {
      put(state, key.data(), key.size(), value.data(), value.size());
    }
    void Delete(const Slice& key) override { deleted(state, key.data(), key.size()); }

    void* state;
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen);
    void (*deleted)(void*, const char* k, size_t klen);
  };
  Caller caller;
  caller.state = state;
  caller.put = put;
  caller.deleted = deleted;
  batch->batch.Iterate(&caller);
}

void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                               const leveldb_writebatch_t* source) {
  destination->batch.Append(source->batch);
}

leveldb_options_t* leveldb_options_create(void) { return new leveldb_options_t; }

void leveldb_options_destroy(leveldb_options_t* options) { delete options; }

void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->options.comparator = comparator;
}

void leveldb_options_set_filter_policy(leveldb_options_t* options,
                                       leveldb_filterpolicy_t* policy) {
  options->options.filter_policy = policy;
}

void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t value) {
  options->options.create_if_missing = value != 0;
}

void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t value) {
  options->options.error_if_exists = value != 0;
}

void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t value) {
  options->options.paranoid_checks = value != 0;
}

void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->options.env = env == nullptr ? Env::Default() : env->env;
}

void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->options.info_log = logger == nullptr ? nullptr : logger->logger;
}

void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t size) {
  options->options.write_buffer_size = size;
}

void leveldb_options_set_max_open_files(leveldb_options_t* options, int count) {
  options->options.max_open_files = count;
}

void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->options.block_cache = cache->cache;
}

void leveldb_options_set_block_size(leveldb_options_t* options, size_t size) {
  options->options.block_size = size;
}

void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int interval) {
  options->options.block_restart_interval = interval;
}

void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t size) {
  options->options.max_file_size = size;
}

void leveldb_options_set_compression(leveldb_options_t* options, int compression) {
  options->options.compression = static_cast<leveldb::CompressionType>(compression);
}

leveldb_comparator_t* leveldb_comparator_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    const char* (*name)(void*)) {
  auto* comparator = new leveldb_comparator_t;
  comparator->state = state;
  comparator->destructor = destructor;
  comparator->compare = compare;
  comparator->name = name;
  return comparator;
}

void leveldb_comparator_destroy(leveldb_comparator_t* comparator) { delete comparator; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*)) {
  auto* policy = new leveldb_filterpolicy_t;
  policy->state = state;
  policy->destructor = destructor;
  policy->create = create_filter;
  policy->match = key_may_match;
  policy->name = name;
  return policy;
}

void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy) { delete policy; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  const FilterPolicy* bloom = leveldb::NewBloomFilterPolicy(bits_per_key);
  return leveldb_filterpolicy_create(
      const_cast<FilterPolicy*>(bloom), [](void* state) { delete PolicyOf(state); },
      [](void* state, const char* const* keys, const size_t* sizes, int n, size_t* size) {
        std::vector<Slice> slices;
        for (int index = 0; index < n; index++) {
          slices.emplace_back(keys[index], sizes[index]);
        }
        std::string filter;
        PolicyOf(state)->CreateFilter(slices.data(), n, &filter);
        *size = filter.size();
        return Copy(filter);
      },
      [](void* state, const char* key, size_t key_size, const char* filter, size_t size) {
        const bool may_match =
            PolicyOf(state)->KeyMayMatch(Slice(key, key_size), Slice(filter, size));
        return static_cast<uint8_t>(may_match);
      },
      [](void* state) { return PolicyOf(state)->Name(); });
}

leveldb_readoptions_t* leveldb_readoptions_create(void) { return new leveldb_readoptions_t; }

void leveldb_readoptions_destroy(leveldb_readoptions_t* options) { delete options; }

void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t value) {
  options->options.verify_checksums = value != 0;
}

void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t value) {
  options->options.fill_cache = value != 0;
}

void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                      const leveldb_snapshot_t* snapshot) {
  options->options.snapshot = snapshot == nullptr ? nullptr : snapshot->snapshot;
}

leveldb_writeoptions_t* leveldb_writeoptions_create(void) { return new leveldb_writeoptions_t; }

void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) { delete options; }

void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t value) {
  options->options.sync = value != 0;
}

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return new leveldb_cache_t{leveldb::NewLRUCache(capacity)};
}

void leveldb_cache_destroy(leveldb_cache_t* cache) {
  delete cache->cache;
  delete cache;
}

leveldb_env_t* leveldb_create_default_env(void) { return new leveldb_env_t{Env::Default()}; }

// The default environment itself belongs to the library.
void leveldb_env_destroy(leveldb_env_t* env) { delete env; }

char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  std::string path;
  return env->env->GetTestDirectory(&path).ok() ? Copy(path) : nullptr;
}

void leveldb_free(void* ptr) { std::free(ptr); }

int leveldb_major_version(void) { return leveldb::kMajorVersion; }

int leveldb_minor_version(void) { return leveldb::kMinorVersion; }

}  // extern "C"
