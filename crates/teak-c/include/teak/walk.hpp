// Ranges of keys, and walks through their records. Part of teak.hpp.

#ifndef TEAK_WALK_HPP
#define TEAK_WALK_HPP

#include <teak/transaction.hpp>

namespace teak {
inline namespace TEAK_WAY {

template <class Item> class walk;

/// A range of keys, in the order of the table, with copies of its bounds. Without a bound it
/// extends to the end.
///
/// ```cpp
/// teak::range all, from_ash = teak::range::from("ash"), some = teak::range::from("ash").until("elm"), one = teak::range::of("ash");
/// teak::range day = teak::range::prefix("2026-01-31 ");
/// ```
class range {
public:
  /// All keys.
  range() = default;
  /// From a key, which is included.
  [[nodiscard]] static range from(bytes_view key) { return range().bounded(0, TEAK_INCLUDED, key); }
  /// All keys after a key.
  [[nodiscard]] static range after(bytes_view key) { return range().bounded(0, TEAK_EXCLUDED, key); }
  /// Up to a key, which is excluded.
  [[nodiscard]] range until(bytes_view key) const { return bounded(1, TEAK_EXCLUDED, key); }
  /// Up to a key, which is included.
  [[nodiscard]] range through(bytes_view key) const { return bounded(1, TEAK_INCLUDED, key); }
  /// One key.
  [[nodiscard]] static range of(bytes_view key) { return from(key).through(key); }
  /// All keys with this prefix, in a table whose keys are ordered by bytes.
  [[nodiscard]] static range prefix(bytes_view prefix) {
    std::string end = prefix.to_string();
    while (!end.empty() && end.back() == '\xff') end.pop_back();
    if (end.empty()) return from(prefix);
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    return from(prefix).until(end);
  }

private:
  template <class Item> friend class walk;
  friend class any_table;

  struct bound {
    std::uint32_t kind = TEAK_UNBOUNDED;
    std::string key;
    [[nodiscard]] teak_slice slice() const noexcept { return {key.data(), key.size()}; }
    [[nodiscard]] teak_bound raw() const noexcept { return {kind, 0, slice()}; }
  };

  [[nodiscard]] range bounded(std::size_t end, teak_bound_kind kind, bytes_view key) const {
    range bounded = *this;
    bounded.bounds_[end] = {static_cast<std::uint32_t>(kind), key.to_string()};
    return bounded;
  }

  bound bounds_[2];
};

namespace detail {

/// The part of a record that a walk returns.
template <class Item> struct part;
template <> struct part<record> {
  static record of(const teak_record &raw) noexcept { return cooked(raw); }
};
template <> struct part<bytes_view> {
  static bytes_view of(const teak_record &raw) noexcept { return bytes_view(raw.value); }
};

} // namespace detail

/// The records of a range, or the values of a key, to be read once, with `for` or the algorithms of
/// C++20 for input ranges. Nothing is read before begin() is called.
///
/// The elements are results if TEAK_RESULTS is defined, and an error is the last one. Otherwise
/// errors are thrown. Keys are valid until the next step, values as described for the transaction.
/// In a write transaction the table may be changed during the walk: it continues after its current
/// key, and sees the change.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::table ages = txn.create_table("ages");
/// ages.insert_many(txn, {{"Ada", "36"}, {"Grace", "85"}, {"Kurt", "71"}});
/// for (auto [name, age] : ages.records(txn, teak::range::from("B"))) {
///   if (age == "71") ages.remove(txn, name);
/// }
/// assert(ages.stat(txn).records == 2);
/// ```
template <class Item> class walk {
  struct state;

public:
  /// The end of the walk.
  struct sentinel {};

  /// The position of a walk.
  class iterator {
  public:
    /// @cond
    using iterator_category = std::input_iterator_tag;
    using value_type = answer<Item>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;
    /// @endcond

    iterator() = default;
    /// The current element.
    [[nodiscard]] value_type operator*() const { return state_->current(); }
    /// Moves to the next element.
    iterator &operator++() {
      state_->note(state_->step());
      return *this;
    }
    /// Moves to the next element.
    void operator++(int) { ++*this; }
    /// Whether the walk is at its end.
    [[nodiscard]] friend bool operator==(const iterator &at, sentinel) noexcept { return at.state_->is_over; }
    /// Whether the walk is not at its end.
    [[nodiscard]] friend bool operator!=(const iterator &at, sentinel end) noexcept { return !(at == end); }
    /// Whether the walk is at its end.
    [[nodiscard]] friend bool operator==(sentinel end, const iterator &at) noexcept { return at == end; }
    /// Whether the walk is not at its end.
    [[nodiscard]] friend bool operator!=(sentinel end, const iterator &at) noexcept { return !(at == end); }

  private:
    friend class walk;
    explicit iterator(state *state) noexcept : state_(state) {}
    state *state_ = nullptr;
  };

  /// Begins the walk at the first element. Later calls return the current position.
  [[nodiscard]] iterator begin() {
    if (!state_->is_begun) {
      state_->is_begun = true;
      state_->note(state_->start());
    }
    return iterator(state_.get());
  }
  /// The position after the last element.
  [[nodiscard]] sentinel end() const noexcept { return {}; }

private:
  friend class any_table;
  friend class table;
  friend class multi_table;

  walk(teak_txn txn, bool writes, teak_table table, range range, teak_direction direction)
      : state_(std::make_unique<state>(txn, writes, table, std::move(range), direction)) {}

  std::unique_ptr<state> state_;
};

/// @cond

/// Reads some records at a time in a read transaction, where they do not change, and one at a time
/// in a write transaction.
template <class Item> struct walk<Item>::state {
  state(teak_txn of_txn, bool is_writer, teak_table of_table, range of_range, teak_direction to)
      : txn(of_txn), table(of_table), bounds(std::move(of_range)), direction(to), writes(is_writer) {}

  answer<Item> current() {
#if defined(TEAK_RESULTS)
    if (failure) return *failure;
#endif
    return detail::part<Item>::of(records[at]);
  }

  void note(teak_code code) {
    is_over = code != TEAK_OK;
    if (!detail::failed(code)) return;
#if defined(TEAK_RESULTS)
    failure = error(place.told);
    is_over = false;
    has_ended = true;
    at = count = 0;
    writes = false;
#else
    detail::raise(place.told);
#endif
  }

  teak_code start() {
    teak_cursor raw{};
    teak_code code = teak_cursor_open(txn, table, &raw, place);
    if (code != TEAK_OK) return code;
    cursor = owned_cursor(raw);
    records.resize(1);
    code = go_to_start();
    if (code != TEAK_OK) return code;
    return writes ? accept_one() : fill();
  }

  teak_code step() {
    if (++at < count) return TEAK_OK;
    if (has_ended) return TEAK_NONE;
    if (!writes) return fill();
    const teak_move next = direction == TEAK_FORWARD ? TEAK_NEXT : TEAK_PREV;
    const teak_code code = teak_cursor_move(cursor.get(), txn, next, records.data(), place);
    return code == TEAK_OK ? accept_one() : code;
  }

private:
  using owned_cursor = detail::owned<teak_cursor, teak_cursor_close>;

  teak_code go_to_start() {
    const bool is_forward = direction == TEAK_FORWARD;
    const range::bound &bound = bounds.bounds_[is_forward ? 0 : 1];
    if (bound.kind == TEAK_UNBOUNDED)
      return teak_cursor_move(cursor.get(), txn, is_forward ? TEAK_FIRST : TEAK_LAST, records.data(), place);
    const bool is_included = bound.kind == TEAK_INCLUDED;
    const teak_seek seek =
        is_forward ? (is_included ? TEAK_AT_LEAST : TEAK_GREATER) : (is_included ? TEAK_AT_MOST : TEAK_LESS);
    return teak_cursor_seek(cursor.get(), txn, seek, bound.slice(), records.data(), place);
  }

  teak_code accept_one() {
    at = 0;
    count = 1;
    return cut();
  }

  teak_code fill() {
    if (records.size() < 256) records.resize(4 * records.size());
    at = count = 0;
    const teak_code code = teak_cursor_read(cursor.get(), txn, direction, records.data(), records.size(), &count, place);
    return code == TEAK_OK ? cut() : code;
  }

  /// Ends the walk at the end of the range.
  teak_code cut() {
    const range::bound &bound = bounds.bounds_[direction == TEAK_FORWARD ? 1 : 0];
    if (bound.kind == TEAK_UNBOUNDED) return TEAK_OK;
    bool is_beyond = false;
    teak_code code = look(records[count - 1], bound, is_beyond);
    if (code != TEAK_OK || !is_beyond) return code;
    has_ended = true;
    std::size_t within = 0, beyond = count - 1;
    while (within < beyond) {
      const std::size_t middle = within + (beyond - within) / 2;
      code = look(records[middle], bound, is_beyond);
      if (code != TEAK_OK) return code;
      (is_beyond ? beyond : within) = is_beyond ? middle : middle + 1;
    }
    count = within;
    return count == 0 ? TEAK_NONE : TEAK_OK;
  }

  /// Whether a record is after the end.
  teak_code look(const teak_record &record, const range::bound &bound, bool &is_beyond) {
    std::int32_t order = 0;
    const teak_code code = teak_compare_keys(txn, table, record.key, bound.slice(), &order, place);
    if (direction == TEAK_BACKWARD) order = -order;
    is_beyond = order > 0 || (order == 0 && bound.kind == TEAK_EXCLUDED);
    return code;
  }

  teak_txn txn;
  teak_table table;
  range bounds;
  teak_direction direction;
  bool writes;
  bool has_ended = false;
  owned_cursor cursor;
  std::vector<teak_record> records;
  std::size_t at = 0, count = 0;
  detail::place place;
#if defined(TEAK_RESULTS)
  std::optional<error> failure;
#endif

public:
  bool is_begun = false;
  bool is_over = false;
};

/// @endcond

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_WALK_HPP
