// The results of functions: a value or an exception, or, if TEAK_RESULTS is defined, a result. Part
// of teak.hpp.

#ifndef TEAK_ERROR_HPP
#define TEAK_ERROR_HPP

#include <teak.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

// Both kinds have their own namespace, so a program may have parts of both.
#if defined(TEAK_RESULTS)
#define TEAK_WAY results
#elif defined(__cpp_exceptions)
#define TEAK_WAY exceptions
#else
#error "teak.hpp: exceptions are off; define TEAK_RESULTS, and functions answer with a teak::result"
#endif

namespace teak {
inline namespace TEAK_WAY {

/// An error. Copying it allocates no memory.
///
/// ```cpp
/// try {
///   teak::database::open("/nowhere/x.teak", teak::options().create(teak::create::never));
/// } catch (const teak::file_not_found &error) {
///   assert(error.code() == TEAK_FILE_NOT_FOUND && error.what()[0] != 0);
/// }
/// ```
class error : public std::exception {
public:
  /// The error that a function of teak.h reported.
  explicit error(const teak_error &told) : told_(std::make_shared<const teak_error>(told)) {}

  /// The teak_code.
  [[nodiscard]] teak_code code() const noexcept { return static_cast<teak_code>(told_->code); }
  /// A description and advice, in UTF-8.
  [[nodiscard]] const char *what() const noexcept override { return told_->message; }
  /// The details: see teak_error.
  [[nodiscard]] const teak_error &details() const noexcept { return *told_; }
  /// Whether it is an error of this type: `error.is<teak::full>()`.
  template <class Kind> [[nodiscard]] bool is() const noexcept { return code() == Kind::number; }

private:
  std::shared_ptr<const teak_error> told_;
};

/// The type of errors of one code.
template <teak_code Code> class error_of : public error {
public:
  /// The code.
  static constexpr teak_code number = Code;
  using error::error;
};

// Every code of an error, and the name of its type.
#define TEAK_EACH_ERROR(each) \
  each(invalid_handle, TEAK_INVALID_HANDLE) \
  each(busy, TEAK_BUSY) \
  each(wrong_database, TEAK_WRONG_DATABASE) \
  each(wrong_transaction, TEAK_WRONG_TRANSACTION) \
  each(invalid_argument, TEAK_INVALID_ARGUMENT) \
  each(too_new, TEAK_TOO_NEW) \
  each(panic, TEAK_PANIC) \
  each(other_error, TEAK_OTHER) \
  each(io_error, TEAK_IO) \
  each(file_not_found, TEAK_FILE_NOT_FOUND) \
  each(file_exists, TEAK_FILE_EXISTS) \
  each(not_a_database, TEAK_NOT_A_DATABASE) \
  each(unknown_format, TEAK_UNKNOWN_FORMAT) \
  each(in_use, TEAK_IN_USE) \
  each(corrupted, TEAK_CORRUPTED) \
  each(poisoned, TEAK_POISONED) \
  each(network_file_system, TEAK_NETWORK_FILE_SYSTEM) \
  each(options_differ, TEAK_OPTIONS_DIFFER) \
  each(forked, TEAK_FORKED) \
  each(snapshot_lost, TEAK_SNAPSHOT_LOST) \
  each(snapshot_stale, TEAK_SNAPSHOT_STALE) \
  each(snapshot_not_found, TEAK_SNAPSHOT_NOT_FOUND) \
  each(snapshot_exists, TEAK_SNAPSHOT_EXISTS) \
  each(held_by_reader, TEAK_HELD_BY_READER) \
  each(too_many_readers, TEAK_TOO_MANY_READERS) \
  each(full, TEAK_FULL) \
  each(key_too_long, TEAK_KEY_TOO_LONG) \
  each(value_too_long, TEAK_VALUE_TOO_LONG) \
  each(sequence_exhausted, TEAK_SEQUENCE_EXHAUSTED) \
  each(table_not_found, TEAK_TABLE_NOT_FOUND) \
  each(table_exists, TEAK_TABLE_EXISTS) \
  each(table_mismatch, TEAK_TABLE_MISMATCH) \
  each(comparison_missing, TEAK_COMPARISON_MISSING) \
  each(comparison_mismatch, TEAK_COMPARISON_MISMATCH) \
  each(decode, TEAK_DECODE) \
  each(not_sorted, TEAK_NOT_SORTED) \
  each(read_only, TEAK_READ_ONLY) \
  each(transaction_broken, TEAK_TRANSACTION_BROKEN) \
  each(cancelled, TEAK_CANCELLED) \
  each(wrong_key, TEAK_WRONG_KEY) \
  each(key_unavailable, TEAK_KEY_UNAVAILABLE) \
  each(key_needed, TEAK_KEY_NEEDED) \
  each(not_encrypted, TEAK_NOT_ENCRYPTED) \
  each(transaction_prepared, TEAK_TRANSACTION_PREPARED) \
  each(prepared_not_found, TEAK_PREPARED_NOT_FOUND)

#define TEAK_NAMED(name, code)                                                                                         \
  /** The error of code. */                                                                                            \
  using name = error_of<code>;
TEAK_EACH_ERROR(TEAK_NAMED)
#undef TEAK_NAMED

/// The result of a function if TEAK_RESULTS is defined: a value or an error. It does not convert to
/// bool, which would be ambiguous for a `result<bool>`. Call ok().
///
/// Taking the value of an error, or the error of a value, aborts the program.
template <class T> class [[nodiscard]] result {
public:
  /// With a value.
  result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  /// With an error.
  result(teak::error error) : held_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  [[nodiscard]] bool ok() const noexcept { return held_.index() == 0; }
  /// The value.
  [[nodiscard]] T &operator*() & { return held(); }
  /// The value.
  [[nodiscard]] const T &operator*() const & { return const_cast<result *>(this)->held(); }
  /// The value.
  [[nodiscard]] T &&operator*() && { return std::move(held()); }
  /// Access to a member of the value.
  [[nodiscard]] T *operator->() { return &held(); }
  /// Access to a member of the value.
  [[nodiscard]] const T *operator->() const { return &const_cast<result *>(this)->held(); }
  /// The error.
  [[nodiscard]] const teak::error &error() const {
    const teak::error *error = std::get_if<1>(&held_);
    return error ? *error : (refuse("the error of a value was asked for"), *error);
  }

private:
  [[noreturn]] static void refuse(const char *why) {
    std::fprintf(stderr, "teak::result: %s; ask ok() before\n", why);
    std::abort();
  }
  T &held() {
    T *value = std::get_if<0>(&held_);
    return value ? *value : (refuse(error().what()), *value);
  }
  std::variant<T, teak::error> held_;
};

/// The result of a function that returns no value.
template <> class [[nodiscard]] result<void> {
public:
  /// Success.
  result() = default;
  /// An error.
  result(teak::error error) : error_(std::move(error)) {}
  /// Whether the function succeeded.
  [[nodiscard]] bool ok() const noexcept { return !error_; }
  /// The error.
  [[nodiscard]] const teak::error &error() const {
    if (error_) return *error_;
    std::fputs("teak::result: the error of what was done was asked for; ask ok() before\n", stderr);
    std::abort();
  }

private:
  std::optional<teak::error> error_;
};

#if defined(TEAK_RESULTS)
/// The result type of functions: here a result.
template <class T> using answer = result<T>;
#else
/// The result type of functions: here the value itself; errors are thrown.
template <class T> using answer = T;
#endif

namespace detail {

/// The memory in which a function of teak.h stores an error.
struct place {
  teak_error told;
  place() noexcept { told.size = sizeof told; }
  operator teak_error *() noexcept { return &told; }
};

inline bool failed(teak_code code) noexcept { return code != TEAK_OK && code != TEAK_NONE; }

inline teak_error told(teak_code code, const char *message) noexcept {
  teak_error error = {};
  error.size = sizeof error;
  error.code = code;
  error.page = UINT64_MAX;
  std::snprintf(error.message, sizeof error.message, "%s", message);
  return error;
}

#if !defined(TEAK_RESULTS)
[[noreturn]] inline void raise(const teak_error &told) {
  switch (told.code) {
#define TEAK_THROWN(name, code)                                                                                        \
  case code: throw name(told);
    TEAK_EACH_ERROR(TEAK_THROWN)
#undef TEAK_THROWN
  default: throw error(told);
  }
}
#endif

/// The result of a function that failed.
template <class T> answer<T> refused(const teak_error &told) {
#if defined(TEAK_RESULTS)
  return error(told);
#else
  raise(told);
#endif
}

/// The result of a function that returns no value.
inline answer<void> done(teak_code code, const place &place) {
  if (failed(code)) return refused<void>(place.told);
  return answer<void>();
}

/// The result of a function that returns yes or no.
inline answer<bool> whether(teak_code code, const place &place) {
  if (failed(code)) return refused<bool>(place.told);
  return code == TEAK_OK;
}

/// The result of a function that returns the value of `make`.
template <class T, class Make> answer<T> given(teak_code code, const place &place, Make &&make) {
  if (failed(code)) return refused<T>(place.told);
  return answer<T>(make());
}

/// The result of a function that may find nothing.
template <class T, class Make> answer<std::optional<T>> found(teak_code code, const place &place, Make &&make) {
  if (failed(code)) return refused<std::optional<T>>(place.told);
  return code == TEAK_OK ? std::optional<T>(make()) : std::optional<T>();
}

/// A handle that ends with its scope, unless it was moved.
template <class Raw, teak_code (*End)(Raw, teak_error *)> class owned {
public:
  owned() = default;
  explicit owned(Raw raw) noexcept : raw_(raw) {}
  owned(owned &&other) noexcept : raw_(other.release()) {}
  owned &operator=(owned &&other) noexcept {
    if (this != &other) {
      end();
      raw_ = other.release();
    }
    return *this;
  }
  ~owned() { end(); }
  [[nodiscard]] Raw get() const noexcept { return raw_; }
  Raw release() noexcept { return std::exchange(raw_, Raw{}); }
  void end() noexcept {
    if (raw_.handle != 0) static_cast<void>(End(release(), nullptr));
  }

private:
  Raw raw_{};
};

} // namespace detail
} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_ERROR_HPP
