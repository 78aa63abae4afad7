#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "bridge.h"
#include "files.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

Status Failed(const std::string& context, int error) {
  const std::string text = std::strerror(error);
  return error == ENOENT ? Status::NotFound(context, text) : Status::IOError(context, text);
}

// An open file, which is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }

  int get() const { return fd_; }

  bool Close() {
    const bool is_closed = fd_ < 0 || files::Close(fd_);
    fd_ = -1;
    return is_closed;
  }

 private:
  int fd_;
};

class DefaultSequentialFile : public SequentialFile {
 public:
  DefaultSequentialFile(const std::string& name, int fd) : name_(name), file_(fd) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    const int64_t count = files::Read(file_.get(), scratch, n);
    *result = Slice(scratch, count < 0 ? 0 : count);
    return count < 0 ? Failed(name_, errno) : Status::OK();
  }

  Status Skip(uint64_t n) override {
    return files::Skip(file_.get(), n) ? Status::OK() : Failed(name_, errno);
  }

 private:
  const std::string name_;
  Descriptor file_;
};

class DefaultRandomAccessFile : public RandomAccessFile {
 public:
  DefaultRandomAccessFile(const std::string& name, int fd) : name_(name), file_(fd) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    const int64_t count = files::ReadAt(file_.get(), scratch, n, offset);
    *result = Slice(scratch, count < 0 ? 0 : count);
    return count < 0 ? Failed(name_, errno) : Status::OK();
  }

 private:
  const std::string name_;
  Descriptor file_;
};

class DefaultWritableFile : public WritableFile {
 public:
  DefaultWritableFile(const std::string& name, int fd) : name_(name), file_(fd) {}
  ~DefaultWritableFile() override { Flush(); }

  Status Append(const Slice& data) override {
    if (buffer_.size() + data.size() > kBufferSize) {
      const Status status = Flush();
      if (!status.ok() || data.size() > kBufferSize) {
        return status.ok() ? Write(data) : status;
      }
    }
    buffer_.append(data.data(), data.size());
    return Status::OK();
  }

  Status Flush() override {
    const Status status = Write(buffer_);
    buffer_.clear();
    return status;
  }

  Status Close() override {
    const Status status = Flush();
    const bool is_closed = file_.Close();
    return status.ok() && !is_closed ? Failed(name_, errno) : status;
  }

  Status Sync() override {
    const Status status = Flush();
    if (!status.ok()) {
      return status;
    }
    return files::Flush(file_.get()) ? status : Failed(name_, errno);
  }

 private:
  static const size_t kBufferSize = 65536;

  Status Write(Slice data) {
    while (!data.empty()) {
      const int64_t count = files::Write(file_.get(), data.data(), data.size());
      if (count < 0) {
        return Failed(name_, errno);
      }
      data.remove_prefix(count);
    }
    return Status::OK();
  }

  const std::string name_;
  Descriptor file_;
  std::string buffer_;
};

// A lock as databases take it, so that each keeps the other out, within the process too.
class DefaultFileLock : public FileLock {
 public:
  explicit DefaultFileLock(tl_lock_file* lock) : lock_(lock) {}
  ~DefaultFileLock() override { tl_unlock(lock_); }

 private:
  tl_lock_file* const lock_;
};

// Microseconds since 1970.
uint64_t MicrosecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

class DefaultLogger : public Logger {
 public:
  explicit DefaultLogger(std::FILE* file) : file_(file) {}
  ~DefaultLogger() override { std::fclose(file_); }

