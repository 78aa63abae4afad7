// Transactions, savepoints and tickets. Part of teak.hpp.

#ifndef TEAK_TRANSACTION_HPP
#define TEAK_TRANSACTION_HPP

#include <teak/options.hpp>

namespace teak {
inline namespace TEAK_WAY {

class table;
class multi_table;
class database;

/// The kind of a difference between two states: see teak_change.
enum class change : std::uint32_t { inserted = TEAK_INSERTED, changed = TEAK_CHANGED, removed = TEAK_REMOVED };

/// The durations of the steps of a commit: see teak_commit_latency.
using commit_latency = teak_commit_latency;

namespace detail {

/// An open database, which is closed with its last user.
struct opening {
  teak_db db{};
  opening() = default;
  opening(const opening &) = delete;
  opening &operator=(const opening &) = delete;
  ~opening() {
    if (db.handle != 0) static_cast<void>(teak_db_close(db, nullptr));
  }
};

/// A function that the library calls. Its exception is stored here until the call of the library
/// returns.
class catching {
public:
  void throw_again() const {
#if defined(__cpp_exceptions)
    if (thrown_) std::rethrow_exception(thrown_);
#endif
  }

protected:
  /// The result of `work`, or `otherwise` if it throws.
  template <class Work> int caught(int otherwise, Work &&work) noexcept {
#if defined(__cpp_exceptions)
    try {
      return work();
    } catch (...) {
      thrown_ = std::current_exception();
      return otherwise;
    }
#else
    static_cast<void>(otherwise);
    return work();
#endif
  }

private:
#if defined(__cpp_exceptions)
  std::exception_ptr thrown_;
#endif
};

/// A function of the caller that the library calls.
template <class Function> class called : public catching {
public:
  explicit called(Function &function) noexcept : function_(function) {}
  /// A result other than 0 ends the walk.
  template <class... Arguments> int operator()(Arguments &&...arguments) noexcept {
    return caught(1, [&] { return call(std::forward<Arguments>(arguments)...); });
  }

private:
  template <class... Arguments> int call(Arguments &&...arguments) {
    using gives = std::invoke_result_t<Function &, Arguments...>;
    static_assert(std::is_void_v<gives> || std::is_same_v<gives, step>,
                  "a function that is called on the way answers with nothing, or with a teak::step");
    if constexpr (std::is_void_v<gives>) {
      function_(std::forward<Arguments>(arguments)...);
      return 0;
    } else {
      return function_(std::forward<Arguments>(arguments)...) == step::stop;
    }
  }

  Function &function_;
};

} // namespace detail

/// A transaction to read in: a read_txn or a write_txn.
///
/// Values are views. Those of a read transaction are valid while it or a clone of it exists and is
/// not refreshed. Those of a write transaction are valid until its next change.
class transaction {
public:
  /// The number of the state that is read. For a write transaction, the number that its commit will
  /// have.
  answer<std::uint64_t> id() const {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_txn_id(raw(), &id, place);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }
  /// Opens a table in which keys have one value. Returns nothing if no table has that name. Errors:
  /// table_mismatch if its keys have several.
  answer<std::optional<table>> open_table(bytes_view name) const;
  /// Opens a table in which keys have several values. Errors: table_mismatch if its keys have one.
  answer<std::optional<multi_table>> open_multi_table(bytes_view name) const;
  /// Calls a function for each table, in the order of their names: `void` or `step
  /// (std::string_view name, bool has_several_values)`. Returns whether it was called for all.
  template <class Function> answer<bool> each_table(Function &&function) const {
    detail::called<std::remove_reference_t<Function>> called(function);
    auto each = [](void *user, teak_slice name, std::uint32_t several) noexcept -> std::int32_t {
      return (*static_cast<decltype(called) *>(user))(bytes_view(name).text(), several == 1);
    };
    detail::place place;
    const teak_code code = teak_table_each(raw(), each, &called, place);
    called.throw_again();
    return detail::whether(code, place);
  }
  /// The handle for teak.h.
  [[nodiscard]] teak_txn raw() const noexcept { return txn_.get(); }

  /// @cond
protected:
  transaction() = default;
  explicit transaction(teak_txn raw) noexcept : txn_(raw) {}
  transaction(transaction &&) = default;
  transaction &operator=(transaction &&) = default;
  ~transaction() = default;

  detail::owned<teak_txn, teak_txn_end> txn_;
  /// @endcond
};

class parked_txn;

/// A transaction that reads one state. It ends with its scope. Any threads may use it at the same
/// time.
class read_txn : public transaction {
public:
  /// An empty handle.
  read_txn() = default;
  /// Another handle of the same state. Each thread that reads a lot should have its own.
  answer<read_txn> clone() const {
    detail::place place;
    teak_txn clone{};
    const teak_code code = teak_txn_clone(raw(), &clone, place);
    return detail::given<read_txn>(code, place, [&] { return read_txn(clone); });
  }
  /// Moves to the newest state. Returns false if it sees that already. Earlier values must not be
  /// used any more.
  answer<bool> refresh() {
    detail::place place;
    return detail::whether(teak_txn_refresh(raw(), place), place);
  }
  /// Calls a function for each table that differs from an older state: `void` or `step
  /// (std::string_view name, change)`. Returns whether it was called for all.
  template <class Function> answer<bool> each_changed_table(const read_txn &older, Function &&function) const {
    detail::called<std::remove_reference_t<Function>> called(function);
    auto each = [](void *user, teak_slice name, std::uint32_t what) noexcept {
      return (*static_cast<decltype(called) *>(user))(bytes_view(name).text(), static_cast<change>(what));
    };
    detail::place place;
    const teak_code code = teak_changed_tables(older.raw(), raw(), each, &called, place);
    called.throw_again();
    return detail::whether(code, place);
  }
  /// See teak_txn_read_faults.
  answer<std::uint64_t> read_faults() const {
    detail::place place;
    std::uint64_t faults = 0;
    const teak_code code = teak_txn_read_faults(raw(), &faults, place);
    return detail::given<std::uint64_t>(code, place, [&] { return faults; });
  }
  /// Parks the transaction: its state is kept unless a writer needs the space. This handle has
  /// ended afterwards, also after an error other than busy. Errors: invalid_argument if there is a
  /// clone.
  answer<parked_txn> park();
  /// Ends the transaction before its scope ends.
  answer<void> end() {
    detail::place place;
    const teak_code code = teak_txn_end(raw(), place);
    if (code != TEAK_BUSY) txn_.release();
    return detail::done(code, place);
  }

private:
  friend class database;
  friend class parked_txn;
  using transaction::transaction;
};

/// A parked read transaction: a writer that needs the space may give up its state. It ends with its
/// scope.
///
/// ```cpp
/// teak::parked_txn parked = db.begin_read().park();
/// // ... much later
/// teak::read_txn txn = parked.resume();
/// ```
class parked_txn {
public:
  /// An empty handle.
  parked_txn() = default;
  /// Resumes reading the same state. This handle has ended afterwards. Errors: snapshot_lost if the
  /// state was given up.
  answer<read_txn> resume() {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_parked_resume(parked_.release(), &txn, place);
    return detail::given<read_txn>(code, place, [&] { return read_txn(txn); });
  }

private:
  friend class read_txn;
  explicit parked_txn(teak_parked raw) noexcept : parked_(raw) {}
  detail::owned<teak_parked, teak_parked_end> parked_;
};

inline answer<parked_txn> read_txn::park() {
  detail::place place;
  teak_parked parked{};
  const teak_code code = teak_txn_park(raw(), &parked, place);
  if (code != TEAK_BUSY) txn_.release();
  return detail::given<parked_txn>(code, place, [&] { return parked_txn(parked); });
}

/// Reports when a commit is on the disk.
class ticket {
public:
  /// An empty handle.
  ticket() = default;
  /// Returns whether the commit is on the disk. Does not wait.
  answer<bool> poll() const {
    detail::place place;
    return detail::whether(teak_ticket_poll(ticket_.get(), place), place);
  }
  /// Waits until the commit is on the disk.
  answer<void> wait() const {
    detail::place place;
    return detail::done(teak_ticket_wait(ticket_.get(), UINT64_MAX, place), place);
  }
  /// Waits at most this long. Returns whether the commit is on the disk.
  answer<bool> wait_for(std::chrono::milliseconds limit) const {
    detail::place place;
    const auto limit_ms = static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(limit.count(), 0));
    return detail::whether(teak_ticket_wait(ticket_.get(), limit_ms, place), place);
  }
  /// A descriptor for poll, epoll and the like. The ticket owns it: see teak_ticket_descriptor.
  answer<int> descriptor() const {
    detail::place place;
    std::int32_t descriptor = -1;
    const teak_code code = teak_ticket_descriptor(ticket_.get(), &descriptor, place);
    return detail::given<int>(code, place, [&] { return descriptor; });
  }
  /// The number of the commit.
  answer<std::uint64_t> transaction() const {
    detail::place place;
    std::uint64_t number = 0;
    const teak_code code = teak_ticket_transaction(ticket_.get(), &number, place);
    return detail::given<std::uint64_t>(code, place, [&] { return number; });
  }

private:
  friend class write_txn;
  friend class database;
  explicit ticket(teak_ticket raw) noexcept : ticket_(raw) {}
  detail::owned<teak_ticket, teak_ticket_end> ticket_;
};

/// A part of a write transaction. Its changes are undone at the end of its scope, unless they were
/// kept.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::table words = txn.create_table("words");
/// {
///   teak::savepoint part = txn.savepoint();
///   words.insert(txn, "ash", "1");
/// }
/// assert(!words.contains(txn, "ash"));
/// {
///   teak::savepoint part = txn.savepoint();
///   words.insert(txn, "elm", "2");
///   part.keep();
/// }
/// assert(words.contains(txn, "elm"));
/// ```
class savepoint {
public:
  /// The other savepoint does nothing from now on.
  savepoint(savepoint &&other) noexcept : txn_(other.txn_), number_(std::exchange(other.number_, 0)) {}
  savepoint &operator=(savepoint &&) = delete;
  /// Undoes the changes since. If that fails, the transaction is broken and its commit is refused.
  ~savepoint() {
    if (number_ == 0) return;
    static_cast<void>(teak_txn_roll_back_to(txn_, number_, nullptr));
    static_cast<void>(teak_txn_release(txn_, number_, nullptr));
  }
  /// Keeps the changes.
  answer<void> keep() {
    detail::place place;
    return detail::done(teak_txn_release(txn_, std::exchange(number_, 0), place), place);
  }
  /// Undoes the changes since. The savepoint stays.
  answer<void> roll_back() {
    detail::place place;
    return detail::done(teak_txn_roll_back_to(txn_, number_, place), place);
  }

private:
  friend class write_txn;
  savepoint(teak_txn txn, std::uint64_t number) noexcept : txn_(txn), number_(number) {}
  teak_txn txn_;
  std::uint64_t number_;
};

/// A write transaction. It is rolled back at the end of its scope, unless it was committed. It
/// keeps the database open.
///
/// ```cpp
/// try {
///   teak::write_txn txn = db.begin_write();
///   txn.create_table("words").insert(txn, "ash", "1");
///   throw std::runtime_error("something else");
/// } catch (const std::runtime_error &) {
/// }
/// assert(!db.begin_read().open_table("words"));
/// ```
class write_txn : public transaction {
public:
  /// An empty handle.
  write_txn() = default;
  /// Ends this transaction first.
  write_txn &operator=(write_txn &&other) noexcept {
    transaction::operator=(std::move(other));
    opening_ = std::move(other.opening_);
    return *this;
  }
  /// The other handle is empty from now on.
  write_txn(write_txn &&) = default;
  ~write_txn() { txn_.end(); }

