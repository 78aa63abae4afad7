// Stores in LevelDB. Part of dbwrapper.hpp, and empty unless TEAK_DBWRAPPER_LEVELDB is defined.

#ifndef TEAK_DBWRAPPER_LEVELDB_BACKEND_HPP
#define TEAK_DBWRAPPER_LEVELDB_BACKEND_HPP

#if defined(TEAK_DBWRAPPER_LEVELDB)

#include <teak/dbwrapper/batch.hpp>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>

#include <charconv>

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {
namespace detail {

inline leveldb::Slice sliced(bytes_view bytes) {
  const std::string_view text = bytes.text();
  return {text.data() ? text.data() : "", text.size()};
}
inline bytes_view viewed(const leveldb::Slice &slice) noexcept { return {slice.data(), slice.size()}; }

inline void require(const leveldb::Status &status) {
  if (!status.ok()) throw error("LevelDB: " + status.ToString());
}

/// An open database, with what it uses. Views and iterators keep it open.
struct leveldb_opening {
  leveldb_opening() = default;
  leveldb_opening(const leveldb_opening &) = delete;
  leveldb_opening &operator=(const leveldb_opening &) = delete;

  // Destroyed after the database.
  std::unique_ptr<leveldb::Env> env;
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
  std::unique_ptr<leveldb::DB> db;
};

class leveldb_view : public view {
public:
  explicit leveldb_view(std::shared_ptr<leveldb_opening> opening)
      : opening_(std::move(opening)), snapshot_(opening_->db->GetSnapshot()) {}
  leveldb_view(const leveldb_view &) = delete;
  leveldb_view &operator=(const leveldb_view &) = delete;
  ~leveldb_view() override { opening_->db->ReleaseSnapshot(snapshot_); }
  [[nodiscard]] const leveldb::Snapshot *raw() const noexcept { return snapshot_; }

private:
  std::shared_ptr<leveldb_opening> opening_;
  const leveldb::Snapshot *snapshot_;
};

class leveldb_position : public position {
public:
  leveldb_position(std::shared_ptr<leveldb_opening> opening, const leveldb::ReadOptions &options)
      : opening_(std::move(opening)), raw_(opening_->db->NewIterator(options)) {}
  [[nodiscard]] bool valid() const override { return raw_->Valid(); }
  [[nodiscard]] bytes_view key() const override { return valid() ? viewed(raw_->key()) : bytes_view(); }
  [[nodiscard]] bytes_view value() const override { return valid() ? viewed(raw_->value()) : bytes_view(); }
  void seek_to_first() override { raw_->SeekToFirst(), check(); }
  void seek(bytes_view key) override { raw_->Seek(sliced(key)), check(); }
  void next() override { raw_->Next(), check(); }

private:
  /// An iterator that has met damage looks as if it were at the end.
  void check() const {
    if (!raw_->Valid()) require(raw_->status());
  }

  std::shared_ptr<leveldb_opening> opening_;
  std::unique_ptr<leveldb::Iterator> raw_;
};

class leveldb_backend : public backend {
public:
  explicit leveldb_backend(const options &options) : opening_(std::make_shared<leveldb_opening>()) {
    leveldb::Options settings;
    settings.create_if_missing = settings.paranoid_checks = true;
    settings.compression = leveldb::kNoCompression;
    constexpr std::size_t file_size = 32 << 20;
    settings.max_file_size = file_size;
    constexpr int bits_per_key = 10;
    opening_->filter.reset(leveldb::NewBloomFilterPolicy(bits_per_key));
    settings.filter_policy = opening_->filter.get();
    if (options.cache_bytes > 0) {
      // Half for blocks; two buffers may be in memory at a time.
      opening_->cache.reset(leveldb::NewLRUCache(options.cache_bytes / 2));
      settings.block_cache = opening_->cache.get();
      settings.write_buffer_size = options.cache_bytes / 4;
    }
    if (options.in_memory) {
      opening_->env.reset(leveldb::NewMemEnv(leveldb::Env::Default()));
      settings.env = opening_->env.get();
    } else {
      prepare(options);
    }
    leveldb::DB *db = nullptr;
    require(leveldb::DB::Open(settings, options.in_memory ? "memory" : options.path, &db));
    opening_->db.reset(db);
  }

  [[nodiscard]] const char *name() const noexcept override { return "leveldb"; }
  bool get(bytes_view key, std::string &value) const override {
    const leveldb::Status status = db().Get(reading(), sliced(key), &value);
    if (status.IsNotFound()) return false;
    require(status);
    return true;
  }
  /// LevelDB keeps other processes out.
  void write_first(bytes_view key, bytes_view value) override {
    leveldb_position all(opening_, reading());
    all.seek_to_first();
    if (!all.valid()) require(db().Put(leveldb::WriteOptions(), sliced(key), sliced(value)));
  }
  [[nodiscard]] bool contains(bytes_view key) const override {
    std::string value;
    return get(key, value);
  }
  void apply(const batch &batch, bool is_synced) override {
    leveldb::WriteBatch raw;
    batch.each([&](bytes_view key, bytes_view value) { raw.Put(sliced(key), sliced(value)); },
               [&](bytes_view key) { raw.Delete(sliced(key)); });
    leveldb::WriteOptions options;
    options.sync = is_synced;
    require(db().Write(options, &raw));
  }
  [[nodiscard]] std::unique_ptr<const view> take_view() const override { return std::make_unique<leveldb_view>(opening_); }
  [[nodiscard]] std::unique_ptr<position> iterate(const view *view) const override {
    leveldb::ReadOptions options = reading();
    options.fill_cache = false;
    if (view) options.snapshot = static_cast<const leveldb_view *>(view)->raw();
    return std::make_unique<leveldb_position>(opening_, options);
  }
  [[nodiscard]] std::uint64_t estimate_size(bytes_view begin, bytes_view end) const override {
    const leveldb::Range range(sliced(begin), sliced(end));
    std::uint64_t size = 0;
    db().GetApproximateSizes(&range, 1, &size);
    return size;
  }
  void compact_range(bytes_view begin, bytes_view end) override {
    const leveldb::Slice from = sliced(begin), to = sliced(end);
    db().CompactRange(&from, &to);
  }
  void compact_full() override { db().CompactRange(nullptr, nullptr); }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    std::string text;
    std::uint64_t bytes = 0;
    if (db().GetProperty("leveldb.approximate-memory-usage", &text))
      std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
  }

private:
  static void prepare(const options &options) {
    std::filesystem::create_directories(options.path);
    if (std::filesystem::exists(teak_file(options.path)) && !is_teak_linked()) {
      throw error(options.path + ": is a directory of Teak. Convert it: teak export leveldb:OTHER " +
                  teak_file(options.path).string() + "; or remove it");
    }
    if (options.wipe) require(leveldb::DestroyDB(options.path, leveldb::Options()));
  }
  /// Whether the linked LevelDB is Teak's library with its interface, which reads such directories.
  static bool is_teak_linked() {
    const std::unique_ptr<leveldb::Env> env(leveldb::NewMemEnv(leveldb::Env::Default()));
    leveldb::Options settings;
    settings.create_if_missing = true;
    settings.env = env.get();
    leveldb::DB *db = nullptr;
    require(leveldb::DB::Open(settings, "memory", &db));
    const std::unique_ptr<leveldb::DB> opened(db);
    std::string version;
    return opened->GetProperty("teak.version", &version);
  }
  static leveldb::ReadOptions reading() {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    return options;
  }
  [[nodiscard]] leveldb::DB &db() const noexcept { return *opening_->db; }

  std::shared_ptr<leveldb_opening> opening_;
};

} // namespace detail
} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_LEVELDB

#endif // TEAK_DBWRAPPER_LEVELDB_BACKEND_HPP
