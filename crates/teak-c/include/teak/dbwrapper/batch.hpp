// Options, errors and batches of stores. Part of dbwrapper.hpp.

#ifndef TEAK_DBWRAPPER_BATCH_HPP
#define TEAK_DBWRAPPER_BATCH_HPP

#include <teak.hpp>

#include <filesystem>
#include <stdexcept>

// A program may have parts with LevelDB and parts without, so both have their own namespace.
#if defined(TEAK_DBWRAPPER_LEVELDB)
#define TEAK_DBWRAPPER_WAY with_leveldb
#else
#define TEAK_DBWRAPPER_WAY with_teak_only
#endif

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {

class store;

/// The error of all functions of stores.
class error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// How a store is opened.
struct options {
  /// The directory. It is created, with its parents, if it does not exist.
  std::string path = {};
  /// The name of the backend: see backends().
  std::string backend = "teak";
  /// The bytes of memory for caches and buffers; 0 for the backend's default. Teak reads through
  /// the system's page cache. It uses these bytes, at least 16 MiB, for pages that are being
  /// written.
  std::uint64_t cache_bytes = 0;
  /// Keep the store in memory. It ends with the object. The path is not used.
  bool in_memory = false;
  /// Begin with an empty store: remove what the backend has in the directory.
  bool wipe = false;
  /// Obfuscate values if the store is empty. One that has records stays as it is: obfuscated if it
  /// has an obfuscation key. Processes that share a new store must agree about this.
  bool obfuscate = false;
};

namespace detail {

/// Calls a function whose errors become those of this namespace.
template <class Work> decltype(auto) with_one_error(Work &&work) {
  try {
    return work();
  } catch (const teak::error &failure) {
    throw error(failure.what());
  } catch (const std::filesystem::filesystem_error &failure) {
    throw error(failure.what());
  }
}

/// Combines the bytes from `start` on with a key by exclusive or, cyclically.
inline void obfuscate(std::string &bytes, std::size_t start, const std::string &key) noexcept {
  if (key.empty()) return;
  std::size_t at = start, of_key = 0;
  if (std::uint64_t word; key.size() == sizeof word) {
    std::uint64_t mask;
    std::memcpy(&mask, key.data(), sizeof mask);
    for (; bytes.size() - at >= sizeof word; at += sizeof word) {
      std::memcpy(&word, bytes.data() + at, sizeof word);
      word ^= mask;
      std::memcpy(bytes.data() + at, &word, sizeof word);
    }
  }
  for (; at < bytes.size(); at++) {
    bytes[at] = static_cast<char>(bytes[at] ^ key[of_key]);
    of_key = of_key + 1 == key.size() ? 0 : of_key + 1;
  }
}

/// An object as `Codec` serialises it.
template <class Codec, class Object> std::string packed(const Object &object) {
  std::string bytes;
  Codec::pack(bytes, object);
  return bytes;
}

/// Appends the length of a byte string, in groups of seven bits, and the string.
inline void append_string(std::string &to, bytes_view bytes) {
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) to += static_cast<char>(length | 0x80);
  to += static_cast<char>(length);
  to += bytes.text();
}

/// Takes a byte string that append_string() has written.
inline bytes_view take_string(std::string_view &from) noexcept {
  std::size_t length = 0, at = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from[at++]);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const bytes_view bytes = from.substr(at, length);
  from.remove_prefix(at + length);
  return bytes;
}

} // namespace detail