  /// Opens a table in which keys have one value, or creates it.
  answer<table> create_table(bytes_view name, const table_options &options = table_options());
  /// Opens a table in which keys have several values, or creates it.
  answer<multi_table> create_multi_table(bytes_view name, const multi_table_options &options = multi_table_options());
  /// Drops a table with all its records. Returns false if no table has that name.
  answer<bool> drop_table(bytes_view name) {
    detail::place place;
    return detail::whether(teak_table_drop(raw(), name.raw(), place), place);
  }
  /// Gives a table another name.
  answer<void> rename_table(bytes_view old_name, bytes_view new_name) {
    detail::place place;
    return detail::done(teak_table_rename(raw(), old_name.raw(), new_name.raw(), place), place);
  }

  /// Commits, and returns the number of the commit. The transaction has ended, also after an error
  /// other than busy.
  answer<std::uint64_t> commit() {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_txn_commit(raw(), &id, place);
    ended(code);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }
  /// Makes the changes durable under a name, without committing them: see
  /// database::commit_prepared. Returns the number of the transaction, which has ended, also after
  /// an error other than busy.
  answer<std::uint64_t> prepare(bytes_view name) {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_txn_prepare(raw(), name.raw(), &id, place);
    ended(code);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }
  /// Commits, and returns the durations of the steps.
  answer<commit_latency> commit_measured() {
    detail::place place;
    commit_latency latency = {};
    latency.size = sizeof latency;
    const teak_code code = teak_txn_commit_measured(raw(), nullptr, &latency, place);
    ended(code);
    return detail::given<commit_latency>(code, place, [&] { return latency; });
  }
  /// Commits without waiting for the disk. The ticket reports when the commit is there.
  answer<ticket> commit_async() {
    detail::place place;
    teak_ticket made{};
    const teak_code code = teak_txn_commit_async(raw(), &made, place);
    ended(code);
    return detail::given<ticket>(code, place, [&] { return ticket(made); });
  }
  /// Commits, and continues as a write transaction: no other writer comes in between. Savepoints
  /// end.
  answer<std::uint64_t> checkpoint() {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_txn_checkpoint(raw(), &id, place);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }
  /// Undoes everything and ends before the scope ends.
  answer<void> abort() {
    detail::place place;
    const teak_code code = teak_txn_end(raw(), place);
    ended(code);
    return detail::done(code, place);
  }
  /// Undoes everything since the transaction began, or since its last checkpoint. The transaction
  /// stays usable.
  answer<void> roll_back() {
    detail::place place;
    return detail::done(teak_txn_roll_back(raw(), place), place);
  }
  /// Begins a part whose changes are undone unless they are kept.
  answer<teak::savepoint> savepoint() {
    detail::place place;
    std::uint64_t number = 0;
    const teak_code code = teak_txn_savepoint(raw(), &number, place);
    return detail::given<teak::savepoint>(code, place, [&] { return teak::savepoint(raw(), number); });
  }
  /// Sets when this transaction's commit becomes durable.
  answer<void> set_durability(durability durability) {
    detail::place place;
    return detail::done(teak_txn_set_durability(raw(), static_cast<std::uint32_t>(durability), place), place);
  }

  /// Creates a named snapshot of the state that this transaction makes.
  answer<void> create_snapshot(bytes_view name) {
    detail::place place;
    return detail::done(teak_snapshot_create(raw(), name.raw(), place), place);
  }
  /// Drops a named snapshot. Returns false if none has that name.
  answer<bool> drop_snapshot(bytes_view name) {
    detail::place place;
    return detail::whether(teak_snapshot_drop(raw(), name.raw(), place), place);
  }
  /// Resets all tables to their contents in a named snapshot.
  answer<void> roll_back_to_snapshot(bytes_view name) {
    detail::place place;
    return detail::done(teak_snapshot_roll_back(raw(), name.raw(), place), place);
  }

private:
  friend class database;
  write_txn(teak_txn raw, std::shared_ptr<detail::opening> opening) noexcept
      : transaction(raw), opening_(std::move(opening)) {}
  void ended(teak_code code) noexcept {
    if (code == TEAK_BUSY) return;
    txn_.release();
    opening_.reset();
  }

  std::shared_ptr<detail::opening> opening_;
};

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_TRANSACTION_HPP
