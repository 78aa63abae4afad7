// A stand-in for the header of a node's database wrapper as it is today: templates serialise, and
// no type of the database is in the header. It does not change when the database does.

#ifndef EXAMPLE_PIMPL_DBWRAPPER_H
#define EXAMPLE_PIMPL_DBWRAPPER_H

#include "../stream.h"

#include <filesystem>
#include <memory>
#include <optional>

struct DBParams {
  std::filesystem::path path;
  std::size_t cache_bytes = 0;
  bool memory_only = false;
  bool wipe_data = false;
  bool obfuscate = false;
  // New: a setting of the node, for example -dbbackend.
  std::string backend = "teak";
};

class dbwrapper_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

template <class T> std::string Serialized(const T &object) { return (DataStream() << object).str(); }

template <class T> bool Deserialize(std::string_view bytes, T &object) {
  try {
    DataStream(bytes) >> object;
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

class CDBWrapper;

class CDBBatch {
public:
  explicit CDBBatch(const CDBWrapper &parent);
  ~CDBBatch();
  void Clear();
  template <class K, class V> void Write(const K &key, const V &value) { WriteImpl(Serialized(key), Serialized(value)); }
  template <class K> void Erase(const K &key) { EraseImpl(Serialized(key)); }
  std::size_t SizeEstimate() const;
  std::size_t ApproximateSize() const;

private:
  friend class CDBWrapper;
  struct WriteBatchImpl;
  void WriteImpl(std::string_view key, std::string_view value);
  void EraseImpl(std::string_view key);
  const std::unique_ptr<WriteBatchImpl> m_impl_batch;
};

class CDBIterator {
public:
  struct IteratorImpl;
  explicit CDBIterator(std::unique_ptr<IteratorImpl> impl);
  ~CDBIterator();
  bool Valid() const;
  void SeekToFirst();
  void Next();
  template <class K> void Seek(const K &key) { SeekImpl(Serialized(key)); }
  template <class K> bool GetKey(K &key) { return Deserialize(GetKeyImpl(), key); }
  template <class V> bool GetValue(V &value) { return Deserialize(GetValueImpl(), value); }

private:
  void SeekImpl(std::string_view key);
  std::string_view GetKeyImpl() const;
  std::string_view GetValueImpl() const;
  const std::unique_ptr<IteratorImpl> m_impl_iter;
};

class CDBWrapper {
public:
  explicit CDBWrapper(const DBParams &params);
  ~CDBWrapper();
  template <class K, class V> bool Read(const K &key, V &value) const {
    const std::optional<std::string> bytes = ReadImpl(Serialized(key));
    return bytes && Deserialize(*bytes, value);
  }
  template <class K, class V> void Write(const K &key, const V &value, bool sync = false) {
    CDBBatch batch(*this);
    batch.Write(key, value);
    WriteBatch(batch, sync);
  }
  template <class K> bool Exists(const K &key) const { return ExistsImpl(Serialized(key)); }
  template <class K> void Erase(const K &key, bool sync = false) {
    CDBBatch batch(*this);
    batch.Erase(key);
    WriteBatch(batch, sync);
  }
  template <class K> std::size_t EstimateSize(const K &begin, const K &end) const {
    return EstimateSizeImpl(Serialized(begin), Serialized(end));
  }
  void WriteBatch(CDBBatch &batch, bool sync = false);
  // The caller deletes it.
  CDBIterator *NewIterator();
  bool IsEmpty();
  void CompactFull();
  std::size_t DynamicMemoryUsage() const;

private:
  friend class CDBBatch;
  struct DBContext;
  std::optional<std::string> ReadImpl(std::string_view key) const;
  bool ExistsImpl(std::string_view key) const;
  std::size_t EstimateSizeImpl(std::string_view begin, std::string_view end) const;
  const std::unique_ptr<DBContext> m_db_context;
};

#endif // EXAMPLE_PIMPL_DBWRAPPER_H
