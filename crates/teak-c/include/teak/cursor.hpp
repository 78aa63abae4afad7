// Cursors. Part of teak.hpp.

#ifndef TEAK_CURSOR_HPP
#define TEAK_CURSOR_HPP

#include <teak/walk.hpp>

namespace teak {
inline namespace TEAK_WAY {

/// A movement of a cursor: see teak_move.
enum class move : std::uint32_t {
  first = TEAK_FIRST,
  last = TEAK_LAST,
  next = TEAK_NEXT,
  previous = TEAK_PREV,
  current = TEAK_CURRENT,
  next_key = TEAK_NEXT_KEY,
  previous_key = TEAK_PREV_KEY,
  next_value = TEAK_NEXT_VALUE,
  previous_value = TEAK_PREV_VALUE,
  first_value = TEAK_FIRST_VALUE,
  last_value = TEAK_LAST_VALUE
};
/// The record that a search looks for: see teak_seek.
enum class seek : std::uint32_t {
  at_least = TEAK_AT_LEAST,
  exact = TEAK_EXACT,
  greater = TEAK_GREATER,
  less = TEAK_LESS,
  at_most = TEAK_AT_MOST
};
/// The records that a cursor removes: see teak_delete_scope.
enum class delete_scope : std::uint32_t {
  current = TEAK_DELETE_CURRENT,
  before = TEAK_DELETE_BEFORE,
  up_to_current = TEAK_DELETE_UP_TO_CURRENT,
  from_current = TEAK_DELETE_FROM_CURRENT,
  after = TEAK_DELETE_AFTER,
  all = TEAK_DELETE_ALL,
  values_before = TEAK_DELETE_VALUES_BEFORE,
  values_up_to_current = TEAK_DELETE_VALUES_UP_TO_CURRENT,
  values_from_current = TEAK_DELETE_VALUES_FROM_CURRENT,
  values_after = TEAK_DELETE_VALUES_AFTER,
  all_values = TEAK_DELETE_ALL_VALUES
};

/// A position among the records of a table. A cursor belongs to no transaction: each call names the
/// transaction to use, and the table may change between calls. Keys are valid until the next use of
/// the cursor, values as described for the transaction.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::table trees = txn.create_table("trees");
/// trees.insert_many(txn, {{"ash", "1"}, {"elm", "2"}, {"oak", "3"}});
/// teak::cursor cursor = trees.open_cursor(txn);
/// std::optional<teak::record> elm = cursor.seek(txn, teak::seek::at_least, "b");
/// assert(elm && elm->key == "elm");
/// cursor.remove(txn, teak::delete_scope::current);
/// assert(cursor.move(txn, teak::move::next)->key == "oak");
/// assert(!cursor.move(txn, teak::move::next));
/// ```
class cursor {
public:
  /// An empty handle.
  cursor() = default;
  /// Another cursor at the same position.
  answer<cursor> clone() const { return cloned<cursor>(); }
  /// Clears the position.
  answer<void> reset() {
    detail::place place;
    return detail::done(teak_cursor_reset(raw(), place), place);
  }
  /// Moves the cursor, and returns the record there.
  answer<std::optional<record>> move(const transaction &txn, teak::move to) {
    return got([&](teak_record *record, teak_error *error) {
      return teak_cursor_move(raw(), txn.raw(), static_cast<std::uint32_t>(to), record, error);
    });
  }
  answer<std::optional<record>> move(const transaction &&, teak::move) = delete;
  /// Seeks a key, and returns the record that the cursor is on afterwards.
  answer<std::optional<record>> seek(const transaction &txn, teak::seek which, bytes_view key) {
    return got([&](teak_record *record, teak_error *error) {
      return teak_cursor_seek(raw(), txn.raw(), static_cast<std::uint32_t>(which), key.raw(), record, error);
    });
  }
  answer<std::optional<record>> seek(const transaction &&, teak::seek, bytes_view) = delete;
  /// Moves to a record by its number, counted from 0. Only for counted tables.
  answer<std::optional<record>> nth(const transaction &txn, std::uint64_t number) {
    return got([&](teak_record *record, teak_error *error) { return teak_cursor_nth(raw(), txn.raw(), number, record, error); });
  }
  answer<std::optional<record>> nth(const transaction &&, std::uint64_t) = delete;
  /// The current record. Nothing if it has been removed from the table.
  answer<std::optional<record>> current(const transaction &txn) {
    return got([&](teak_record *record, teak_error *error) { return teak_cursor_record(raw(), txn.raw(), record, error); });
  }
  answer<std::optional<record>> current(const transaction &&) = delete;
  /// Inserts a record, or a pair, and moves to it.
  answer<void> insert(write_txn &txn, bytes_view key, bytes_view value) {
    detail::place place;
    return detail::done(teak_cursor_insert(raw(), txn.raw(), key.raw(), value.raw(), place), place);
  }
  /// Inserts a record if its key is new, and moves to it. If the key exists, returns false and
  /// moves to its record.
  answer<bool> insert_new(write_txn &txn, bytes_view key, bytes_view value) {
    detail::place place;
    return detail::whether(teak_cursor_insert_new(raw(), txn.raw(), key.raw(), value.raw(), place), place);
  }
  /// Replaces the value of the current record. Returns false if there is none.
  answer<bool> update(write_txn &txn, bytes_view value) {
    detail::place place;
    return detail::whether(teak_cursor_update(raw(), txn.raw(), value.raw(), place), place);
  }
  /// Removes records, and returns their number. The position stays: move::next continues after it.
  answer<std::uint64_t> remove(write_txn &txn, delete_scope scope) {
    detail::place place;
    std::uint64_t removed = 0;
    const teak_code code = teak_cursor_remove(raw(), txn.raw(), static_cast<std::uint32_t>(scope), &removed, place);
    return detail::given<std::uint64_t>(code, place, [&] { return code == TEAK_OK ? removed : 0; });
  }
  /// Compares the positions of two cursors: -1, 0 or 1. Nothing if they are over different tables,
  /// or if one has no position.
  answer<std::optional<int>> compare(const cursor &other, const transaction &txn) const {
    detail::place place;
    std::int32_t order = 0;
    const teak_code code = teak_cursor_compare(raw(), other.raw(), txn.raw(), &order, place);
    return detail::found<int>(code, place, [&] { return order; });
  }
  /// The handle for teak.h.
  [[nodiscard]] teak_cursor raw() const noexcept { return cursor_.get(); }

  /// @cond
protected:
  friend class table;
  explicit cursor(teak_cursor raw) noexcept : cursor_(raw) {}

  template <class Cursor> answer<Cursor> cloned() const {
    detail::place place;
    teak_cursor clone{};
    const teak_code code = teak_cursor_clone(raw(), &clone, place);
    return detail::given<Cursor>(code, place, [&] { return Cursor(clone); });
  }
  template <class Get> answer<std::optional<record>> got(Get &&get) {
    detail::place place;
    teak_record raw{};
    const teak_code code = get(&raw, place);
    return detail::found<record>(code, place, [&] { return detail::cooked(raw); });
  }
  /// @endcond

private:
  detail::owned<teak_cursor, teak_cursor_close> cursor_;
};

/// A cursor over a table in which keys have several values: each pair of key and value is a record.
/// Values are valid as long as keys.
class multi_cursor : public cursor {
public:
  /// An empty handle.
  multi_cursor() = default;
  /// Another cursor at the same position.
  answer<multi_cursor> clone() const { return cloned<multi_cursor>(); }
  /// Seeks a pair.
  answer<std::optional<record>> seek_pair(const transaction &txn, teak::seek which, bytes_view key, bytes_view value) {
    return got([&](teak_record *record, teak_error *error) {
      return teak_cursor_seek_pair(raw(), txn.raw(), static_cast<std::uint32_t>(which), key.raw(), value.raw(), record, error);
    });
  }
  answer<std::optional<record>> seek_pair(const transaction &&, teak::seek, bytes_view, bytes_view) = delete;
  /// Seeks among the values of one key. If no value is found, the cursor does not move.
  answer<std::optional<record>> seek_value(const transaction &txn, teak::seek which, bytes_view key, bytes_view value) {
    return got([&](teak_record *record, teak_error *error) {
      return teak_cursor_seek_value(raw(), txn.raw(), static_cast<std::uint32_t>(which), key.raw(), value.raw(), record, error);
    });
  }
  answer<std::optional<record>> seek_value(const transaction &&, teak::seek, bytes_view, bytes_view) = delete;
  /// The number of values of the current key.
  answer<std::uint64_t> count_values(const transaction &txn) const {
    detail::place place;
    std::uint64_t count = 0;
    const teak_code code = teak_cursor_count_values(raw(), txn.raw(), &count, place);
    return detail::given<std::uint64_t>(code, place, [&] { return count; });
  }

private:
  friend class cursor;
  friend class multi_table;
  using cursor::cursor;
};

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_CURSOR_HPP
