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

Status EnvWrapper::NewSequentialFile(const std::string& fname, SequentialFile** result) {
  return target_->NewSequentialFile(fname, result);
}
Status EnvWrapper::NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) {
  return target_->NewRandomAccessFile(fname, result);
}
Status EnvWrapper::NewWritableFile(const std::string& fname, WritableFile** result) {
  return target_->NewWritableFile(fname, result);
}
Status EnvWrapper::NewAppendableFile(const std::string& fname, WritableFile** result) {
  return target_->NewAppendableFile(fname, result);
}
bool EnvWrapper::FileExists(const std::string& fname) {
  return target_->FileExists(fname);
}
Status EnvWrapper::GetChildren(const std::string& dir, std::vector<std::string>* result) {
  return target_->GetChildren(dir, result);
}
Status EnvWrapper::RemoveFile(const std::string& fname) {
  return target_->RemoveFile(fname);
}
Status EnvWrapper::CreateDir(const std::string& dirname) {
  return target_->CreateDir(dirname);
}
Status EnvWrapper::RemoveDir(const std::string& dirname) {
  return target_->RemoveDir(dirname);
}
Status EnvWrapper::GetFileSize(const std::string& fname, uint64_t* file_size) {
  return target_->GetFileSize(fname, file_size);
}
Status EnvWrapper::RenameFile(const std::string& src, const std::string& target) {
  return target_->RenameFile(src, target);
}
Status EnvWrapper::LockFile(const std::string& fname, FileLock** lock) {
  return target_->LockFile(fname, lock);
}
Status EnvWrapper::UnlockFile(FileLock* lock) {
  return target_->UnlockFile(lock);
}
void EnvWrapper::Schedule(void (*function)(void*), void* arg) {
  return target_->Schedule(function, arg);
}
void EnvWrapper::StartThread(void (*function)(void*), void* arg) {
  return target_->StartThread(function, arg);
}
Status EnvWrapper::GetTestDirectory(std::string* path) {
  return target_->GetTestDirectory(path);
}
Status EnvWrapper::NewLogger(const std::string& fname, Logger** result) {
  return target_->NewLogger(fname, result);
}
uint64_t EnvWrapper::NowMicros() {
  return target_->NowMicros();
}
void EnvWrapper::SleepForMicroseconds(int micros) {
  target_->SleepForMicroseconds(micros);
}

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
