// The file CURRENT of a directory of Teak. Part of dbwrapper.hpp.
//
// It names the file with the records, and makes LevelDB refuse the directory.

#ifndef TEAK_DBWRAPPER_CURRENT_FILE_HPP
#define TEAK_DBWRAPPER_CURRENT_FILE_HPP

#include <teak/dbwrapper/batch.hpp>

#include <cerrno>
#include <fcntl.h>
#include <random>
#include <unistd.h>

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {
namespace detail {

constexpr std::string_view current_content = "TEAK data.teak\n";

/// An open file or directory. Functions throw std::filesystem::filesystem_error.
class system_file {
public:
  system_file(std::filesystem::path path, int flags)
      : path_(std::move(path)), raw_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
    if (raw_ < 0) fail("cannot open", errno);
  }
  system_file(const system_file &) = delete;
  system_file &operator=(const system_file &) = delete;
  ~system_file() { ::close(raw_); }

  /// Reads some bytes from the beginning.
  [[nodiscard]] std::string read() const {
    char bytes[1024];
    const ssize_t size = ::pread(raw_, bytes, sizeof bytes, 0);
    if (size < 0) fail("cannot read", errno);
    return {bytes, static_cast<std::size_t>(size)};
  }
  /// Writes the content of a new file.
  void write(std::string_view content) {
    const ssize_t size = ::write(raw_, content.data(), content.size());
    if (size != static_cast<ssize_t>(content.size())) fail("cannot write", size < 0 ? errno : ENOSPC);
  }
  /// Makes the content durable.
  void sync() {
    if (::fsync(raw_) != 0) fail("cannot sync", errno);
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
  return std::filesystem::exists(current) ? system_file(current, O_RDONLY).read() : std::string();
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

/// Replaces CURRENT. Others may do so at the same time.
inline void write_current(const std::filesystem::path &directory) {
  // LevelDB's names of temporary files, which it removes if they are left.
  const std::filesystem::path temporary = directory / (std::to_string(std::random_device()()) + ".dbtmp");
  system_file file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  try {
    file.write(current_content);
    file.sync();
    std::filesystem::rename(temporary, directory / "CURRENT");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  system_file(directory, O_RDONLY | O_DIRECTORY).sync();
}

} // namespace detail
} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_CURRENT_FILE_HPP
