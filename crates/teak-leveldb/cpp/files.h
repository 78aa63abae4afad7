// Files of the operating system: one implementation for each kind of system. After a failure, which
// is `false`, -1 or null, the reason is in `errno`.

#ifndef TEAK_LEVELDB_FILES_H
#define TEAK_LEVELDB_FILES_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace leveldb {
namespace files {

enum class Opening { kRead, kReplace, kAppend };

// A descriptor. Programs that this process starts do not inherit it.
int Open(const std::string& name, Opening opening);
bool Close(int fd);
// Fewer bytes than `n` at the end of the file.
int64_t Read(int fd, char* bytes, size_t n);
int64_t ReadAt(int fd, char* bytes, size_t n, uint64_t offset);
bool Skip(int fd, uint64_t n);
// The number of bytes that were written, which may be fewer than `n`.
int64_t Write(int fd, const char* bytes, size_t n);
// Makes what was written durable.
bool Flush(int fd);
// A stream that closes the descriptor at its end.
std::FILE* Stream(int fd);

bool Exists(const std::string& name);
bool Size(const std::string& name, uint64_t* size);
bool Remove(const std::string& name);
// Replaces a file that has the other name.
bool Rename(const std::string& from, const std::string& to);
bool CreateDirectory(const std::string& name);
bool RemoveDirectory(const std::string& name);
// The names in a directory.
bool List(const std::string& directory, std::vector<std::string>* names);

// A directory for tests of this user, which may not exist yet.
std::string TestDirectory();
std::tm LocalTime(std::time_t time);

}  // namespace files
}  // namespace leveldb

#endif
