// Windows. Names are UTF-8.

#include "files.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

// Names of the system that are macros.
#undef CreateDirectory
#undef RemoveDirectory

namespace leveldb {
namespace files {

namespace {

// The most bytes of one call.
const size_t kCallMax = 1 << 30;

// A name as the system has it. Empty, which is no name, if it is not UTF-8.
std::wstring Wide(const std::string& name) {
  const int len = static_cast<int>(name.size());
  const int count =
      ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name.data(), len, nullptr, 0);
  std::wstring wide(count, L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name.data(), len, &wide[0], count);
  return wide;
}

std::string Narrow(const wchar_t* wide) {
  // With the zero at the end.
  const int count = ::WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
  std::string name(count, '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, wide, -1, &name[0], count, nullptr, nullptr);
  name.resize(count == 0 ? 0 : count - 1);
  return name;
}

// Says for the last error of the system what C's library says.
bool Fail() {
  switch (::GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      errno = ENOENT;
      break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      errno = EACCES;
      break;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
      errno = EEXIST;
      break;
    default:
      errno = EIO;
  }
  return false;
}

}  // namespace

int Open(const std::string& name, Opening opening) {
  int flags = _O_RDONLY;
  if (opening == Opening::kReplace) {
    flags = _O_TRUNC | _O_WRONLY | _O_CREAT;
  } else if (opening == Opening::kAppend) {
    flags = _O_APPEND | _O_WRONLY | _O_CREAT;
  }
  return ::_wopen(Wide(name).c_str(), flags | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

bool Close(int fd) { return ::_close(fd) == 0; }

int64_t Read(int fd, char* bytes, size_t n) {
  return ::_read(fd, bytes, static_cast<unsigned>(std::min(n, kCallMax)));
}

int64_t ReadAt(int fd, char* bytes, size_t n, uint64_t offset) {
  ::OVERLAPPED at = {};
  at.Offset = static_cast<::DWORD>(offset);
  at.OffsetHigh = static_cast<::DWORD>(offset >> 32);
  ::DWORD count = 0;
  const auto file = reinterpret_cast<::HANDLE>(::_get_osfhandle(fd));
  if (!::ReadFile(file, bytes, static_cast<::DWORD>(std::min(n, kCallMax)), &count, &at) &&
      ::GetLastError() != ERROR_HANDLE_EOF) {
    Fail();
    return -1;
  }
  return count;
}

bool Skip(int fd, uint64_t n) {
  return ::_lseeki64(fd, static_cast<int64_t>(n), SEEK_CUR) >= 0;
}

int64_t Write(int fd, const char* bytes, size_t n) {
  return ::_write(fd, bytes, static_cast<unsigned>(std::min(n, kCallMax)));
}

bool Flush(int fd) { return ::_commit(fd) == 0; }

std::FILE* Stream(int fd) { return ::_fdopen(fd, "wb"); }

bool Exists(const std::string& name) {
  return ::GetFileAttributesW(Wide(name).c_str()) != INVALID_FILE_ATTRIBUTES;
}

bool Size(const std::string& name, uint64_t* size) {
  struct ::_stat64 found;
  if (::_wstat64(Wide(name).c_str(), &found) != 0) {
    return false;
  }
  *size = found.st_size;
  return true;
}

bool Remove(const std::string& name) { return ::_wunlink(Wide(name).c_str()) == 0; }

bool Rename(const std::string& from, const std::string& to) {
  return ::MoveFileExW(Wide(from).c_str(), Wide(to).c_str(), MOVEFILE_REPLACE_EXISTING) || Fail();
}

bool CreateDirectory(const std::string& name) { return ::_wmkdir(Wide(name).c_str()) == 0; }

bool RemoveDirectory(const std::string& name) { return ::_wrmdir(Wide(name).c_str()) == 0; }

bool List(const std::string& directory, std::vector<std::string>* names) {
  ::WIN32_FIND_DATAW found;
  const ::HANDLE search = ::FindFirstFileW(Wide(directory + "\\*").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) {
    return Fail();
  }
  do {
    names->push_back(Narrow(found.cFileName));
  } while (::FindNextFileW(search, &found));
  ::FindClose(search);
  return true;
}

std::string TestDirectory() {
  wchar_t directory[MAX_PATH + 1] = L"";
  ::GetTempPathW(MAX_PATH + 1, directory);
  return Narrow(directory) + "leveldbtest";
}

std::tm LocalTime(std::time_t time) {
  std::tm parts = {};
  ::localtime_s(&parts, &time);
  return parts;
}

}  // namespace files
}  // namespace leveldb
