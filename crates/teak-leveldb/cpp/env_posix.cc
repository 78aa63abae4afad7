#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "bridge.h"
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
    const bool is_closed = fd_ < 0 || ::close(fd_) == 0;
    fd_ = -1;
    return is_closed;
  }

 private:
  int fd_;
};

class PosixSequentialFile : public SequentialFile {
 public:
  PosixSequentialFile(const std::string& name, int fd) : name_(name), file_(fd) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    ssize_t count;
    do {
      count = ::read(file_.get(), scratch, n);
    } while (count < 0 && errno == EINTR);
    *result = Slice(scratch, count < 0 ? 0 : count);
    return count < 0 ? Failed(name_, errno) : Status::OK();
  }

  Status Skip(uint64_t n) override {
    const bool is_moved = ::lseek(file_.get(), static_cast<off_t>(n), SEEK_CUR) >= 0;
    return is_moved ? Status::OK() : Failed(name_, errno);
  }

 private:
  const std::string name_;
  Descriptor file_;
};

class PosixRandomAccessFile : public RandomAccessFile {
 public:
  PosixRandomAccessFile(const std::string& name, int fd) : name_(name), file_(fd) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    const ssize_t count = ::pread(file_.get(), scratch, n, static_cast<off_t>(offset));
    *result = Slice(scratch, count < 0 ? 0 : count);
    return count < 0 ? Failed(name_, errno) : Status::OK();
  }

 private:
  const std::string name_;
  Descriptor file_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(const std::string& name, int fd) : name_(name), file_(fd) {}
  ~PosixWritableFile() override { Flush(); }

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
    return ::fdatasync(file_.get()) == 0 ? status : Failed(name_, errno);
  }

 private:
  static const size_t kBufferSize = 65536;

  Status Write(Slice data) {
    while (!data.empty()) {
      const ssize_t count = ::write(file_.get(), data.data(), data.size());
      if (count < 0 && errno != EINTR) {
        return Failed(name_, errno);
      }
      data.remove_prefix(count < 0 ? 0 : count);
    }
    return Status::OK();
  }

  const std::string name_;
  Descriptor file_;
  std::string buffer_;
};

// A lock as databases take it, so that each keeps the other out, within the process too.
class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(tl_lock_file* lock) : lock_(lock) {}
  ~PosixFileLock() override { tl_unlock(lock_); }

 private:
  tl_lock_file* const lock_;
};

class PosixLogger : public Logger {
 public:
  explicit PosixLogger(std::FILE* file) : file_(file) {}
  ~PosixLogger() override { std::fclose(file_); }

  void Logv(const char* format, std::va_list ap) override {
    struct ::timeval now;
    ::gettimeofday(&now, nullptr);
    struct std::tm parts;
    ::localtime_r(&now.tv_sec, &parts);
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
                 static_cast<int>(now.tv_usec), line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* const file_;
};

class PosixEnv : public Env {
 public:
  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return Open<PosixSequentialFile>(fname, O_RDONLY, result);
  }

  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return Open<PosixRandomAccessFile>(fname, O_RDONLY, result);
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    return Open<PosixWritableFile>(fname, O_TRUNC | O_WRONLY | O_CREAT, result);
  }

  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    return Open<PosixWritableFile>(fname, O_APPEND | O_WRONLY | O_CREAT, result);
  }

  bool FileExists(const std::string& fname) override { return ::access(fname.c_str(), F_OK) == 0; }

  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    ::DIR* opened = ::opendir(dir.c_str());
    if (opened == nullptr) {
      return Failed(dir, errno);
    }
    while (const struct ::dirent* entry = ::readdir(opened)) {
      result->emplace_back(entry->d_name);
    }
    ::closedir(opened);
    return Status::OK();
  }

  Status RemoveFile(const std::string& fname) override {
    return Done(fname, ::unlink(fname.c_str()));
  }

  Status CreateDir(const std::string& dirname) override {
    return Done(dirname, ::mkdir(dirname.c_str(), 0755));
  }

  Status RemoveDir(const std::string& dirname) override {
    return Done(dirname, ::rmdir(dirname.c_str()));
  }

  Status GetFileSize(const std::string& fname, uint64_t* size) override {
    struct ::stat found;
    const Status status = Done(fname, ::stat(fname.c_str(), &found));
    *size = status.ok() ? found.st_size : 0;
    return status;
  }

  Status RenameFile(const std::string& src, const std::string& target) override {
    return Done(src, std::rename(src.c_str(), target.c_str()));
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    tl_status failure;
    tl_lock_file* held = tl_lock(Bridged(fname), &failure);
    *lock = held == nullptr ? nullptr : new PosixFileLock(held);
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
    *path = given != nullptr && *given != '\0'
                ? std::string(given)
                : "/tmp/leveldbtest-" + std::to_string(::geteuid());
    // It may be there already.
    CreateDir(*path);
    return Status::OK();
  }

  Status NewLogger(const std::string& fname, Logger** result) override {
    *result = nullptr;
    const int fd = ::open(fname.c_str(), O_APPEND | O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
      return Failed(fname, errno);
    }
    std::FILE* file = ::fdopen(fd, "w");
    if (file == nullptr) {
      const int error = errno;
      ::close(fd);
      return Failed(fname, error);
    }
    *result = new PosixLogger(file);
    return Status::OK();
  }

  uint64_t NowMicros() override {
    struct ::timeval now;
    ::gettimeofday(&now, nullptr);
    return static_cast<uint64_t>(now.tv_sec) * 1000000 + now.tv_usec;
  }

  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  template <typename File, typename Result>
  Status Open(const std::string& fname, int flags, Result** result) {
    const int fd = ::open(fname.c_str(), flags | O_CLOEXEC, 0644);
    *result = fd < 0 ? nullptr : new File(fname, fd);
    return fd < 0 ? Failed(fname, errno) : Status::OK();
  }

  static Status Done(const std::string& name, int result) {
    return result == 0 ? Status::OK() : Failed(name, errno);
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
  static Env* const kDefault = new PosixEnv;
  return kDefault;
}

}  // namespace leveldb