  void Logv(const char* format, std::va_list ap) override {
    const uint64_t now = MicrosecondsNow();
    const std::tm parts = files::LocalTime(static_cast<std::time_t>(now / 1000000));
    std::va_list copy;
    va_copy(copy, ap);
    const int size = std::vsnprintf(nullptr, 0, format, copy);
    va_end(copy);
    std::string line(size < 0 ? 0 : size + 1, '\0');
    std::vsnprintf(&line[0], line.size(), format, ap);
    line.resize(size < 0 ? 0 : size);
    if (line.empty() || line.back() != '\n') {
      line.push_back('\n');
    }
    std::fprintf(file_, "%04d/%02d/%02d-%02d:%02d:%02d.%06d %s", parts.tm_year + 1900,
                 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                 static_cast<int>(now % 1000000), line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* const file_;
};

class DefaultEnv : public Env {
 public:
  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return Open<DefaultSequentialFile>(fname, files::Opening::kRead, result);
  }

  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return Open<DefaultRandomAccessFile>(fname, files::Opening::kRead, result);
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    return Open<DefaultWritableFile>(fname, files::Opening::kReplace, result);
  }

  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    return Open<DefaultWritableFile>(fname, files::Opening::kAppend, result);
  }

  bool FileExists(const std::string& fname) override { return files::Exists(fname); }

  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    return Done(dir, files::List(dir, result));
  }

  Status RemoveFile(const std::string& fname) override {
    return Done(fname, files::Remove(fname));
  }

  Status CreateDir(const std::string& dirname) override {
    return Done(dirname, files::CreateDirectory(dirname));
  }

  Status RemoveDir(const std::string& dirname) override {
    return Done(dirname, files::RemoveDirectory(dirname));
  }

  Status GetFileSize(const std::string& fname, uint64_t* size) override {
    *size = 0;
    return Done(fname, files::Size(fname, size));
  }

  Status RenameFile(const std::string& src, const std::string& target) override {
    return Done(src, files::Rename(src, target));
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    tl_status failure;
    tl_lock_file* held = tl_lock(Bridged(fname), &failure);
    *lock = held == nullptr ? nullptr : new DefaultFileLock(held);
    return held == nullptr ? TakeStatus(failure) : Status::OK();
  }

  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return Status::OK();
  }

  void Schedule(void (*function)(void* arg), void* arg) override {
    std::lock_guard<std::mutex> guard(mutex_);
    if (!has_background_) {
      has_background_ = true;
      std::thread([this] { RunBackground(); }).detach();
    }
    scheduled_.emplace_back(function, arg);
    is_scheduled_.notify_one();
  }

  void StartThread(void (*function)(void* arg), void* arg) override {
    std::thread(function, arg).detach();
  }

  Status GetTestDirectory(std::string* path) override {
    const char* given = std::getenv("TEST_TMPDIR");
    *path = given != nullptr && *given != '\0' ? std::string(given) : files::TestDirectory();
    // It may be there already.
    CreateDir(*path);
    return Status::OK();
  }

  Status NewLogger(const std::string& fname, Logger** result) override {
    *result = nullptr;
    const int fd = files::Open(fname, files::Opening::kAppend);
    if (fd < 0) {
      return Failed(fname, errno);
    }
    std::FILE* file = files::Stream(fd);
    if (file == nullptr) {
      const int error = errno;
      files::Close(fd);
      return Failed(fname, error);
    }
    *result = new DefaultLogger(file);
    return Status::OK();
  }

  uint64_t NowMicros() override { return MicrosecondsNow(); }

  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  template <typename File, typename Result>
  Status Open(const std::string& fname, files::Opening opening, Result** result) {
    const int fd = files::Open(fname, opening);
    *result = fd < 0 ? nullptr : new File(fname, fd);
    return fd < 0 ? Failed(fname, errno) : Status::OK();
  }

  static Status Done(const std::string& name, bool is_done) {
    return is_done ? Status::OK() : Failed(name, errno);
  }

  void RunBackground() {
    while (true) {
      std::unique_lock<std::mutex> guard(mutex_);
      is_scheduled_.wait(guard, [this] { return !scheduled_.empty(); });
      const auto work = scheduled_.front();
      scheduled_.pop_front();
      guard.unlock();
      work.first(work.second);
    }
  }

  std::mutex mutex_;
  bool has_background_ = false;
  std::condition_variable is_scheduled_;
  std::deque<std::pair<void (*)(void*), void*>> scheduled_;
};

}  // namespace

Env* Env::Default() {
  // It is never deleted: its thread may run until the end of the process.
  static Env* const kDefault = new DefaultEnv;
  return kDefault;
}

}  // namespace leveldb
