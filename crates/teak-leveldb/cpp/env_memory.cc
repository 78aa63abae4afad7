#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "env_kinds.h"
#include "leveldb/helpers/memenv.h"

namespace leveldb {

MemoryEnv::~MemoryEnv() = default;

namespace {

// The content of a file, which stays as long as somebody has it open.
struct Content {
  std::mutex mutex;
  std::string bytes;
};

using ContentPtr = std::shared_ptr<Content>;

Slice Part(const std::string& bytes, uint64_t offset, size_t n, char* scratch) {
  if (offset >= bytes.size()) {
    return Slice();
  }
  const size_t size = std::min<uint64_t>(n, bytes.size() - offset);
  memcpy(scratch, bytes.data() + offset, size);
  return Slice(scratch, size);
}

class MemorySequentialFile : public SequentialFile {
 public:
  explicit MemorySequentialFile(ContentPtr content) : content_(std::move(content)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    std::lock_guard<std::mutex> guard(content_->mutex);
    *result = Part(content_->bytes, offset_, n, scratch);
    offset_ += result->size();
    return Status::OK();
  }

  Status Skip(uint64_t n) override {
    std::lock_guard<std::mutex> guard(content_->mutex);
    if (offset_ > content_->bytes.size()) {
      return Status::IOError("the position is after the end of the file");
    }
    offset_ += std::min<uint64_t>(n, content_->bytes.size() - offset_);
    return Status::OK();
  }

 private:
  ContentPtr content_;
  uint64_t offset_ = 0;
};

class MemoryRandomAccessFile : public RandomAccessFile {
 public:
  explicit MemoryRandomAccessFile(ContentPtr content) : content_(std::move(content)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    std::lock_guard<std::mutex> guard(content_->mutex);
    if (offset > content_->bytes.size()) {
      return Status::IOError("the offset is after the end of the file");
    }
    *result = Part(content_->bytes, offset, n, scratch);
    return Status::OK();
  }

 private:
  ContentPtr content_;
};

class MemoryWritableFile : public WritableFile {
 public:
  explicit MemoryWritableFile(ContentPtr content) : content_(std::move(content)) {}

  Status Append(const Slice& data) override {
    std::lock_guard<std::mutex> guard(content_->mutex);
    content_->bytes.append(data.data(), data.size());
    return Status::OK();
  }

  Status Close() override { return Status::OK(); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  ContentPtr content_;
};

class SilentLogger : public Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

class MemoryFileLock : public FileLock {
 public:
  explicit MemoryFileLock(const std::string& name) : name(name) {}
  const std::string name;
};

class EnvInMemory : public EnvWrapper, public MemoryEnv {
 public:
  explicit EnvInMemory(Env* base) : EnvWrapper(base) {}

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return Open<MemorySequentialFile>(fname, result);
  }

  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return Open<MemoryRandomAccessFile>(fname, result);
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    std::lock_guard<std::mutex> guard(mutex_);
    // Those who have the old file open keep it.
    files_[fname] = std::make_shared<Content>();
    *result = new MemoryWritableFile(files_[fname]);
    return Status::OK();
  }

  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ContentPtr& content = files_[fname];
    if (content == nullptr) {
      content = std::make_shared<Content>();
    }
    *result = new MemoryWritableFile(content);
    return Status::OK();
  }

  bool FileExists(const std::string& fname) override {
    std::lock_guard<std::mutex> guard(mutex_);
    return files_.count(fname) != 0;
  }

  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    std::lock_guard<std::mutex> guard(mutex_);
    result->clear();
    const std::string start = dir + "/";
    for (const auto& file : files_) {
      const std::string& name = file.first;
      if (name.size() > start.size() && name.compare(0, start.size(), start) == 0) {
        result->push_back(name.substr(start.size()));
      }
    }
    return Status::OK();
  }

  Status RemoveFile(const std::string& fname) override {
    std::lock_guard<std::mutex> guard(mutex_);
    return files_.erase(fname) != 0 ? Status::OK() : Missing(fname);
  }

  Status CreateDir(const std::string&) override { return Status::OK(); }
  Status RemoveDir(const std::string&) override { return Status::OK(); }

  Status GetFileSize(const std::string& fname, uint64_t* size) override {
    const ContentPtr content = Find(fname);
    if (content == nullptr) {
      return Missing(fname);
    }
    std::lock_guard<std::mutex> guard(content->mutex);
    *size = content->bytes.size();
    return Status::OK();
  }

  Status RenameFile(const std::string& src, const std::string& target) override {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = files_.find(src);
    if (found == files_.end()) {
      return Missing(src);
    }
    const ContentPtr content = found->second;
    files_.erase(found);
    files_[target] = content;
    return Status::OK();
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    const bool is_taken = Hold(fname);
    *lock = is_taken ? new MemoryFileLock(fname) : nullptr;
    return is_taken ? Status::OK() : Status::IOError("lock " + fname, "already held by process");
  }

  Status UnlockFile(FileLock* lock) override {
    std::unique_ptr<MemoryFileLock> held(static_cast<MemoryFileLock*>(lock));
    Release(held->name);
    return Status::OK();
  }

  Status GetTestDirectory(std::string* path) override {
    *path = "/test";
    return Status::OK();
  }

  Status NewLogger(const std::string&, Logger** result) override {
    *result = new SilentLogger;
    return Status::OK();
  }

  std::shared_ptr<tl_memory> Place(const std::string& name) override {
    std::lock_guard<std::mutex> guard(mutex_);
    std::shared_ptr<tl_memory>& place = places_[name];
    if (place == nullptr) {
      place.reset(tl_memory_new(), tl_memory_free);
    }
    return place;
  }

  void RemovePlace(const std::string& name) override {
    std::lock_guard<std::mutex> guard(mutex_);
    places_.erase(name);
  }

  bool Hold(const std::string& name) override {
    std::lock_guard<std::mutex> guard(mutex_);
    return held_.insert(name).second;
  }

  void Release(const std::string& name) override {
    std::lock_guard<std::mutex> guard(mutex_);
    held_.erase(name);
  }

 private:
  static Status Missing(const std::string& fname) {
    return Status::IOError(fname, "File not found");
  }

  ContentPtr Find(const std::string& fname) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = files_.find(fname);
    return found == files_.end() ? nullptr : found->second;
  }

  template <typename File, typename Result>
  Status Open(const std::string& fname, Result** result) {
    const ContentPtr content = Find(fname);
    *result = content == nullptr ? nullptr : new File(content);
    return content == nullptr ? Missing(fname) : Status::OK();
  }

  std::mutex mutex_;
  std::map<std::string, ContentPtr> files_;
  std::map<std::string, std::shared_ptr<tl_memory>> places_;
  std::set<std::string> held_;
};

}  // namespace

