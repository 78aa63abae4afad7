// The file CURRENT of a directory of Teak. Part of dbwrapper.hpp.
//
// It names the file with the records, and makes LevelDB refuse the directory.

#ifndef TEAK_DBWRAPPER_CURRENT_FILE_HPP
#define TEAK_DBWRAPPER_CURRENT_FILE_HPP

#include <teak/dbwrapper/batch.hpp>

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <random>
#if defined(_WIN32)
#include <chrono>
#include <io.h>
#include <sys/stat.h>
#include <thread>

// As the header of the system declares them, which defines many macros.
extern "C" __declspec(dllimport) int __stdcall MoveFileExW(const wchar_t *from, const wchar_t *to, unsigned long flags);
extern "C" __declspec(dllimport) unsigned long __stdcall GetLastError();
#else
#include <unistd.h>
#endif

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {
namespace detail {

constexpr std::string_view current_content = "TEAK data.teak\n";

#if defined(_WIN32)
constexpr int open_to_read = _O_RDONLY, open_to_create = _O_WRONLY | _O_CREAT | _O_EXCL;
/// A program that this one starts does not get the file.
inline int open_file(const std::filesystem::path &path, int flags) {
  return ::_wopen(path.c_str(), flags | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}
inline void close_file(int raw) { ::_close(raw); }
inline long long read_file(int raw, char *bytes, std::size_t size) { return ::_read(raw, bytes, static_cast<unsigned>(size)); }
inline long long write_file(int raw, const char *bytes, std::size_t size) {
  return ::_write(raw, bytes, static_cast<unsigned>(size));
}
inline int flush_file(int raw) { return ::_commit(raw); }
#else
constexpr int open_to_read = O_RDONLY, open_to_create = O_WRONLY | O_CREAT | O_EXCL;
/// A program that this one starts does not get the file.
inline int open_file(const std::filesystem::path &path, int flags) { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); }
inline void close_file(int raw) { ::close(raw); }
inline long long read_file(int raw, char *bytes, std::size_t size) { return ::pread(raw, bytes, size, 0); }
inline long long write_file(int raw, const char *bytes, std::size_t size) { return ::write(raw, bytes, size); }
inline int flush_file(int raw) { return ::fsync(raw); }
#endif

/// An open file or directory. Functions throw std::filesystem::filesystem_error.
class system_file {
public:
  system_file(std::filesystem::path path, int flags) : path_(std::move(path)), raw_(open_file(path_, flags)) {
    if (raw_ < 0) fail("cannot open", errno);
  }
  system_file(const system_file &) = delete;
  system_file &operator=(const system_file &) = delete;
  ~system_file() { close_file(raw_); }

  /// Reads some bytes from the beginning. Called once.
  [[nodiscard]] std::string read() const {
    char bytes[1024];
    const long long size = read_file(raw_, bytes, sizeof bytes);
    if (size < 0) fail("cannot read", errno);
    return {bytes, static_cast<std::size_t>(size)};
  }
  /// Writes the content of a new file.
  void write(std::string_view content) {
    const long long size = write_file(raw_, content.data(), content.size());
    if (size != static_cast<long long>(content.size())) fail("cannot write", size < 0 ? errno : ENOSPC);
  }
  /// Makes the content durable.
  void sync() {
    if (flush_file(raw_) != 0) fail("cannot sync", errno);
  }

private:
  [[noreturn]] void fail(const char *text, int code) const {
    throw std::filesystem::filesystem_error(text, path_, std::error_code(code, std::generic_category()));
  }

  std::filesystem::path path_;
  int raw_;
};

/// The first bytes of CURRENT; none if it does not exist.
inline std::string read_current(const std::filesystem::path &directory) {
  const std::filesystem::path current = directory / "CURRENT";
  return std::filesystem::exists(current) ? system_file(current, open_to_read).read() : std::string();
}

/// Refuses a directory whose CURRENT names something else: an empty store beside LevelDB's files
/// would look like a loss of all records. A CURRENT that a crash has cut short is no reason.
inline void refuse_others(const std::filesystem::path &directory) {
  const std::string current = read_current(directory);
  if (current.rfind("MANIFEST-", 0) == 0) {
    throw error(directory.string() + ": is a directory of LevelDB. Convert it: teak import leveldb:" + directory.string() +
                " " + teak_file("OTHER").string() + "; or remove it");
  }
  const bool is_cut_short = current_content.substr(0, current.size()) == current ||
                            current.find_first_not_of('\0') == std::string::npos;
  if (!is_cut_short) throw error(directory.string() + ": CURRENT names no database of Teak");
}

#if defined(_WIN32)
/// Gives a file the name CURRENT, durably. The system refuses that while somebody has the old file
/// open, which others have only while they read it.
inline void make_current(const std::filesystem::path &file, const std::filesystem::path &directory) {
  constexpr unsigned long replace_existing = 1, write_through = 8, access_denied = 5, sharing_violation = 32;
  constexpr int attempts_max = 100;
  const std::filesystem::path current = directory / "CURRENT";
  for (int attempt = 1; ::MoveFileExW(file.c_str(), current.c_str(), replace_existing | write_through) == 0; attempt++) {
    const unsigned long code = ::GetLastError();
    if ((code != access_denied && code != sharing_violation) || attempt == attempts_max)
      throw std::filesystem::filesystem_error("cannot rename", file, current,
                                              std::error_code(static_cast<int>(code), std::system_category()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}
#else
/// Gives a file the name CURRENT, durably.
inline void make_current(const std::filesystem::path &file, const std::filesystem::path &directory) {
  std::filesystem::rename(file, directory / "CURRENT");
  system_file(directory, O_RDONLY | O_DIRECTORY).sync();
}
#endif

/// Replaces CURRENT. Others may do so at the same time.
inline void write_current(const std::filesystem::path &directory) {
  // LevelDB's names of temporary files, which it removes if they are left.
  const std::filesystem::path temporary = directory / (std::to_string(std::random_device()()) + ".dbtmp");
  std::optional<system_file> file(std::in_place, temporary, open_to_create);
  try {
    file->write(current_content);
    file->sync();
    // Windows renames no open file.
    file.reset();
    make_current(temporary, directory);
  } catch (...) {
    file.reset();
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

} // namespace detail
} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_CURRENT_FILE_HPP
