#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace leveldb {
namespace files {

int Open(const std::string& name, Opening opening) {
  int flags = O_RDONLY;
  if (opening == Opening::kReplace) {
    flags = O_TRUNC | O_WRONLY | O_CREAT;
  } else if (opening == Opening::kAppend) {
    flags = O_APPEND | O_WRONLY | O_CREAT;
  }
  return ::open(name.c_str(), flags | O_CLOEXEC, 0644);
}

bool Close(int fd) { return ::close(fd) == 0; }

int64_t Read(int fd, char* bytes, size_t n) {
  ssize_t count;
  do {
    count = ::read(fd, bytes, n);
  } while (count < 0 && errno == EINTR);
  return count;
}

int64_t ReadAt(int fd, char* bytes, size_t n, uint64_t offset) {
  return ::pread(fd, bytes, n, static_cast<off_t>(offset));
}

bool Skip(int fd, uint64_t n) { return ::lseek(fd, static_cast<off_t>(n), SEEK_CUR) >= 0; }

int64_t Write(int fd, const char* bytes, size_t n) {
  const ssize_t count = ::write(fd, bytes, n);
  return count < 0 && errno == EINTR ? 0 : count;
}

bool Flush(int fd) { return ::fdatasync(fd) == 0; }

std::FILE* Stream(int fd) { return ::fdopen(fd, "w"); }

bool Exists(const std::string& name) { return ::access(name.c_str(), F_OK) == 0; }

bool Size(const std::string& name, uint64_t* size) {
  struct ::stat found;
  if (::stat(name.c_str(), &found) != 0) {
    return false;
  }
  *size = found.st_size;
  return true;
}

bool Remove(const std::string& name) { return ::unlink(name.c_str()) == 0; }

bool Rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool CreateDirectory(const std::string& name) { return ::mkdir(name.c_str(), 0755) == 0; }

bool RemoveDirectory(const std::string& name) { return ::rmdir(name.c_str()) == 0; }

bool List(const std::string& directory, std::vector<std::string>* names) {
  ::DIR* opened = ::opendir(directory.c_str());
  if (opened == nullptr) {
    return false;
  }
  while (const struct ::dirent* entry = ::readdir(opened)) {
    names->emplace_back(entry->d_name);
  }
  ::closedir(opened);
  return true;
}

std::string TestDirectory() { return "/tmp/leveldbtest-" + std::to_string(::geteuid()); }

std::tm LocalTime(std::time_t time) {
  std::tm parts;
  ::localtime_r(&time, &parts);
  return parts;
}

}  // namespace files
}  // namespace leveldb
