// The whole file that a node with this shape replaces: each function is one call of a store.

#include "dbwrapper.h"

#include <teak/dbwrapper.hpp>

namespace db = teak::dbwrapper;

// The node's own type of error.
template <class Work> static auto Guarded(Work &&work) {
  try {
    return work();
  } catch (const db::error &error) {
    throw dbwrapper_error(error.what());
  }
}

static db::options OptionsFor(const DBParams &params) {
  db::options options;
  options.path = params.path.string();
  options.backend = params.backend;
  options.cache_bytes = params.cache_bytes;
  options.in_memory = params.memory_only;
  options.wipe = params.wipe_data;
  options.obfuscate = params.obfuscate;
  return options;
}

struct CDBBatch::WriteBatchImpl : db::batch {
  using batch::batch;
};
struct CDBIterator::IteratorImpl : db::iterator {
  explicit IteratorImpl(db::iterator &&of_store) : db::iterator(std::move(of_store)) {}
};
struct CDBWrapper::DBContext {
  db::store store;
};

CDBBatch::CDBBatch(const CDBWrapper &parent) : m_impl_batch(std::make_unique<WriteBatchImpl>(parent.m_db_context->store)) {}
CDBBatch::~CDBBatch() = default;
void CDBBatch::Clear() { m_impl_batch->clear(); }
void CDBBatch::WriteImpl(std::string_view key, std::string_view value) { m_impl_batch->write(key, value); }
void CDBBatch::EraseImpl(std::string_view key) { m_impl_batch->erase(key); }
std::size_t CDBBatch::SizeEstimate() const { return m_impl_batch->size_estimate(); }
std::size_t CDBBatch::ApproximateSize() const { return m_impl_batch->approximate_size(); }

CDBIterator::CDBIterator(std::unique_ptr<IteratorImpl> impl) : m_impl_iter(std::move(impl)) {}
CDBIterator::~CDBIterator() = default;
bool CDBIterator::Valid() const { return m_impl_iter->valid(); }
void CDBIterator::SeekToFirst() { Guarded([&] { m_impl_iter->seek_to_first(); }); }
void CDBIterator::Next() { Guarded([&] { m_impl_iter->next(); }); }
void CDBIterator::SeekImpl(std::string_view key) { Guarded([&] { m_impl_iter->seek(key); }); }
std::string_view CDBIterator::GetKeyImpl() const { return m_impl_iter->key().text(); }
std::string_view CDBIterator::GetValueImpl() const { return m_impl_iter->value().text(); }

CDBWrapper::CDBWrapper(const DBParams &params)
    : m_db_context(Guarded([&] { return std::unique_ptr<DBContext>(new DBContext{db::store(OptionsFor(params))}); })) {}
CDBWrapper::~CDBWrapper() = default;
void CDBWrapper::WriteBatch(CDBBatch &batch, bool sync) {
  Guarded([&] { m_db_context->store.write_batch(*batch.m_impl_batch, sync); });
}
std::optional<std::string> CDBWrapper::ReadImpl(std::string_view key) const {
  std::string value;
  const bool is_found = Guarded([&] { return m_db_context->store.read(key, value); });
  return is_found ? std::optional(std::move(value)) : std::nullopt;
}
bool CDBWrapper::ExistsImpl(std::string_view key) const {
  return Guarded([&] { return m_db_context->store.exists(key); });
}
std::size_t CDBWrapper::EstimateSizeImpl(std::string_view begin, std::string_view end) const {
  return Guarded([&] { return m_db_context->store.estimate_size(begin, end); });
}
CDBIterator *CDBWrapper::NewIterator() {
  return new CDBIterator(Guarded([&] { return std::make_unique<CDBIterator::IteratorImpl>(m_db_context->store.new_iterator()); }));
}
bool CDBWrapper::IsEmpty() {
  return Guarded([&] { return m_db_context->store.is_empty(); });
}
void CDBWrapper::CompactFull() { Guarded([&] { m_db_context->store.compact_full(); }); }
std::size_t CDBWrapper::DynamicMemoryUsage() const {
  return Guarded([&] { return m_db_context->store.dynamic_memory_usage(); });
}
