// Keys of encrypted databases. Part of teak.hpp.

#ifndef TEAK_ENCRYPTION_HPP
#define TEAK_ENCRYPTION_HPP

#include <teak/bytes.hpp>

#include <memory>
#include <string>
#include <utility>

namespace teak {
inline namespace TEAK_WAY {

/// The cipher of an encrypted database: see teak_cipher.
enum class cipher : std::uint32_t {
  none = TEAK_CIPHER_NONE,
  aes_256_gcm = TEAK_CIPHER_AES_256_GCM,
  xchacha20_poly1305 = TEAK_CIPHER_XCHACHA20_POLY1305
};

class encryption;

namespace detail {
teak_encryption raw(const encryption &encryption) noexcept;
} // namespace detail

/// The key of an encrypted database, and how a new one is encrypted: see teak_encryption. No secret
/// is copied: a key or passphrase that is given must live until the database was opened.
///
/// ```cpp
/// const std::string key_file = path + ".key";
/// teak::create_key(key_file);
/// const auto encryption = teak::encryption::key_file(key_file).cipher(teak::cipher::xchacha20_poly1305);
/// const teak::database secret = teak::database::open(path, teak::options().encryption(encryption));
/// assert(teak::cipher{static_cast<std::uint32_t>(secret.stat().cipher)} == teak::cipher::xchacha20_poly1305);
/// ```
class encryption {
public:
  /// A key of TEAK_KEY_LEN bytes. They must be random, or come from a function that derives keys.
  [[nodiscard]] static encryption key(bytes_view key) noexcept {
    encryption made;
    made.raw_.key = key.raw();
    return made;
  }
  /// The key in a file.
  [[nodiscard]] static encryption key_file(std::string path) { return of_name(source::key_file, std::move(path)); }
  /// The key in an environment variable: 64 hexadecimal digits.
  [[nodiscard]] static encryption key_env(std::string name) { return of_name(source::key_env, std::move(name)); }
  /// A passphrase. Opening takes about a second then, and 64 MiB of memory.
  [[nodiscard]] static encryption passphrase(bytes_view passphrase) noexcept {
    encryption made;
    made.raw_.passphrase = passphrase.raw();
    return made;
  }
  /// The passphrase in a file.
  [[nodiscard]] static encryption passphrase_file(std::string path) { return of_name(source::passphrase_file, std::move(path)); }
  /// The key that a function object writes: `bool (bytes_view database_id, unsigned char *key)
  /// noexcept`, with room for TEAK_KEY_LEN bytes. It returns whether there is a key. It must live as
  /// long as the process has the database open. It must not use this library.
  template <class Handler> [[nodiscard]] static encryption on_key(Handler &handler) noexcept {
    static_assert(std::is_nothrow_invocable_r_v<bool, Handler &, bytes_view, unsigned char *>,
                  "a function for keys is called with (teak::bytes_view, unsigned char *), answers with a bool and is noexcept");
    static_assert(!std::is_const_v<Handler> && !std::is_function_v<Handler>, "a handler is an object that is not const");
    encryption made;
    made.raw_.on_key = [](void *user, teak_slice database_id, void *key) noexcept {
      const bool is_there = (*static_cast<Handler *>(user))(bytes_view(database_id), static_cast<unsigned char *>(key));
      return is_there ? 0 : 1;
    };
    made.raw_.key_user = static_cast<void *>(std::addressof(handler));
    return made;
  }
  /// A handler must outlive the call: pass one that has a name.
  template <class Handler> static encryption on_key(const Handler &&) = delete;

  /// The cipher of a new database. An existing database keeps its cipher.
  encryption &cipher(teak::cipher cipher) noexcept {
    raw_.cipher = static_cast<std::uint32_t>(cipher);
    return *this;
  }

private:
  friend teak_encryption detail::raw(const encryption &encryption) noexcept;

  enum class source { other, key_file, key_env, passphrase_file };

  encryption() noexcept { raw_.size = sizeof raw_; }
  static encryption of_name(source source, std::string name) {
    encryption made;
    made.source_ = source;
    made.name_ = std::move(name);
    return made;
  }

  teak_encryption raw_ = {};
  source source_ = source::other;
  std::string name_;
};

namespace detail {

/// In the form of C. It lives as long as its argument.
inline teak_encryption raw(const encryption &encryption) noexcept {
  using source = teak::encryption::source;
  teak_encryption raw = encryption.raw_;
  const char *name = encryption.name_.c_str();
  if (encryption.source_ == source::key_file) raw.key_file = name;
  if (encryption.source_ == source::key_env) raw.key_env = name;
  if (encryption.source_ == source::passphrase_file) raw.passphrase_file = name;
  return raw;
}

} // namespace detail

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_ENCRYPTION_HPP