/// Changes that are made together. Later ones win.
///
/// ```cpp
/// teak::dbwrapper::options options;
/// options.in_memory = true;
/// teak::dbwrapper::store store(options);
/// teak::dbwrapper::batch batch(store);
/// assert(batch.size_estimate() == 0 && batch.approximate_size() == 12);
/// batch.write("key", "value");
/// assert(batch.size_estimate() == 11 && batch.approximate_size() == 23);
/// batch.erase("key");
/// store.write_batch(batch);
/// assert(store.is_empty());
/// ```
class batch {
public:
  /// An empty batch for a store. It needs the store only here.
  explicit batch(const store &store);
  /// Writes a record.
  void write(bytes_view key, bytes_view value) {
    entries_ += '\1';
    detail::append_string(entries_, key);
    detail::append_string(entries_, value);
    detail::obfuscate(entries_, entries_.size() - value.size(), obfuscation_key_);
    size_estimate_ += 3 + long_length(key) + key.size() + long_length(value) + value.size();
    count_++;
  }
  /// Removes a record, if it exists.
  void erase(bytes_view key) {
    entries_ += '\0';
    detail::append_string(entries_, key);
    size_estimate_ += 2 + long_length(key) + key.size();
    count_++;
  }
  /// Removes all changes.
  void clear() noexcept {
    entries_.clear();
    size_estimate_ = count_ = 0;
  }
  /// The size that older nodes compare with their `-dbbatchsize`: as that of LevelDB's batch, without
  /// its head, if keys and values are shorter than 16 KiB.
  [[nodiscard]] std::size_t size_estimate() const noexcept { return size_estimate_; }
  /// The exact size of LevelDB's batch, which newer nodes use.
  [[nodiscard]] std::size_t approximate_size() const noexcept { return head_size + entries_.size(); }
  /// The number of changes.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// @cond
  /// Calls `write(key, value)` and `erase(key)` for each change. Values are obfuscated.
  template <class Write, class Erase> void each(Write &&write, Erase &&erase) const {
    for (std::string_view rest = entries_; !rest.empty();) {
      const bool is_write = rest.front() != '\0';
      rest.remove_prefix(1);
      const bytes_view key = detail::take_string(rest);
      if (is_write)
        write(key, detail::take_string(rest));
      else
        erase(key);
    }
  }
  /// @endcond

private:
  /// The sequence number and the count of LevelDB's batches.
  static constexpr std::size_t head_size = 12;
  static std::size_t long_length(bytes_view bytes) noexcept { return bytes.size() > 127 ? 1 : 0; }

  std::string obfuscation_key_;
  std::string entries_;
  std::size_t size_estimate_ = 0, count_ = 0;
};

namespace detail {

/// A state of a store.
class view {
public:
  virtual ~view() = default;
};

/// The iterator of a backend.
class position {
public:
  virtual ~position() = default;
  [[nodiscard]] virtual bool valid() const = 0;
  virtual void seek_to_first() = 0;
  virtual void seek(bytes_view key) = 0;
  /// It is at a record.
  virtual void next() = 0;
  [[nodiscard]] virtual bytes_view key() const = 0;
  [[nodiscard]] virtual bytes_view value() const = 0;
};

/// An open database. Functions throw.
class backend {
public:
  virtual ~backend() = default;
  [[nodiscard]] virtual const char *name() const noexcept = 0;
  virtual bool get(bytes_view key, std::string &value) const = 0;
  /// Writes a record if there are none, as one step. Afterwards the first record is seen, also if
  /// another process has written it.
  virtual void write_first(bytes_view key, bytes_view value) = 0;
  [[nodiscard]] virtual bool contains(bytes_view key) const = 0;
  virtual void apply(const batch &batch, bool is_synced) = 0;
  [[nodiscard]] virtual std::unique_ptr<const view> take_view() const = 0;
  /// Of the newest state if there is no view.
  [[nodiscard]] virtual std::unique_ptr<position> iterate(const view *view) const = 0;
  [[nodiscard]] virtual std::uint64_t estimate_size(bytes_view begin, bytes_view end) const = 0;
  virtual void compact_range(bytes_view begin, bytes_view end) = 0;
  virtual void compact_full() = 0;
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
};

/// The file in which Teak keeps the records of a directory.
inline std::filesystem::path teak_file(const std::filesystem::path &directory) { return directory / "data.teak"; }

} // namespace detail
} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_BATCH_HPP
