// Tables. Part of teak.hpp.

#ifndef TEAK_TABLE_HPP
#define TEAK_TABLE_HPP

#include <teak/cursor.hpp>

namespace teak {
inline namespace TEAK_WAY {

/// Counts of a table: see teak_table_stat.
using table_stat = teak_table_stat;

/// An estimate of the number of records in a range, with bounds.
struct estimate {
  /// The estimate.
  std::uint64_t records;
  /// The minimum.
  std::uint64_t at_least;
  /// The maximum.
  std::uint64_t at_most;
};

/// A record that differs between two states. A value that one of them does not have is empty.
struct difference {
  /// The kind of the change.
  teak::change change;
  /// Its key.
  bytes_view key;
  /// Its value in the older state.
  bytes_view old_value;
  /// Its value in the newer state.
  bytes_view new_value;
};

/// Options for loading records in any order.
struct bulk_options {
  /// Bytes of records to sort in memory. Further records go to temporary files. 0 for 256 MiB.
  std::uint64_t memory_bytes = 0;
  /// The directory of the temporary files; empty for that of the database.
  std::string directory;
  /// Receives the number of records: with a total of 0 while they are read and sorted, then how
  /// many of the total are built into pages. It throws nothing.
  watch progress = {};
};

namespace detail {

/// The records of a sequence, one after the other.
template <class Records> class given_records : public catching {
public:
  explicit given_records(const Records &records) : at_(std::begin(records)), end_(std::end(records)) {}
  static std::int32_t next(void *user, teak_slice *key, teak_slice *value) noexcept {
    given_records &self = *static_cast<given_records *>(user);
    return self.caught(TEAK_GIVE_UP, [&] { return self.give(*key, *value); });
  }

private:
  using iterator = decltype(std::begin(std::declval<const Records &>()));
  using sentinel = decltype(std::end(std::declval<const Records &>()));
  using element = decltype(*std::declval<iterator &>());

  std::int32_t give(teak_slice &key, teak_slice &value) {
    if (is_begun_) ++at_;
    is_begun_ = true;
    if (at_ == end_) return TEAK_GIVEN_ALL;
    // A record of the iterator stays valid until the next one is taken.
    held_.emplace(*at_);
    const auto &[of_key, of_value] = held_->record;
    key = bytes_view(of_key).raw();
    value = bytes_view(of_value).raw();
    return TEAK_GIVEN_RECORD;
  }
  struct held {
    explicit held(element &&given) : record(std::forward<element>(given)) {}
    element record;
  };

  iterator at_;
  sentinel end_;
  bool is_begun_ = false;
  std::optional<held> held_;
};

} // namespace detail

/// The common part of both kinds of tables. A table is a number that can be copied, and is valid in
/// all transactions while the database is open.
class any_table {
public:
  /// Removes all records.
  answer<void> clear(write_txn &txn) const {
    detail::place place;
    return detail::done(teak_table_clear(txn.raw(), raw_, place), place);
  }
  /// Inserts many records in any order, faster than one by one. Returns the number of new keys, or
  /// pairs.
  answer<std::uint64_t> insert_many(write_txn &txn, list<record> records) const {
    return number([&](std::uint64_t *inserted, teak_error *error) {
      return teak_insert_many(txn.raw(), raw_, detail::raw(records), records.size(), inserted, error);
    });
  }
  /// Like above, with elements in braces.
  answer<std::uint64_t> insert_many(write_txn &txn, std::initializer_list<record> records) const {
    return insert_many(txn, list<record>(records));
  }
  /// Loads records (of any sequence whose elements are a key and a value, like a `std::map`) that
  /// are sorted in the order of the table: pages are built from the leaves up, each written once
  /// and full. A table that is not empty takes only records after its last one. Returns their
  /// number. After an error, or if the sequence throws, nothing is changed. Errors: not_sorted.
  ///
  /// ```cpp
  /// const std::vector<std::pair<std::string, std::string>> trees = {{"ash", "1"}, {"elm", "2"}};
  /// teak::write_txn txn = db.begin_write();
  /// assert(txn.create_table("trees").bulk_load(txn, trees) == 2);
  /// txn.commit();
  /// ```
  template <class Records> answer<std::uint64_t> bulk_load(write_txn &txn, const Records &records) const {
    detail::given_records<Records> given(records);
    return loaded(given, [&](std::uint64_t *count, teak_error *error) {
      return teak_bulk_load(txn.raw(), raw_, detail::given_records<Records>::next, &given, count, error);
    });
  }
  /// Loads records in any order: they are sorted first, in memory and in temporary files. Of
  /// records with equal keys the last one counts. Returns the resulting number of records.
  template <class Records>
  answer<std::uint64_t> bulk_load_unsorted(write_txn &txn, const Records &records, const bulk_options &options = bulk_options()) const {
    detail::given_records<Records> given(records);
    teak_bulk_options raw = {};
    raw.size = sizeof raw;
    raw.memory_bytes = options.memory_bytes;
    raw.directory = options.directory.empty() ? nullptr : options.directory.c_str();
    watch progress = options.progress;
    if (progress) {
      raw.progress_user = &progress;
      raw.progress = detail::watched;
    }
    return loaded(given, [&](std::uint64_t *count, teak_error *error) {
      return teak_bulk_load_unsorted(txn.raw(), raw_, detail::given_records<Records>::next, &given, &raw, count, error);
    });
  }
  /// Removes all records of a range, and returns their number.
  answer<std::uint64_t> remove_range(write_txn &txn, const range &range) const {
    return number([&](std::uint64_t *removed, teak_error *error) {
      return teak_remove_range(txn.raw(), raw_, range.bounds_[0].raw(), range.bounds_[1].raw(), removed, error);
    });
  }
  /// The number of records, or pairs, in a range.
  answer<std::uint64_t> count(const transaction &txn, const range &range) const {
    return number([&](std::uint64_t *count, teak_error *error) {
      return teak_count_range(txn.raw(), raw_, range.bounds_[0].raw(), range.bounds_[1].raw(), count, error);
    });
  }
  /// Estimates the number of records, or pairs, in a range. Reads two paths of the tree.
  answer<teak::estimate> estimate(const transaction &txn, const range &range) const {
    detail::place place;
    teak::estimate about{};
    const teak_code code = teak_estimate_range(txn.raw(), raw_, range.bounds_[0].raw(), range.bounds_[1].raw(), &about.records,
                                               &about.at_least, &about.at_most, place);
    return detail::given<teak::estimate>(code, place, [&] { return about; });
  }
  /// Splits a range into parts with about equal numbers of records, or pairs, for several threads
  /// to read. Returns the first key of each part except the first. A key with several values may
  /// begin several parts, and is returned once.
  answer<std::vector<std::string>> split(const transaction &txn, const range &range, std::size_t parts) const {
    std::vector<std::string> keys;
    auto add = [&](bytes_view key) {
      if (keys.empty() || key != keys.back()) keys.push_back(key.to_string());
    };
    detail::called<decltype(add)> called(add);
    auto each = [](void *user, teak_slice key, teak_slice) noexcept {
      return (*static_cast<decltype(called) *>(user))(bytes_view(key));
    };
    detail::place place;
    const teak_code code = teak_split_range(txn.raw(), raw_, range.bounds_[0].raw(), range.bounds_[1].raw(), parts, each, &called, place);
    called.throw_again();
    return detail::given<std::vector<std::string>>(code, place, [&] { return std::move(keys); });
  }
  /// Draws numbers from the table's sequence, and returns the first.
  answer<std::uint64_t> draw_sequence(write_txn &txn, std::uint64_t count) const {
    return number([&](std::uint64_t *first, teak_error *error) {
      return teak_table_draw_sequence(txn.raw(), raw_, count, first, error);
    });
  }
  /// Counts of the table.
  answer<table_stat> stat(const transaction &txn) const {
    detail::place place;
    table_stat stat = {};
    stat.size = sizeof stat;
    const teak_code code = teak_table_get_stat(txn.raw(), raw_, &stat, place);
    return detail::given<table_stat>(code, place, [&] { return stat; });
  }
  /// Compares two keys in the order of the table: below, equal to or above zero.
  answer<int> compare_keys(const transaction &txn, bytes_view a, bytes_view b) const {
    detail::place place;
    std::int32_t order = 0;
    const teak_code code = teak_compare_keys(txn.raw(), raw_, a.raw(), b.raw(), &order, place);
    return detail::given<int>(code, place, [&] { return order; });
  }
  /// Calls a function for each record in which two states differ, in the order of keys: `void` or
  /// `step (const difference &)`. Returns whether it was called for all. The time depends on the
  /// amount of change.
  template <class Function>
  answer<bool> each_difference(const read_txn &older, const read_txn &newer, Function &&function) const {
    detail::called<std::remove_reference_t<Function>> called(function);
    auto each = [](void *user, const teak_difference *raw) noexcept {
      const difference told{static_cast<change>(raw->change), bytes_view(raw->key), bytes_view(raw->old_value),
                            bytes_view(raw->new_value)};
      return (*static_cast<decltype(called) *>(user))(told);
    };
    detail::place place;
    const teak_code code = teak_differences(older.raw(), newer.raw(), raw_, each, &called, nullptr, place);
    called.throw_again();
    return detail::whether(code, place);
  }
  /// The handle for teak.h.
  [[nodiscard]] teak_table raw() const noexcept { return raw_; }

  /// @cond
protected:
  any_table() = default;
  explicit any_table(teak_table raw) noexcept : raw_(raw) {}

  template <class Call> static answer<std::uint64_t> number(Call &&call) {
    detail::place place;
    std::uint64_t number = 0;
    const teak_code code = call(&number, static_cast<teak_error *>(place));
    return detail::given<std::uint64_t>(code, place, [&] { return code == TEAK_OK ? number : 0; });
  }
  template <class Given, class Call> static answer<std::uint64_t> loaded(const Given &given, Call &&call) {
    detail::place place;
    std::uint64_t count = 0;
    const teak_code code = call(&count, static_cast<teak_error *>(place));
    given.throw_again();
    return detail::given<std::uint64_t>(code, place, [&] { return count; });
  }
  using between = teak_code (*)(teak_txn, teak_table, teak_table, teak_bound, teak_bound, std::uint64_t *, teak_error *);
  answer<std::uint64_t> to(between call, write_txn &txn, const range &range, const any_table &other) const {
    return number([&](std::uint64_t *count, teak_error *error) {
      return call(txn.raw(), raw_, other.raw_, range.bounds_[0].raw(), range.bounds_[1].raw(), count, error);
    });
  }
  [[nodiscard]] walk<record> walked(teak_txn txn, bool writes, const range &range, teak_direction direction) const {
    return walk<record>(txn, writes, raw_, range, direction);
  }

  teak_table raw_{};
  /// @endcond
};

/// A table in which keys have one value.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::table ages = txn.create_table("ages");
/// ages.insert(txn, "Ada", "36");
/// std::optional<teak::bytes_view> age = ages.get(txn, "Ada");
/// assert(age && *age == "36");
/// assert(!ages.get(txn, "Bob"));
/// ```
class table : public any_table {
public:
  /// An empty handle.
  table() = default;

  /// The value of a key.
  answer<std::optional<bytes_view>> get(const transaction &txn, bytes_view key) const {
    detail::place place;
    teak_slice value{};
    const teak_code code = teak_get(txn.raw(), raw_, key.raw(), &value, place);
    return detail::found<bytes_view>(code, place, [&] { return bytes_view(value); });
  }
  answer<std::optional<bytes_view>> get(const transaction &&, bytes_view) const = delete;
  /// The values of many keys, faster than one by one.
  answer<std::vector<std::optional<bytes_view>>> get_many(const transaction &txn, list<bytes_view> keys) const {
    detail::place place;
    std::vector<teak_slice> values(keys.size());
    const teak_code code =
        teak_get_many(txn.raw(), raw_, detail::raw(keys), keys.size(), values.data(), nullptr, place);
    using found_values = std::vector<std::optional<bytes_view>>;
    return detail::given<found_values>(code, place, [&] {
      found_values found;
      found.reserve(values.size());
      for (const teak_slice &value : values)
        found.push_back(value.data ? std::optional(bytes_view(value)) : std::nullopt);
      return found;
    });
  }
  answer<std::vector<std::optional<bytes_view>>> get_many(const transaction &&, list<bytes_view>) const = delete;
  /// Like above, with elements in braces.
  answer<std::vector<std::optional<bytes_view>>> get_many(const transaction &txn,
                                                          std::initializer_list<bytes_view> keys) const {
    return get_many(txn, list<bytes_view>(keys));
  }
  answer<std::vector<std::optional<bytes_view>>> get_many(const transaction &&,
                                                          std::initializer_list<bytes_view>) const = delete;
  /// Whether a key exists.
  answer<bool> contains(const transaction &txn, bytes_view key) const {
    detail::place place;
    return detail::whether(teak_contains(txn.raw(), raw_, key.raw(), place), place);
  }
  /// The number of records with smaller keys. Only for counted tables.
  answer<std::uint64_t> rank(const transaction &txn, bytes_view key) const {
    return number([&](std::uint64_t *rank, teak_error *error) { return teak_rank(txn.raw(), raw_, key.raw(), rank, error); });
  }
  /// The records of a range.
  [[nodiscard]] walk<record> records(const read_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), false, range, TEAK_FORWARD);
  }
  /// The records of a range.
  [[nodiscard]] walk<record> records(const write_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), true, range, TEAK_FORWARD);
  }
  walk<record> records(const read_txn &&, const range & = teak::range()) const = delete;
  walk<record> records(const write_txn &&, const range & = teak::range()) const = delete;
  /// Like above, from the last to the first.
  [[nodiscard]] walk<record> records_back(const read_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), false, range, TEAK_BACKWARD);
  }
  /// Like above, from the last to the first.
  [[nodiscard]] walk<record> records_back(const write_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), true, range, TEAK_BACKWARD);
  }
  walk<record> records_back(const read_txn &&, const range & = teak::range()) const = delete;
  walk<record> records_back(const write_txn &&, const range & = teak::range()) const = delete;
  /// Opens a cursor. The transaction only identifies the database.
  answer<cursor> open_cursor(const transaction &txn) const {
    detail::place place;
    teak_cursor raw{};
    const teak_code code = teak_cursor_open(txn.raw(), raw_, &raw, place);
    return detail::given<cursor>(code, place, [&] { return cursor(raw); });
  }

  /// Inserts a record, and replaces the record with the same key if there is one.
  answer<void> insert(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::done(teak_insert(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Inserts a record if its key is new. Returns false if the key exists.
  answer<bool> insert_new(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::whether(teak_insert_new(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Replaces the value of a record. Returns false if the key does not exist.
  answer<bool> update(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::whether(teak_update(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Inserts a record after the last one, without a search. Errors: not_sorted.
  answer<void> append(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::done(teak_append(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Copies the records of a range to another table, where they replace those with the same keys.
  /// Returns their number.
  answer<std::uint64_t> copy_range(write_txn &txn, const range &range, const table &other) const {
    return to(teak_copy_range, txn, range, other);
  }
  /// Moves the records of a range to another table, and returns their number.
  answer<std::uint64_t> move_range(write_txn &txn, const range &range, const table &other) const {
    return to(teak_move_range, txn, range, other);
  }
  /// Changes a record if its value is the expected one, and returns false otherwise. `std::nullopt`
  /// means that there is no record.
  ///
  /// ```cpp
  /// teak::write_txn txn = db.begin_write();
  /// teak::table locks = txn.create_table("locks");
  /// assert(locks.compare_and_swap(txn, "door", std::nullopt, "mine"));
  /// assert(!locks.compare_and_swap(txn, "door", std::nullopt, "mine"));
  /// assert(locks.compare_and_swap(txn, "door", "mine", std::nullopt));
  /// ```
  answer<bool> compare_and_swap(write_txn &txn, bytes_view key, std::optional<bytes_view> old_value,
                                std::optional<bytes_view> new_value) const {
    detail::place place;
    const teak_slice old_raw = old_value ? old_value->raw() : teak_slice{}, new_raw = new_value ? new_value->raw() : teak_slice{};
    const teak_code code = teak_compare_and_swap(txn.raw(), raw_, key.raw(), old_value ? &old_raw : nullptr,
                                                 new_value ? &new_raw : nullptr, place);
    return detail::whether(code, place);
  }
  /// Removes the record of a key. Returns false if the key does not exist.
  answer<bool> remove(write_txn &txn, bytes_view key) const {
    detail::place place;
    return detail::whether(teak_remove(txn.raw(), raw_, key.raw(), place), place);
  }
  /// Removes the records of many keys, and returns the number of removed ones.
  answer<std::uint64_t> remove_many(write_txn &txn, list<bytes_view> keys) const {
    return number([&](std::uint64_t *removed, teak_error *error) {
      return teak_remove_many(txn.raw(), raw_, detail::raw(keys), keys.size(), removed, error);
    });
  }
  /// Like above, with elements in braces.
  answer<std::uint64_t> remove_many(write_txn &txn, std::initializer_list<bytes_view> keys) const {
    return remove_many(txn, list<bytes_view>(keys));
  }

private:
  friend class transaction;
  friend class write_txn;
  using any_table::any_table;
};

/// A table in which keys have several values, in an order. Each pair of key and value is a record.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::multi_table lines = txn.create_multi_table("lines", teak::multi_table_options().value_order(teak::order::integer));
/// lines.insert(txn, "teak", teak::little_endian(std::uint32_t{300}));
/// lines.insert(txn, "teak", teak::little_endian(std::uint32_t{3}));
/// std::uint32_t sum = 0;
/// for (teak::bytes_view line : lines.values(txn, "teak"))
///   sum += teak::from_little_endian<std::uint32_t>(line);
/// assert(sum == 303);
/// ```
class multi_table : public any_table {
public:
  /// An empty handle.
  multi_table() = default;

  /// The values of a key, in their order.
  [[nodiscard]] walk<bytes_view> values(const read_txn &txn, bytes_view key) const {
    return walk<bytes_view>(txn.raw(), false, raw_, range::of(key), TEAK_FORWARD);
  }
  /// The values of a key, in their order.
  [[nodiscard]] walk<bytes_view> values(const write_txn &txn, bytes_view key) const {
    return walk<bytes_view>(txn.raw(), true, raw_, range::of(key), TEAK_FORWARD);
  }
  walk<bytes_view> values(const read_txn &&, bytes_view) const = delete;
  walk<bytes_view> values(const write_txn &&, bytes_view) const = delete;
  /// Like above, from the last to the first.
  [[nodiscard]] walk<bytes_view> values_back(const read_txn &txn, bytes_view key) const {
    return walk<bytes_view>(txn.raw(), false, raw_, range::of(key), TEAK_BACKWARD);
  }
  /// Like above, from the last to the first.
  [[nodiscard]] walk<bytes_view> values_back(const write_txn &txn, bytes_view key) const {
    return walk<bytes_view>(txn.raw(), true, raw_, range::of(key), TEAK_BACKWARD);
  }
  walk<bytes_view> values_back(const read_txn &&, bytes_view) const = delete;
  walk<bytes_view> values_back(const write_txn &&, bytes_view) const = delete;
  /// The pairs of a range of keys.
  [[nodiscard]] walk<record> pairs(const read_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), false, range, TEAK_FORWARD);
  }
  /// The pairs of a range of keys.
  [[nodiscard]] walk<record> pairs(const write_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), true, range, TEAK_FORWARD);
  }
  walk<record> pairs(const read_txn &&, const range & = teak::range()) const = delete;
  walk<record> pairs(const write_txn &&, const range & = teak::range()) const = delete;
  /// Like above, from the last to the first.
  [[nodiscard]] walk<record> pairs_back(const read_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), false, range, TEAK_BACKWARD);
  }
  /// Like above, from the last to the first.
  [[nodiscard]] walk<record> pairs_back(const write_txn &txn, const range &range = teak::range()) const {
    return walked(txn.raw(), true, range, TEAK_BACKWARD);
  }
  walk<record> pairs_back(const read_txn &&, const range & = teak::range()) const = delete;
  walk<record> pairs_back(const write_txn &&, const range & = teak::range()) const = delete;
  /// Opens a cursor. The transaction only identifies the database.
  answer<multi_cursor> open_cursor(const transaction &txn) const {
    detail::place place;
    teak_cursor raw{};
    const teak_code code = teak_cursor_open(txn.raw(), raw_, &raw, place);
    return detail::given<multi_cursor>(code, place, [&] { return multi_cursor(raw); });
  }
  /// Whether a key has a value.
  answer<bool> contains(const transaction &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::whether(teak_contains_pair(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// The number of pairs before this one. Only for counted tables.
  answer<std::uint64_t> rank(const transaction &txn, bytes_view key, bytes_view value) const {
    return number([&](std::uint64_t *rank, teak_error *error) {
      return teak_rank_pair(txn.raw(), raw_, key.raw(), value.raw(), rank, error);
    });
  }
  /// The number of values of a key. Does not read them.
  answer<std::uint64_t> count_values(const transaction &txn, bytes_view key) const {
    return number([&](std::uint64_t *count, teak_error *error) {
      return teak_count_values(txn.raw(), raw_, key.raw(), count, error);
    });
  }
  /// Compares two values in the order of the table: below, equal to or above zero.
  answer<int> compare_values(const transaction &txn, bytes_view a, bytes_view b) const {
    detail::place place;
    std::int32_t order = 0;
    const teak_code code = teak_compare_values(txn.raw(), raw_, a.raw(), b.raw(), &order, place);
    return detail::given<int>(code, place, [&] { return order; });
  }

  /// Adds a value to a key. Returns false if the key has it already.
  answer<bool> insert(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::whether(teak_insert_pair(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Adds many values to a key, and returns the number of new ones.
  answer<std::uint64_t> insert_values(write_txn &txn, bytes_view key, list<bytes_view> values) const {
    return number([&](std::uint64_t *inserted, teak_error *error) {
      return teak_insert_values(txn.raw(), raw_, key.raw(), detail::raw(values), values.size(), inserted, error);
    });
  }
  /// Like above, with elements in braces.
  answer<std::uint64_t> insert_values(write_txn &txn, bytes_view key, std::initializer_list<bytes_view> values) const {
    return insert_values(txn, key, list<bytes_view>(values));
  }
  /// Copies the pairs of a range of keys to another table, and returns their number.
  answer<std::uint64_t> copy_range(write_txn &txn, const range &range, const multi_table &other) const {
    return to(teak_copy_range, txn, range, other);
  }
  /// Moves the pairs of a range of keys to another table, and returns their number.
  answer<std::uint64_t> move_range(write_txn &txn, const range &range, const multi_table &other) const {
    return to(teak_move_range, txn, range, other);
  }
  /// Replaces one value of a key by another. Returns false if the key does not have the old one, or
  /// has the new one too.
  answer<bool> replace(write_txn &txn, bytes_view key, bytes_view old_value, bytes_view new_value) const {
    detail::place place;
    const teak_code code = teak_replace_pair(txn.raw(), raw_, key.raw(), old_value.raw(), new_value.raw(), place);
    return detail::whether(code, place);
  }
  /// Removes a value of a key. Returns false if the key does not have it.
  answer<bool> remove(write_txn &txn, bytes_view key, bytes_view value) const {
    detail::place place;
    return detail::whether(teak_remove_pair(txn.raw(), raw_, key.raw(), value.raw(), place), place);
  }
  /// Removes a key with all its values, and returns their number.
  answer<std::uint64_t> remove_key(write_txn &txn, bytes_view key) const {
    return number([&](std::uint64_t *removed, teak_error *error) {
      return teak_remove_values(txn.raw(), raw_, key.raw(), removed, error);
    });
  }

private:
  friend class transaction;
  friend class write_txn;
  using any_table::any_table;
};

namespace detail {

/// Opens a table of one kind.
inline teak_code open(teak_txn txn, bytes_view name, bool has_several_values, teak_table &table, place &place) {
  teak_code code = teak_table_open(txn, name.raw(), &table, place);
  if (code != TEAK_OK) return code;
  teak_table_stat stat = {};
  stat.size = sizeof stat;
  code = teak_table_get_stat(txn, table, &stat, place);
  if (code != TEAK_OK || (stat.several_values != 0) == has_several_values) return code;
  place.told = told(TEAK_TABLE_MISMATCH, has_several_values
                                             ? "a key of this table has one value; open it with open_table"
                                             : "a key of this table has several values; open it with open_multi_table");
  return TEAK_TABLE_MISMATCH;
}

} // namespace detail

inline answer<std::optional<table>> transaction::open_table(bytes_view name) const {
  detail::place place;
  teak_table opened{};
  const teak_code code = detail::open(raw(), name, false, opened, place);
  return detail::found<table>(code, place, [&] { return table(opened); });
}

inline answer<std::optional<multi_table>> transaction::open_multi_table(bytes_view name) const {
  detail::place place;
  teak_table opened{};
  const teak_code code = detail::open(raw(), name, true, opened, place);
  return detail::found<multi_table>(code, place, [&] { return multi_table(opened); });
}

inline answer<table> write_txn::create_table(bytes_view name, const table_options &options) {
  detail::place place;
  teak_table made{};
  const teak_table_options set = options.raw();
  const teak_code code = teak_table_create(raw(), name.raw(), &set, &made, place);
  return detail::given<table>(code, place, [&] { return table(made); });
}

inline answer<multi_table> write_txn::create_multi_table(bytes_view name, const multi_table_options &options) {
  detail::place place;
  teak_table made{};
  const teak_table_options set = options.raw();
  const teak_code code = teak_table_create(raw(), name.raw(), &set, &made, place);
  return detail::given<multi_table>(code, place, [&] { return multi_table(made); });
}

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_TABLE_HPP
