// The system: files, threads, time. An application may use these functions for its own files.

#ifndef TEAK_LEVELDB_ENV_H
#define TEAK_LEVELDB_ENV_H

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/export.h"
#include "leveldb/status.h"

// On Windows the system's header has a macro with the name of a function of Env.
#if defined(_WIN32)
#pragma push_macro("DeleteFile")
#undef DeleteFile
#endif

namespace leveldb {

class FileLock;
class Logger;
class RandomAccessFile;
class SequentialFile;
class Slice;
class WritableFile;

// A system. Several threads may use it at the same time.
class LEVELDB_EXPORT Env {
 public:
  Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  // The system that the process runs on. It belongs to the library.
  static Env* Default();

  // Results of these belong to the caller, and are null after an error.
  virtual Status NewSequentialFile(const std::string& fname, SequentialFile** result) = 0;
  virtual Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) = 0;
  // Replaces a file of that name.
  virtual Status NewWritableFile(const std::string& fname, WritableFile** result) = 0;
  // Writes after the bytes that are there.
  virtual Status NewAppendableFile(const std::string& fname, WritableFile** result);

  virtual bool FileExists(const std::string& fname) = 0;
  // The names in a directory.
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* result) = 0;
  // Of each of the following pairs, an implementation overrides the first one.
  virtual Status RemoveFile(const std::string& fname);
  virtual Status DeleteFile(const std::string& fname);
  virtual Status CreateDir(const std::string& dirname) = 0;
  virtual Status RemoveDir(const std::string& dirname);
  virtual Status DeleteDir(const std::string& dirname);
  virtual Status GetFileSize(const std::string& fname, uint64_t* file_size) = 0;
  virtual Status RenameFile(const std::string& src, const std::string& target) = 0;
  // Fails if somebody has the lock. UnlockFile deletes it.
  virtual Status LockFile(const std::string& fname, FileLock** lock) = 0;
  virtual Status UnlockFile(FileLock* lock) = 0;

  // Calls a function in a background thread. Several calls come one after the other.
  virtual void Schedule(void (*function)(void* arg), void* arg) = 0;
  // Calls a function in a thread of its own.
  virtual void StartThread(void (*function)(void* arg), void* arg) = 0;

  // A directory for tests.
  virtual Status GetTestDirectory(std::string* path) = 0;
  virtual Status NewLogger(const std::string& fname, Logger** result) = 0;
  // Microseconds since some moment.
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

// A file that is read from the beginning on, by one thread at a time.
class LEVELDB_EXPORT SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  // Up to `n` bytes, which may be in `scratch`; fewer at the end of the file.
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  virtual Status Skip(uint64_t n) = 0;
};

// A file that is read at any offset, by several threads at the same time.
class LEVELDB_EXPORT RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  // Up to `n` bytes, which may be in `scratch`.
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

// A file that is written from the beginning on, by one thread at a time.
class LEVELDB_EXPORT WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  virtual Status Flush() = 0;
  virtual Status Sync() = 0;
};

// Receives lines of text.
class LEVELDB_EXPORT Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  virtual void Logv(const char* format, std::va_list ap) = 0;
};

// A lock that is held.
class LEVELDB_EXPORT FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

// Writes a line to a logger, unless that is null.
LEVELDB_EXPORT void Log(Logger* info_log, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((__format__(__printf__, 2, 3)))
#endif
    ;

// Makes `data` the content of a file.
LEVELDB_EXPORT Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname);
// The content of a file.
LEVELDB_EXPORT Status ReadFileToString(Env* env, const std::string& fname, std::string* data);

// An Env that passes everything to another one, for those that change some of it. Its functions are
// not inline: the library must recognise them in classes of the application.
class LEVELDB_EXPORT EnvWrapper : public Env {
 public:
  // The other one belongs to the caller.
  explicit EnvWrapper(Env* target) : target_(target) {}
  virtual ~EnvWrapper();

  Env* target() const { return target_; }

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override;
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override;
  Status NewWritableFile(const std::string& fname, WritableFile** result) override;
  Status NewAppendableFile(const std::string& fname, WritableFile** result) override;
  bool FileExists(const std::string& fname) override;
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override;
  Status RemoveFile(const std::string& fname) override;
  Status CreateDir(const std::string& dirname) override;
  Status RemoveDir(const std::string& dirname) override;
  Status GetFileSize(const std::string& fname, uint64_t* file_size) override;
  Status RenameFile(const std::string& src, const std::string& target) override;
  Status LockFile(const std::string& fname, FileLock** lock) override;
  Status UnlockFile(FileLock* lock) override;
  void Schedule(void (*function)(void*), void* arg) override;
  void StartThread(void (*function)(void*), void* arg) override;
  Status GetTestDirectory(std::string* path) override;
  Status NewLogger(const std::string& fname, Logger** result) override;
  uint64_t NowMicros() override;
  void SleepForMicroseconds(int micros) override;

 private:
  Env* target_;
};

}  // namespace leveldb

#if defined(_WIN32)
#pragma pop_macro("DeleteFile")
#endif

#endif
