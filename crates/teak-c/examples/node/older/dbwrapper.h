// A stand-in for the header of a node's database wrapper of the older shape, in which the types of
// the database are members: they become those of a store. There is no dbwrapper.cpp any more.

#ifndef EXAMPLE_OLDER_DBWRAPPER_H
#define EXAMPLE_OLDER_DBWRAPPER_H

#include "../stream.h"

#include <teak/dbwrapper.hpp>

using dbwrapper_error = teak::dbwrapper::error;

// The node's serialisation.
struct NodeCodec {
  template <class T> static void pack(std::string &bytes, const T &object) { bytes = (DataStream() << object).str(); }
  template <class T> static bool unpack(teak::bytes_view bytes, T &object) {
    try {
      DataStream(bytes.text()) >> object;
      return true;
    } catch (const std::exception &) {
      return false;
    }
  }
};

class CDBWrapper;

class CDBBatch {
public:
  explicit CDBBatch(const CDBWrapper &parent);
  void Clear() { batch.clear(); }
  template <class K, class V> void Write(const K &key, const V &value) { batch.write(key, value); }
  template <class K> void Erase(const K &key) { batch.erase(key); }
  std::size_t SizeEstimate() const { return batch.size_estimate(); }
  std::size_t ApproximateSize() const { return batch.approximate_size(); }

private:
  friend class CDBWrapper;
  teak::dbwrapper::typed_batch<NodeCodec> batch; // was: leveldb::WriteBatch
};

class CDBIterator {
public:
  explicit CDBIterator(teak::dbwrapper::iterator &&iterator) : it(std::move(iterator)) {}
  bool Valid() const { return it.valid(); }
  void SeekToFirst() { it.seek_to_first(); }
  void Next() { it.next(); }
  template <class K> void Seek(const K &key) { it.seek(key); }
  template <class K> bool GetKey(K &key) { return it.get_key(key); }
  template <class V> bool GetValue(V &value) { return it.get_value(value); }
  std::size_t GetKeySize() const { return it.key_size(); }
  std::size_t GetValueSize() const { return it.value_size(); }

private:
  teak::dbwrapper::typed_iterator<NodeCodec> it; // was: leveldb::Iterator *
};

class CDBWrapper {
public:
  CDBWrapper(const std::filesystem::path &path, std::size_t cache_bytes, bool memory_only = false, bool wipe = false,
             bool obfuscate = false, const std::string &backend = "teak")
      : store({path.string(), backend, cache_bytes, memory_only, wipe, obfuscate}) {}
  template <class K, class V> bool Read(const K &key, V &value) const { return store.read(key, value); }
  template <class K, class V> bool Write(const K &key, const V &value, bool sync = false) {
    store.write(key, value, sync);
    return true;
  }
  template <class K> bool Exists(const K &key) const { return store.exists(key); }
  template <class K> bool Erase(const K &key, bool sync = false) {
    store.erase(key, sync);
    return true;
  }
  bool WriteBatch(CDBBatch &batch, bool sync = false) {
    store.write_batch(batch.batch, sync);
    return true;
  }
  // An empty and synced batch, as it was.
  bool Sync() {
    CDBBatch batch(*this);
    return WriteBatch(batch, true);
  }
  CDBIterator *NewIterator() { return new CDBIterator(store.new_iterator()); }
  bool IsEmpty() { return store.is_empty(); }
  template <class K> std::size_t EstimateSize(const K &begin, const K &end) const { return store.estimate_size(begin, end); }
  template <class K> void CompactRange(const K &begin, const K &end) const {
    store.compact_range(Bytes(begin), Bytes(end));
  }
  void CompactFull() const { store.compact_full(); }
  std::size_t DynamicMemoryUsage() const { return store.dynamic_memory_usage(); }

private:
  friend class CDBBatch;
  template <class K> static std::string Bytes(const K &key) { return (DataStream() << key).str(); }
  mutable teak::dbwrapper::typed_store<NodeCodec> store; // was: leveldb::DB *, Env *, Options, the obfuscation key
};

inline CDBBatch::CDBBatch(const CDBWrapper &parent) : batch(parent.store) {}

#endif // EXAMPLE_OLDER_DBWRAPPER_H
