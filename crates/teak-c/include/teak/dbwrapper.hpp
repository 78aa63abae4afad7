// A store of records with the operations of the database wrappers of blockchain nodes. Not part of
// teak.hpp: include it by its own name.
//
// A node's wrapper (often a class CDBWrapper) becomes a thin layer over it: docs/leveldb.md. Keys
// and values are bytes here. typed_store and its companions serialise objects with functions of the
// caller.
//
// The backend is chosen when a store is opened: "teak", or "leveldb" if TEAK_DBWRAPPER_LEVELDB is
// defined before this file is included. That needs LevelDB's headers, and `-lleveldb`.
//
// In the examples `path` is the path of a directory that does not exist.

#ifndef TEAK_DBWRAPPER_HPP
#define TEAK_DBWRAPPER_HPP

#include <teak.hpp>

#if defined(TEAK_RESULTS)
#error "teak/dbwrapper.hpp throws its errors; include it where TEAK_RESULTS is not defined"
#endif

#include <teak/dbwrapper/batch.hpp>
#include <teak/dbwrapper/leveldb_backend.hpp>
#include <teak/dbwrapper/teak_backend.hpp>

#include <random>

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {

namespace detail {

/// The record with the obfuscation key. As nodes serialise text, its length comes first.
inline const std::string obfuscation_record("\x0e\0obfuscate_key", 15);
constexpr std::size_t obfuscation_key_size = 8;

/// A new obfuscation key.
inline std::string random_key() {
  std::random_device source;
  std::string key;
  while (key.size() < obfuscation_key_size) key += static_cast<char>(source());
  return key;
}

} // namespace detail

/// The names of the backends that are compiled in.
///
/// ```cpp
/// assert(teak::dbwrapper::backends().front() == "teak");
/// ```
inline std::vector<std::string> backends() {
#if defined(TEAK_DBWRAPPER_LEVELDB)
  return {"teak", "leveldb"};
#else
  return {"teak"};
#endif
}

/// A state of a store. It ends with its scope. Others may write meanwhile.
class snapshot {
  friend class store;
  explicit snapshot(std::unique_ptr<const detail::view> view) : view_(std::move(view)) {}
  std::unique_ptr<const detail::view> view_;
};

/// A position among the records of one state of a store, in the order of the bytes of their keys. It
/// begins at no record.
///
/// One thread at a time may use it.
class iterator {
public:
  /// Whether it is at a record. If not, it has no key and no value.
  [[nodiscard]] bool valid() const { return position_->valid(); }
  /// Moves to the first record.
  void seek_to_first() { moved([&] { position_->seek_to_first(); }); }
  /// Moves to the first record whose key is not less than this one.
  void seek(bytes_view key) { moved([&] { position_->seek(key); }); }
  /// Moves to the next record. Without a record it does nothing.
  void next() {
    if (valid()) moved([&] { position_->next(); });
  }
  /// The key, until the iterator moves.
  [[nodiscard]] bytes_view key() const { return position_->key(); }
  /// The number of bytes of the key.
  [[nodiscard]] std::size_t key_size() const { return key().size(); }
  /// The value, until the iterator moves.
  [[nodiscard]] bytes_view value() const {
    if (obfuscation_key_.empty()) return position_->value();
    if (!is_clear_) {
      clear_.assign(position_->value().text());
      detail::obfuscate(clear_, 0, obfuscation_key_);
      is_clear_ = true;
    }
    return clear_;
  }
  /// The number of bytes of the value.
  [[nodiscard]] std::size_t value_size() const { return position_->value().size(); }

private:
  friend class store;
  iterator(std::unique_ptr<detail::position> position, std::string obfuscation_key)
      : position_(std::move(position)), obfuscation_key_(std::move(obfuscation_key)) {}

  template <class Move> void moved(Move &&move) {
    is_clear_ = false;
    detail::with_one_error(move);
  }

  std::unique_ptr<detail::position> position_;
  std::string obfuscation_key_;
  /// The value without the obfuscation.
  mutable std::string clear_;
  mutable bool is_clear_ = false;
};

/// A store of records in a directory, or in memory.
///
/// Any threads may use it at the same time. All functions throw dbwrapper::error.
///
/// ```cpp
/// teak::dbwrapper::options options;
/// options.path = path;
/// options.obfuscate = true;
/// teak::dbwrapper::store store(options);
/// store.write("height", "840000", true);
/// teak::dbwrapper::batch batch(store);
/// batch.write("tip", "00ff");
/// batch.erase("height");
/// store.write_batch(batch);
/// std::string tip;
/// assert(store.read("tip", tip) && tip == "00ff" && !store.exists("height"));
/// auto it = store.new_iterator();
/// it.seek("t");
/// assert(it.valid() && it.key() == "tip" && it.value() == "00ff");
/// ```
class store {
public:
  /// Opens the store, or creates it.
  explicit store(const options &options) {
    detail::with_one_error([&] {
      backend_ = opened(options);
      if (options.obfuscate) {
        const std::string key = detail::random_key();
        backend_->write_first(detail::obfuscation_record, static_cast<char>(key.size()) + key);
      }
      // Another process may have been first.
      std::string stored;
      if (backend_->get(detail::obfuscation_record, stored)) obfuscation_key_ = unpacked(stored);
    });
  }
  store(const store &) = delete;
  store &operator=(const store &) = delete;

  /// Copies the value of a key to `value`. Returns false, and leaves `value`, if there is none.
  bool read(bytes_view key, std::string &value) const {
    return detail::with_one_error([&] {
      if (!backend_->get(key, value)) return false;
      detail::obfuscate(value, 0, obfuscation_key_);
      return true;
    });
  }
  /// Whether a key has a value.
  [[nodiscard]] bool exists(bytes_view key) const {
    return detail::with_one_error([&] { return backend_->contains(key); });
  }
  /// Writes one record: a batch of its own.
  void write(bytes_view key, bytes_view value, bool is_synced = false) {
    batch batch(*this);
    batch.write(key, value);
    write_batch(batch, is_synced);
  }
  /// Removes one record, if it exists.
  void erase(bytes_view key, bool is_synced = false) {
    batch batch(*this);
    batch.erase(key);
    write_batch(batch, is_synced);
  }
  /// Makes all changes of a batch, or none. It survives the end of the process. If it is synced, it
  /// and all earlier ones survive a crash of the system, too, also if it is empty.
  void write_batch(const batch &batch, bool is_synced = false) {
    detail::with_one_error([&] { backend_->apply(batch, is_synced); });
  }

  /// An iterator over the newest state.
  [[nodiscard]] iterator new_iterator() const { return iterator_over(nullptr); }
  /// An iterator over the state of a snapshot of this store.
  [[nodiscard]] iterator new_iterator(const snapshot &snapshot) const { return iterator_over(snapshot.view_.get()); }
  /// The newest state, to be read later.
  [[nodiscard]] snapshot take_snapshot() const {
    return detail::with_one_error([&] { return snapshot(backend_->take_view()); });
  }
  /// Whether there are no records. The obfuscation key is one.
  [[nodiscard]] bool is_empty() const {
    iterator all = new_iterator();
    all.seek_to_first();
    return !all.valid();
  }

  /// The key with which values are combined by exclusive or, cyclically; empty for none.
  [[nodiscard]] const std::string &obfuscation_key() const noexcept { return obfuscation_key_; }
  /// The name of the backend.
  [[nodiscard]] const char *backend() const noexcept { return backend_->name(); }
  /// An estimate of the bytes that the records from `begin` up to `end` take in files.
  [[nodiscard]] std::uint64_t estimate_size(bytes_view begin, bytes_view end) const {
    return detail::with_one_error([&] { return begin < end ? backend_->estimate_size(begin, end) : 0; });
  }
  /// Gives space back that records of a range no longer need. Teak does so for the whole file, and
  /// until a twentieth of it is free.
  void compact_range(bytes_view begin, bytes_view end) {
    detail::with_one_error([&] { backend_->compact_range(begin, end); });
  }
  /// Makes the files as small as possible.
  void compact_full() {
    detail::with_one_error([&] { backend_->compact_full(); });
  }
  /// The bytes of memory that the backend has allocated, about. Teak's pages in memory are the
  /// system's page cache, and not counted.
  [[nodiscard]] std::uint64_t dynamic_memory_usage() const {
    return detail::with_one_error([&] { return backend_->memory_bytes(); });
  }

private:
  static std::unique_ptr<detail::backend> opened(const options &options) {
    if (options.backend == "teak") return std::make_unique<detail::teak_backend>(options);
#if defined(TEAK_DBWRAPPER_LEVELDB)
    if (options.backend == "leveldb") return std::make_unique<detail::leveldb_backend>(options);
#endif
    std::string known;
    for (const std::string &name : backends()) known += (known.empty() ? "" : ", ") + name;
    throw error("there is no database backend \"" + options.backend + "\" in this program; it has: " + known);
  }

  /// The obfuscation key of its record: its length in one byte, and the key.
  static std::string unpacked(const std::string &stored) {
    if (stored.empty() || static_cast<unsigned char>(stored[0]) != stored.size() - 1)
      throw error("the obfuscation key in the database has " + std::to_string(stored.size()) + " bytes, which do not begin with its length");
    return stored.substr(1);
  }

  [[nodiscard]] iterator iterator_over(const detail::view *view) const {
    return detail::with_one_error([&] { return iterator(backend_->iterate(view), obfuscation_key_); });
  }

  std::unique_ptr<detail::backend> backend_;
  std::string obfuscation_key_;
};

inline batch::batch(const store &store) : obfuscation_key_(store.obfuscation_key()) {}

/// A batch of serialised objects: see typed_store.
template <class Codec> class typed_batch : public batch {
public:
  using batch::batch;
  /// Writes a record.
  template <class Key, class Value> void write(const Key &key, const Value &value) {
    batch::write(detail::packed<Codec>(key), detail::packed<Codec>(value));
  }
  /// Removes a record, if it exists.
  template <class Key> void erase(const Key &key) { batch::erase(detail::packed<Codec>(key)); }
};

/// An iterator over serialised objects: see typed_store.
template <class Codec> class typed_iterator : public iterator {
public:
  /// Takes an iterator of a store.
  explicit typed_iterator(iterator &&other) : iterator(std::move(other)) {}
  /// Moves to the first record whose key is not less than this one.
  template <class Key> void seek(const Key &key) { iterator::seek(detail::packed<Codec>(key)); }
  /// Reads the key. Returns false if it is no such object.
  template <class Key> bool get_key(Key &key) const { return Codec::unpack(iterator::key(), key); }
  /// Reads the value. Returns false if it is no such object.
  template <class Value> bool get_value(Value &value) const { return Codec::unpack(iterator::value(), value); }
};

/// A store of objects that `Codec` serialises. It has two functions, which may be templates:
///
/// - `static void pack(std::string &bytes, const T &object)` appends an object to `bytes`;
/// - `static bool unpack(teak::bytes_view bytes, T &object)` reads one, and returns whether it could.
///
/// ```cpp
/// struct codec {
///   static void pack(std::string &bytes, std::uint32_t number) { bytes += teak::bytes_view(teak::big_endian(number)).text(); }
///   static bool unpack(teak::bytes_view bytes, std::uint32_t &number) {
///     if (bytes.size() != 4) return false;
///     number = teak::from_big_endian<std::uint32_t>(bytes);
///     return true;
///   }
/// };
/// teak::dbwrapper::options options;
/// options.path = path;
/// teak::dbwrapper::typed_store<codec> squares(options);
/// teak::dbwrapper::typed_batch<codec> batch(squares);
/// for (std::uint32_t root = 0; root < 10; root++) batch.write(root, root * root);
/// squares.write_batch(batch);
/// std::uint32_t square = 0;
/// assert(squares.read(std::uint32_t{7}, square) && square == 49);
/// teak::dbwrapper::typed_iterator<codec> it(squares.new_iterator());
/// it.seek(std::uint32_t{9});
/// assert(it.valid() && it.get_value(square) && square == 81);
/// ```
template <class Codec> class typed_store : public store {
public:
  using store::store;
  /// Reads the value of a key. Returns false if there is none, or if it is no such object.
  template <class Key, class Value> bool read(const Key &key, Value &value) const {
    std::string bytes;
    return store::read(detail::packed<Codec>(key), bytes) && Codec::unpack(bytes, value);
  }
  /// Whether a key has a value.
  template <class Key> [[nodiscard]] bool exists(const Key &key) const { return store::exists(detail::packed<Codec>(key)); }
  /// Writes one record.
  template <class Key, class Value> void write(const Key &key, const Value &value, bool is_synced = false) {
    store::write(detail::packed<Codec>(key), detail::packed<Codec>(value), is_synced);
  }
  /// Removes one record, if it exists.
  template <class Key> void erase(const Key &key, bool is_synced = false) {
    store::erase(detail::packed<Codec>(key), is_synced);
  }
  /// An estimate of the bytes that the records from `begin` up to `end` take in files.
  template <class Key> [[nodiscard]] std::uint64_t estimate_size(const Key &begin, const Key &end) const {
    return store::estimate_size(detail::packed<Codec>(begin), detail::packed<Codec>(end));
  }
};

} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_HPP
