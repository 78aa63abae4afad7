#include "leveldb/env.h"

#include <memory>

namespace leveldb {

Env::Env() = default;
Env::~Env() = default;
SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;
EnvWrapper::~EnvWrapper() = default;

Status Env::NewAppendableFile(const std::string& fname, WritableFile** result) {
  *result = nullptr;
  return Status::NotSupported("NewAppendableFile", fname);
}

// Each of a pair calls the other one: implementations override one of them.
Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

void Log(Logger* info_log, const char* format, ...) {
  if (info_log != nullptr) {
    std::va_list arguments;
    va_start(arguments, format);
    info_log->Logv(format, arguments);
    va_end(arguments);
  }
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
  WritableFile* opened;
  Status status = env->NewWritableFile(fname, &opened);
  if (!status.ok()) {
    return status;
  }
  std::unique_ptr<WritableFile> file(opened);
  status = file->Append(data);
  if (status.ok()) {
    status = file->Close();
  }
  file.reset();
  if (!status.ok()) {
    env->RemoveFile(fname);
  }
  return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  data->clear();
  SequentialFile* opened;
  Status status = env->NewSequentialFile(fname, &opened);
  if (!status.ok()) {
    return status;
  }
  std::unique_ptr<SequentialFile> file(opened);
  std::string buffer(8192, '\0');
  while (true) {
    Slice piece;
    status = file->Read(buffer.size(), &piece, &buffer[0]);
    if (!status.ok() || piece.empty()) {
      return status;
    }
    data->append(piece.data(), piece.size());
  }
}

}  // namespace leveldb
