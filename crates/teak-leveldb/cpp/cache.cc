#include "leveldb/cache.h"

#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

namespace leveldb {

Cache::~Cache() = default;

namespace {

class LruCache : public Cache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  ~LruCache() override {
    for (auto& entry : entries_) {
      Delete(entry.second);
    }
  }

  Handle* Insert(const Slice& key, void* value, size_t charge,
                 void (*deleter)(const Slice& key, void* value)) override {
    Entry* entry = new Entry{key.ToString(), value, charge, deleter, 1, false, {}};
    std::list<Entry*> removed;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      Remove(entry->key, &removed);
      // An entry that is larger than the cache exists only while it has a handle.
      if (capacity_ > 0) {
        entry->is_cached = true;
        entry->references++;
        entries_[entry->key] = entry;
        entry->place = unused_.end();
        usage_ += charge;
        Shrink(&removed);
      }
    }
    Delete(removed);
    return HandleOf(entry);
  }

  Handle* Lookup(const Slice& key) override {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = entries_.find(key.ToString());
    if (found == entries_.end()) {
      return nullptr;
    }
    Entry* entry = found->second;
    if (entry->references == 1) {
      unused_.erase(entry->place);
    }
    entry->references++;
    return HandleOf(entry);
  }

  void Release(Handle* handle) override {
    Entry* entry = EntryOf(handle);
    std::list<Entry*> removed;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      entry->references--;
      if (entry->references == 0) {
        removed.push_back(entry);
      } else if (entry->references == 1 && entry->is_cached) {
        entry->place = unused_.insert(unused_.end(), entry);
        Shrink(&removed);
      }
    }
    Delete(removed);
  }

  void* Value(Handle* handle) override { return EntryOf(handle)->value; }

  void Erase(const Slice& key) override {
    std::list<Entry*> removed;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      Remove(key.ToString(), &removed);
    }
    Delete(removed);
  }

  uint64_t NewId() override {
    std::lock_guard<std::mutex> guard(mutex_);
    return ++last_id_;
  }

  void Prune() override {
    std::list<Entry*> removed;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      while (!unused_.empty()) {
        const std::string key = unused_.front()->key;
        Remove(key, &removed);
      }
    }
    Delete(removed);
  }

  size_t TotalCharge() const override {
    std::lock_guard<std::mutex> guard(mutex_);
    return usage_;
  }

 private:
  struct Entry {
    std::string key;
    void* value;
    size_t charge;
    void (*deleter)(const Slice& key, void* value);
    // Handles, and one for the cache.
    size_t references;
    bool is_cached;
    // The place among the unused ones, if only the cache has it.
    std::list<Entry*>::iterator place;
  };

  static Handle* HandleOf(Entry* entry) { return reinterpret_cast<Handle*>(entry); }
  static Entry* EntryOf(Handle* handle) { return reinterpret_cast<Entry*>(handle); }

  // Takes an entry out of the cache. It is to be deleted if nobody has a handle.
  void Remove(const std::string& key, std::list<Entry*>* removed) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      return;
    }
    Entry* entry = found->second;
    entries_.erase(found);
    usage_ -= entry->charge;
    entry->is_cached = false;
    if (entry->references == 1) {
      unused_.erase(entry->place);
      removed->push_back(entry);
    }
    entry->references--;
  }

  // Takes out the entries that were not used for longest, as long as there are too many.
  void Shrink(std::list<Entry*>* removed) {
    while (usage_ > capacity_ && !unused_.empty()) {
      const std::string key = unused_.front()->key;
      Remove(key, removed);
    }
  }

  // Deleters are called without the lock: they may use the cache.
  static void Delete(const std::list<Entry*>& removed) {
    for (Entry* entry : removed) {
      Delete(entry);
    }
  }

  static void Delete(Entry* entry) {
    entry->deleter(entry->key, entry->value);
    delete entry;
  }

  mutable std::mutex mutex_;
  const size_t capacity_;
  size_t usage_ = 0;
  uint64_t last_id_ = 0;
  std::unordered_map<std::string, Entry*> entries_;
  // Entries without handles, the one that was not used for longest first.
  std::list<Entry*> unused_;
};

}  // namespace

Cache* NewLRUCache(size_t capacity) { return new LruCache(capacity); }

}  // namespace leveldb
