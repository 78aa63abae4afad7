// Tables whose records expire. Part of teak.hpp.

#ifndef TEAK_EXPIRING_HPP
#define TEAK_EXPIRING_HPP

#include <chrono>
#include <teak/table.hpp>

namespace teak {
inline namespace TEAK_WAY {

/// When a record expires.
class expiry {
public:
  /// After the time to live of the table, if it has one; otherwise never.
  expiry() = default;
  /// A duration after the moment of the transaction.
  template <class Rep, class Period>
  expiry(std::chrono::duration<Rep, Period> after) noexcept : raw_{TEAK_EXPIRY_AFTER, 0, in_ms(after)} {}
  /// At a time.
  expiry(std::chrono::system_clock::time_point at) noexcept : raw_{TEAK_EXPIRY_AT, 0, in_ms(at.time_since_epoch())} {}
  /// Never.
  [[nodiscard]] static expiry never() noexcept {
    expiry never;
    never.raw_.kind = TEAK_EXPIRY_NEVER;
    return never;
  }
  /// The value for teak.h.
  [[nodiscard]] teak_expiry raw() const noexcept { return raw_; }

private:
  template <class Duration> static std::uint64_t in_ms(Duration duration) noexcept {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return ms < 0 ? 0 : static_cast<std::uint64_t>(ms);
  }
  teak_expiry raw_{};
};

/// The time to live and the limits of a table whose records expire.
class expiry_options {
public:
  /// How long records live that are inserted without an expiry of their own.
  expiry_options &ttl(std::chrono::milliseconds ttl) noexcept {
    raw_.ttl_ms = ttl.count() < 0 ? 0 : static_cast<std::uint64_t>(ttl.count());
    return *this;
  }
  /// The most records; the oldest ones above are removed. 0 for no limit.
  expiry_options &max_records(std::uint64_t records) noexcept {
    raw_.max_records = records;
    return *this;
  }
  /// The most bytes of keys and values; the oldest records above are removed. 0 for no limit.
  expiry_options &max_bytes(std::uint64_t bytes) noexcept {
    raw_.max_bytes = bytes;
    return *this;
  }
  /// The value for teak.h.
  [[nodiscard]] teak_expiry_options raw() const noexcept {
    teak_expiry_options raw = raw_;
    raw.size = sizeof raw;
    return raw;
  }

private:
  teak_expiry_options raw_{};
};

/// Counts and settings: see teak_expiry_stat.
using expiry_stat = teak_expiry_stat;

/// A value, and when its record expires.
struct expiring_value {
  /// The value.
  bytes_view value;
  /// When its record expires; nothing if it never does.
  std::optional<std::chrono::system_clock::time_point> expires;
};

/// A table whose records expire.
///
/// ```cpp
/// using namespace std::chrono_literals;
/// teak::write_txn txn = db.begin_write();
/// const auto sessions = teak::expiring_table::create(txn, "sessions", teak::expiry_options().ttl(1h));
/// sessions.insert(txn, "7f3a", "Ada");
/// sessions.insert(txn, "c041", "Grace", std::chrono::system_clock::time_point());
/// assert(sessions.get(txn, "7f3a")->value == "Ada");
/// assert(!sessions.get(txn, "c041"));
/// ```
class expiring_table {
public:
  /// An empty handle.
  expiring_table() = default;
  /// Opens a table. Returns nothing if no table has that name. Errors: table_mismatch if its
  /// records do not expire.
  static answer<std::optional<expiring_table>> open(const transaction &txn, bytes_view name) {
    detail::place place;
    teak_expiring_table opened{};
    const teak_code code = teak_expiring_open(txn.raw(), name.raw(), &opened, place);
    return detail::found<expiring_table>(code, place, [&] { return expiring_table(opened); });
  }
  /// Opens a table, or creates it. The options of a table that exists do not change.
  static answer<expiring_table> create(write_txn &txn, bytes_view name, const expiry_options &options = expiry_options()) {
    detail::place place;
    teak_expiring_table made{};
    const teak_expiry_options set = options.raw();
    const teak_code code = teak_expiring_create(txn.raw(), name.raw(), &set, &made, place);
    return detail::given<expiring_table>(code, place, [&] { return expiring_table(made); });
  }
  /// The value of a key; nothing if there is no such record, or if it has expired.
  answer<std::optional<expiring_value>> get(const transaction &txn, bytes_view key) const {
    detail::place place;
    teak_slice value{};
    std::uint64_t expires = 0;
    const teak_code code = teak_expiring_get(txn.raw(), raw_, key.raw(), &value, &expires, place);
    return detail::found<expiring_value>(code, place, [&] {
      expiring_value found{bytes_view(value), {}};
      if (expires != TEAK_NEVER_EXPIRES) found.expires.emplace(at(expires));
      return found;
    });
  }
  /// Inserts a record, or replaces it.
  answer<void> insert(write_txn &txn, bytes_view key, bytes_view value, teak::expiry expires = {}) const {
    detail::place place;
    return detail::done(teak_expiring_insert(txn.raw(), raw_, key.raw(), value.raw(), expires.raw(), place), place);
  }
  /// Inserts a record. Returns false if there is one with this key that has not expired.
  answer<bool> insert_new(write_txn &txn, bytes_view key, bytes_view value, teak::expiry expires = {}) const {
    detail::place place;
    return detail::whether(teak_expiring_insert_new(txn.raw(), raw_, key.raw(), value.raw(), expires.raw(), place), place);
  }
  /// Changes when a record expires. Returns false if there is none that has not expired.
  answer<bool> set_expiry(write_txn &txn, bytes_view key, teak::expiry expires) const {
    detail::place place;
    return detail::whether(teak_expiring_set_expiry(txn.raw(), raw_, key.raw(), expires.raw(), place), place);
  }
  /// Removes a record. Returns false if there is none that has not expired.
  answer<bool> remove(write_txn &txn, bytes_view key) const {
    detail::place place;
    return detail::whether(teak_expiring_remove(txn.raw(), raw_, key.raw(), place), place);
  }
  /// Removes up to `limit` expired records. Returns how many.
  answer<std::uint64_t> remove_expired(write_txn &txn, std::uint64_t limit = UINT64_MAX) const {
    detail::place place;
    std::uint64_t removed = 0;
    const teak_code code = teak_expiring_remove_expired(txn.raw(), raw_, limit, &removed, place);
    return detail::given<std::uint64_t>(code, place, [&] { return removed; });
  }
  /// Removes all records.
  answer<void> clear(write_txn &txn) const {
    detail::place place;
    return detail::done(teak_expiring_clear(txn.raw(), raw_, place), place);
  }
  /// Changes the time to live of records that are inserted from now on, and the limits.
  answer<void> set_options(write_txn &txn, const expiry_options &options) const {
    detail::place place;
    const teak_expiry_options set = options.raw();
    return detail::done(teak_expiring_set_options(txn.raw(), raw_, &set, place), place);
  }
  /// Counts and settings.
  answer<expiry_stat> stat(const transaction &txn) const {
    detail::place place;
    expiry_stat stat = {};
    stat.size = sizeof stat;
    const teak_code code = teak_expiring_stat(txn.raw(), raw_, &stat, place);
    return detail::given<expiry_stat>(code, place, [&] { return stat; });
  }
  /// Calls a function for each record that has not expired, in key order: `void` or `step
  /// (bytes_view key, bytes_view value)`. Returns whether it was called for all.
  template <class Function> answer<bool> each(const transaction &txn, Function &&function) const {
    detail::called<std::remove_reference_t<Function>> called(function);
    auto each = [](void *user, teak_slice key, teak_slice value) noexcept -> int {
      return (*static_cast<decltype(called) *>(user))(bytes_view(key), bytes_view(value));
    };
    detail::place place;
    const teak_code code = teak_expiring_each(txn.raw(), raw_, teak_bound{}, teak_bound{}, each, &called, place);
    called.throw_again();
    if (detail::failed(code)) return detail::refused<bool>(place.told);
    return code == TEAK_NONE;
  }
  /// The number for teak.h.
  [[nodiscard]] teak_expiring_table raw() const noexcept { return raw_; }

private:
  explicit expiring_table(teak_expiring_table raw) noexcept : raw_(raw) {}
  static std::chrono::system_clock::time_point at(std::uint64_t ms) {
    using clock = std::chrono::system_clock;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(std::chrono::milliseconds(ms)));
  }
  teak_expiring_table raw_{};
};

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_EXPIRING_HPP