Env* NewMemEnv(Env* base_env) { return new EnvInMemory(base_env); }

namespace {

using VirtualFunctions = const void* const*;

VirtualFunctions FunctionsOf(const Env* env) {
  return *reinterpret_cast<const VirtualFunctions*>(env);
}

// The number of a virtual function, as GCC and Clang have it in pointers to members.
template <typename Function>
size_t Slot(Function function) {
  static_assert(sizeof(Function) == 2 * sizeof(size_t), "two words");
  size_t words[2];
  memcpy(words, &function, sizeof words);
  return words[0] / sizeof(size_t);
}

// The function that is called in the end. The class of an application for Windows has its own entry
// of each function of the library, a jump by way of the table of addresses.
const void* Followed(const void* function) {
#if defined(_WIN32) && defined(__x86_64__)
  const auto* code = static_cast<const unsigned char*>(function);
  int32_t distance;
  memcpy(&distance, code + 2, sizeof distance);
  if (code[0] == 0xff && code[1] == 0x25) {
    return *reinterpret_cast<const void* const*>(code + 6 + distance);
  }
#endif
  return function;
}

// Whether a wrapper passes on all functions that concern files: the class of the application may
// override others. A copy of EnvWrapper's function in the application, which LevelDB's header makes,
// counts as another one unless it is exported.
bool PassesFilesOn(EnvWrapper* wrapper) {
  EnvWrapper plain(nullptr);
  const VirtualFunctions given = FunctionsOf(wrapper);
  const VirtualFunctions expected = FunctionsOf(&plain);
  const size_t slots[] = {
      Slot(&Env::NewSequentialFile), Slot(&Env::NewRandomAccessFile), Slot(&Env::NewWritableFile),
      Slot(&Env::NewAppendableFile), Slot(&Env::FileExists), Slot(&Env::GetChildren),
      Slot(&Env::RemoveFile), Slot(&Env::DeleteFile), Slot(&Env::CreateDir), Slot(&Env::RemoveDir),
      Slot(&Env::DeleteDir), Slot(&Env::GetFileSize), Slot(&Env::RenameFile), Slot(&Env::LockFile),
      Slot(&Env::UnlockFile),
  };
  return std::all_of(std::begin(slots), std::end(slots),
                     [&](size_t slot) { return Followed(given[slot]) == Followed(expected[slot]); });
}

// The Env that `env` passes all files to; null if it is no wrapper, or if that is unknown: a class
// that was compiled without type information has none before its virtual functions.
Env* TargetOf(Env* env) {
  const bool has_type = FunctionsOf(env)[-1] != nullptr;
  auto* wrapper = has_type ? dynamic_cast<EnvWrapper*>(env) : nullptr;
  return wrapper == nullptr || !PassesFilesOn(wrapper) ? nullptr : wrapper->target();
}

}  // namespace

MemoryEnv* FindMemoryEnv(Env* env) {
  while (env != nullptr) {
    const bool has_type = FunctionsOf(env)[-1] != nullptr;
    auto* memory = has_type ? dynamic_cast<EnvInMemory*>(env) : nullptr;
    if (memory != nullptr) {
      return memory;
    }
    env = TargetOf(env);
  }
  return nullptr;
}

bool IsDefaultEnv(Env* env) {
  while (env != nullptr && env != Env::Default()) {
    env = TargetOf(env);
  }
  return env != nullptr;
}

}  // namespace leveldb
