// Databases. Part of teak.hpp.

#ifndef TEAK_DATABASE_HPP
#define TEAK_DATABASE_HPP

#include <teak/table.hpp>

namespace teak {
inline namespace TEAK_WAY {

/// Counts of a database: see teak_db_stat.
using database_stat = teak_db_stat;
/// Counts of the work done since a database was opened: see teak_metrics.
using metrics = teak_metrics;
/// The findings of a check: see teak_check_report.
using check_report = teak_check_report;

/// A damage that a check has found.
struct damage {
  /// The page, if it is one.
  std::optional<std::uint64_t> page;
  /// The name of the table; empty for none.
  bytes_view table;
  /// A description of the damage.
  std::string_view detail;
};

/// A read transaction of any process: see teak_reader.
using reader_info = teak_reader;
/// The decision about a reader: see teak_reader_choice.
enum class reader_choice : int { leave = TEAK_READER_LEAVE, stop = TEAK_READER_STOP, cancel = TEAK_READER_CANCEL };

/// A named snapshot.
struct snapshot {
  /// Its name.
  std::string name;
  /// The commit that made its state.
  std::uint64_t transaction;
  /// The time of that commit.
  std::chrono::system_clock::time_point time;
  /// Pages that would be free if nothing kept this state.
  std::uint64_t kept_pages;
};

/// A prepared transaction.
struct prepared_info {
  /// Its name.
  std::string name;
  /// Its number.
  std::uint64_t transaction;
  /// When it was prepared.
  std::chrono::system_clock::time_point time;
  /// Pages that it wrote.
  std::uint64_t changed_pages;
};

/// An open database. It is closed at the end of its scope and of the scopes of its write
/// transactions. Call close() to get errors.
///
/// ```cpp
/// teak::database db = teak::database::open(path);
/// teak::write_txn txn = db.begin_write();
/// teak::table ages = txn.create_table("ages");
/// ages.insert(txn, "Ada", "36");
/// txn.commit();
/// teak::read_txn now = db.begin_read();
/// for (auto [name, age] : ages.records(now))
///   std::cout << name.text() << ": " << age.text() << '\n';
/// db.close();
/// ```
class database {
public:
  /// An empty handle.
  database() = default;
  /// The other handle is empty from now on.
  database(database &&) = default;
  /// The other handle is empty from now on.
  database &operator=(database &&) = default;
  /// Opens the database at a path, or creates it.
  static answer<database> open(const std::string &path, const options &options = teak::options()) {
    detail::place place;
    auto opening = std::make_shared<detail::opening>();
    if (path.find('\0') != std::string::npos)
      return detail::refused<database>(detail::told(TEAK_INVALID_ARGUMENT, "the path contains a zero byte, which no file name can"));
    const teak_code code =
        options.use([&](const teak_options &raw) { return teak_db_open(path.c_str(), &raw, &opening->db, place); });
    return detail::given<database>(code, place, [&] { return database(std::move(opening)); });
  }
  static answer<database> open(std::nullptr_t, const options & = teak::options()) = delete;
  /// Creates a database in memory. It ends with its last handle.
  ///
  /// ```cpp
  /// teak::database scratch = teak::database::open_in_memory();
  /// assert(scratch.stat().table_count == 0);
  /// ```
  static answer<database> open_in_memory(const options &options = teak::options()) {
    detail::place place;
    auto opening = std::make_shared<detail::opening>();
    const teak_code code = options.use([&](const teak_options &raw) { return teak_db_open_in_memory(&raw, &opening->db, place); });
    return detail::given<database>(code, place, [&] { return database(std::move(opening)); });
  }
  /// Opens a database whose file is in memory. The bytes are copied, and the database is only read.
  ///
  /// ```cpp
  /// try {
  ///   teak::database::open_bytes("hardly a database");
  /// } catch (const teak::not_a_database &error) {
  ///   assert(error.code() == TEAK_NOT_A_DATABASE);
  /// }
  /// ```
  static answer<database> open_bytes(bytes_view bytes, const options &options = teak::options()) {
    detail::place place;
    auto opening = std::make_shared<detail::opening>();
    const teak_code code =
        options.use([&](const teak_options &raw) { return teak_db_open_bytes(bytes.raw(), &raw, &opening->db, place); });
    return detail::given<database>(code, place, [&] { return database(std::move(opening)); });
  }
  /// Another handle of the same opening. Each thread that begins many transactions should have its
  /// own.
  answer<database> clone() const {
    detail::place place;
    auto opening = std::make_shared<detail::opening>();
    const teak_code code = teak_db_clone(raw(), &opening->db, place);
    return detail::given<database>(code, place, [&] { return database(std::move(opening)); });
  }
  /// Closes the database. Open read transactions and tickets stay usable. Errors: busy if it is in
  /// use; errors of flushing.
  answer<void> close() {
    detail::place place;
    const teak_code code = teak_db_close(raw(), place);
    if (code != TEAK_BUSY && opening_) {
      opening_->db = teak_db{};
      opening_.reset();
    }
    return detail::done(code, place);
  }

  /// Begins to read the newest state. Does not wait for writers.
  answer<read_txn> begin_read() const {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_txn_begin_read(raw(), &txn, place);
    return detail::given<read_txn>(code, place, [&] { return read_txn(txn); });
  }
  /// Begins to write. Waits until no other transaction writes, in this process or another. Errors:
  /// busy if this thread would wait for itself.
  answer<write_txn> begin_write() const {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_txn_begin_write(raw(), &txn, place);
    return detail::given<write_txn>(code, place, [&] { return write_txn(txn, opening_); });
  }
  /// Like begin_write, but waits at most this long, and then returns nothing.
  answer<std::optional<write_txn>> begin_write_within(std::chrono::milliseconds limit) const {
    detail::place place;
    teak_txn txn{};
    const auto limit_ms = static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(limit.count(), 0));
    const teak_code code = teak_txn_begin_write_within(raw(), limit_ms, &txn, place);
    return detail::found<write_txn>(code, place, [&] { return write_txn(txn, opening_); });
  }
  /// Begins to write on exactly the state that a read transaction sees. Errors: snapshot_stale if
  /// there is a newer one.
  answer<write_txn> begin_write_at(const read_txn &reader) const {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_txn_begin_write_at(raw(), reader.raw(), &txn, place);
    return detail::given<write_txn>(code, place, [&] { return write_txn(txn, opening_); });
  }
  /// Begins to read a named snapshot. Returns nothing if none has that name.
  answer<std::optional<read_txn>> open_snapshot(bytes_view name) const {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_snapshot_open(raw(), name.raw(), &txn, place);
    return detail::found<read_txn>(code, place, [&] { return read_txn(txn); });
  }
  /// The named snapshots, in the order of their names.
  answer<std::vector<snapshot>> snapshots() const {
    std::vector<snapshot> all;
    auto add = [&](const teak_snapshot *raw) {
      const auto time = std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::microseconds(raw->time_us));
      all.push_back({bytes_view(raw->name).to_string(), raw->transaction, std::chrono::system_clock::time_point(time), raw->kept_pages});
    };
    detail::called<decltype(add)> called(add);
    auto each = [](void *user, const teak_snapshot *raw) noexcept { return (*static_cast<decltype(called) *>(user))(raw); };
    detail::place place;
    const teak_code code = teak_snapshot_each(raw(), each, &called, place);
    called.throw_again();
    return detail::given<std::vector<snapshot>>(code, place, [&] { return std::move(all); });
  }

  /// The prepared transactions, of which there is at most one. A program that prepares transactions
  /// asks this when it starts, before it writes.
  answer<std::vector<prepared_info>> prepared() const {
    std::vector<prepared_info> all;
    auto add = [&](const teak_prepared *raw) {
      const auto time = std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::microseconds(raw->time_us));
      all.push_back({bytes_view(raw->name).to_string(), raw->transaction, std::chrono::system_clock::time_point(time), raw->changed_pages});
    };
    detail::called<decltype(add)> called(add);
    auto each = [](void *user, const teak_prepared *raw) noexcept { return (*static_cast<decltype(called) *>(user))(raw); };
    detail::place place;
    const teak_code code = teak_prepared_each(raw(), each, &called, place);
    called.throw_again();
    return detail::given<std::vector<prepared_info>>(code, place, [&] { return std::move(all); });
  }
  /// Begins to read the state that a prepared transaction would make visible. Returns nothing if
  /// none has that name.
  answer<std::optional<read_txn>> open_prepared(bytes_view name) const {
    detail::place place;
    teak_txn txn{};
    const teak_code code = teak_prepared_open(raw(), name.raw(), &txn, place);
    return detail::found<read_txn>(code, place, [&] { return read_txn(txn); });
  }
  /// Commits a prepared transaction, and returns the number of the commit. Errors:
  /// prepared_not_found if none has that name, or not any more.
  answer<std::uint64_t> commit_prepared(bytes_view name) const {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_prepared_commit(raw(), name.raw(), &id, place);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }
  /// Undoes a prepared transaction, and returns the number of the commit that undoes it.
  answer<std::uint64_t> roll_back_prepared(bytes_view name) const {
    detail::place place;
    std::uint64_t id = 0;
    const teak_code code = teak_prepared_roll_back(raw(), name.raw(), &id, place);
    return detail::given<std::uint64_t>(code, place, [&] { return id; });
  }

  /// Waits until all commits are on the disk.
  answer<void> sync() const {
    detail::place place;
    return detail::done(teak_db_sync(raw(), place), place);
  }
  /// Starts to flush all commits. The ticket reports when they are on the disk.
  answer<ticket> begin_sync() const {
    detail::place place;
    teak_ticket made{};
    const teak_code code = teak_db_begin_sync(raw(), &made, place);
    return detail::given<ticket>(code, place, [&] { return ticket(made); });
  }
  /// The ticket of a commit of this process, by its number.
  answer<ticket> ticket_of(std::uint64_t transaction) const {
    detail::place place;
    teak_ticket made{};
    const teak_code code = teak_db_ticket(raw(), transaction, &made, place);
    return detail::given<ticket>(code, place, [&] { return ticket(made); });
  }
  /// Counts of the newest state.
  answer<database_stat> stat() const {
    detail::place place;
    database_stat stat = {};
    stat.size = sizeof stat;
    const teak_code code = teak_db_get_stat(raw(), &stat, place);
    return detail::given<database_stat>(code, place, [&] { return stat; });
  }

  /// Counts of the work done since the database was opened. Takes no lock.
  answer<teak::metrics> metrics() const {
    detail::place place;
    teak::metrics metrics = {};
    metrics.size = sizeof metrics;
    const teak_code code = teak_db_metrics(raw(), &metrics, place);
    return detail::given<teak::metrics>(code, place, [&] { return metrics; });
  }
  /// Writes a copy of the newest state to a new file. Others can read and write meanwhile.
  answer<void> backup(const std::string &path) const {
    detail::place place;
    return detail::done(teak_db_backup(raw(), path.c_str(), nullptr, nullptr, place), place);
  }
  /// Calls a function with the progress in bytes: `void` or `step (std::uint64_t done,
  /// std::uint64_t total)`. Returns false if the function stopped it.
  template <class Function> answer<bool> backup(const std::string &path, Function &&progress) const {
    return told<teak_db_backup>(progress, path.c_str());
  }
  /// Writes the pages of the newest state that a copy of the state being read, or of a later one,
  /// lacks: see restore().
  answer<void> backup_since(const read_txn &since, const std::string &path) const {
    detail::place place;
    return detail::done(teak_db_backup_since(raw(), since.raw(), path.c_str(), nullptr, nullptr, place), place);
  }
  /// Writes a copy that is as small as possible. That of an encrypted database is encrypted with the
  /// same key.
  answer<void> backup_compact(const std::string &path) const {
    detail::place place;
    return detail::done(teak_db_backup_compact(raw(), path.c_str(), nullptr, nullptr, place), place);
  }
  /// Calls a function with the number of records copied, and a total of 0, because it is not known.
  template <class Function> answer<bool> backup_compact(const std::string &path, Function &&progress) const {
    return told<teak_db_backup_compact>(progress, path.c_str());
  }
  /// Writes a copy that is as small as possible, encrypted with this key and cipher. The default
  /// cipher is that of the database, if it is encrypted.
  answer<void> backup_compact_encrypted(const std::string &path, const encryption &encryption) const {
    detail::place place;
    const teak_encryption key = detail::raw(encryption);
    return detail::done(teak_db_backup_compact_encrypted(raw(), path.c_str(), &key, nullptr, nullptr, place), place);
  }
  /// Writes a copy that is as small as possible, and not encrypted, whether the database is or not.
  answer<void> backup_compact_decrypted(const std::string &path) const {
    detail::place place;
    return detail::done(teak_db_backup_compact_encrypted(raw(), path.c_str(), nullptr, nullptr, nullptr, place), place);
  }
  /// Changes the key of an encrypted database: see teak_db_change_key.
  answer<void> change_key(const encryption &encryption) const {
    detail::place place;
    const teak_encryption key = detail::raw(encryption);
    return detail::done(teak_db_change_key(raw(), &key, place), place);
  }
  /// Moves pages from the end of the file to free pages before it, and truncates the file.
  answer<void> compact() const {
    detail::place place;
    return detail::done(teak_db_compact(raw(), nullptr, nullptr, place), place);
  }
  /// Calls a function with the number of pages moved and the length of the file. Returns false if
  /// the function stopped it.
  template <class Function> answer<bool> compact(Function &&progress) const { return told<teak_db_compact>(progress); }
  /// Like compact, within the limits of the options. The report has the obstacle, if there was one.
  answer<compact_report> compact_with(const compact_options &options) const {
    return compact_with(options, [](std::uint64_t, std::uint64_t) {});
  }
  /// Calls a function with the number of pages moved and the length of the file.
  template <class Function> answer<compact_report> compact_with(const compact_options &options, Function &&progress) const {
    detail::called<std::remove_reference_t<Function>> called(progress);
    auto each = [](void *user, std::uint64_t done, std::uint64_t total) noexcept {
      return (*static_cast<decltype(called) *>(user))(done, total);
    };
    detail::place place;
    teak_compact_report report = {};
    report.size = sizeof report;
    const teak_code code = teak_db_compact_with(raw(), &options.raw_, &report, each, &called, place);
    called.throw_again();
    return detail::given<compact_report>(code, place, [&] {
      return compact_report{report.moved_pages, report.file_bytes, static_cast<compact_obstacle>(report.obstacle)};
    });
  }

  /// Checks every page of the newest state for damage. Damage is not an error of this function: the
  /// report has the count.
  answer<check_report> check() const {
    return check([](const damage &) { return step::stop; });
  }
  /// Calls a function with each damage: `void` or `step (const damage &)`.
  template <class Function> answer<check_report> check(Function &&function) const {
    detail::called<std::remove_reference_t<Function>> called(function);
    auto each = [](void *user, const teak_damage *raw) noexcept {
      const damage told{raw->page == UINT64_MAX ? std::nullopt : std::optional(raw->page), bytes_view(raw->table),
                        bytes_view(raw->detail).text()};
      return (*static_cast<decltype(called) *>(user))(told);
    };
    detail::place place;
    check_report report = {};
    report.size = sizeof report;
    const teak_code code = teak_db_check(raw(), &report, each, &called, nullptr, nullptr, place);
    called.throw_again();
    const bool is_report = code == TEAK_CORRUPTED && report.damages > 0;
    return detail::given<check_report>(is_report ? TEAK_OK : code, place, [&] { return report; });
  }
  /// Calls a function with the number of pages checked, and the total: `void` or `step
  /// (std::uint64_t done, std::uint64_t total)`. Nothing if the function stopped the check.
  template <class Function> answer<std::optional<check_report>> check_watched(Function &&progress) const {
    detail::called<std::remove_reference_t<Function>> called(progress);
    auto tell = [](void *user, std::uint64_t done, std::uint64_t total) noexcept {
      return (*static_cast<decltype(called) *>(user))(done, total);
    };
    detail::place place;
    check_report report = {};
    report.size = sizeof report;
    const teak_code code = teak_db_check(raw(), &report, nullptr, nullptr, tell, &called, place);
    called.throw_again();
    const bool is_report = code == TEAK_CORRUPTED && report.damages > 0;
    return detail::found<check_report>(is_report ? TEAK_OK : code, place, [&] { return report; });
  }
  /// Calls a function for each read transaction of any process: `reader_choice (const reader_info
  /// &) noexcept`. Returns whether it was called for all.
  template <class Function> answer<bool> each_reader(Function &&function) const {
    static_assert(std::is_nothrow_invocable_r_v<reader_choice, Function &, const reader_info &> &&
                      std::is_same_v<std::invoke_result_t<Function &, const reader_info &>, reader_choice>,
                  "a function for readers returns a teak::reader_choice and is noexcept");
    auto each = [](void *user, const teak_reader *reader) noexcept {
      return static_cast<int>((*static_cast<std::remove_reference_t<Function> *>(user))(*reader));
    };
    detail::place place;
    return detail::whether(teak_db_each_reader(raw(), each, const_cast<void *>(static_cast<const void *>(std::addressof(function))), place), place);
  }
  /// Waits at most this long until there is a commit newer than this one, of any process. Returns
  /// the number of the newest commit, or nothing if there is no newer one.
  answer<std::optional<std::uint64_t>> wait_for_commit(std::uint64_t after, std::chrono::milliseconds limit) const {
    detail::place place;
    std::uint64_t newest = 0;
    const auto limit_ms = static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(limit.count(), 0));
    const teak_code code = teak_db_wait_for_commit(raw(), after, limit_ms, &newest, place);
    return detail::found<std::uint64_t>(code, place, [&] { return newest; });
  }
  /// The id of the process that is writing now. Nothing if there is none, or if it is unknown here.
  answer<std::optional<std::uint32_t>> writer_process() const {
    detail::place place;
    std::uint32_t process = 0;
    const teak_code code = teak_db_writer_process(raw(), &process, place);
    return detail::found<std::uint32_t>(code, place, [&] { return process; });
  }
  /// The handle for teak.h.
  [[nodiscard]] teak_db raw() const noexcept { return opening_ ? opening_->db : teak_db{}; }

private:
  explicit database(std::shared_ptr<detail::opening> opening) noexcept : opening_(std::move(opening)) {}

  /// Runs an operation that reports its progress.
  template <auto Work, class Function, class... Arguments>
  answer<bool> told(Function &progress, Arguments... arguments) const {
    detail::called<Function> called(progress);
    auto each = [](void *user, std::uint64_t done, std::uint64_t total) noexcept {
      return (*static_cast<decltype(called) *>(user))(done, total);
    };
    detail::place place;
    const teak_code code = Work(raw(), arguments..., each, &called, place);
    called.throw_again();
    return detail::whether(code, place);
  }

  std::shared_ptr<detail::opening> opening_;
};

/// The default path of the lock file of the database at a path: see teak_lock_file_of.
inline answer<std::string> lock_file_of(const std::string &path) {
  detail::place place;
  char lock_file[8192];
  const teak_code code = teak_lock_file_of(path.c_str(), lock_file, sizeof lock_file, place);
  return detail::given<std::string>(code, place, [&] { return std::string(lock_file); });
}

/// Deletes the database at a path with its lock file. Returns false if there is none. Errors: in_use
/// if a process has it open.
inline answer<bool> delete_database(const std::string &path) {
  detail::place place;
  return detail::whether(teak_db_delete(path.c_str(), place), place);
}

/// Writes a new random key to a new file, which only this user may read: see teak_key_create.
inline answer<void> create_key(const std::string &path) {
  detail::place place;
  return detail::done(teak_key_create(path.c_str(), place), place);
}

/// Advice about an errno of the system; empty for rare ones.
inline std::string_view remedy(int system_code) noexcept { return bytes_view(teak_remedy(system_code)).text(); }

/// Creates a database from a backup and the increments that follow it, and checks every page: see
/// teak_restore.
inline answer<check_report> restore(const std::string &backup, const std::vector<std::string> &increments, const std::string &target) {
  std::vector<const char *> paths;
  for (const std::string &increment : increments) paths.push_back(increment.c_str());
  detail::place place;
  check_report report = {};
  report.size = sizeof report;
  const teak_code code =
      teak_restore(backup.c_str(), paths.data(), paths.size(), target.c_str(), &report, nullptr, nullptr, place);
  return detail::given<check_report>(code, place, [&] { return report; });
}

/// Creates an encrypted database from its backups, with its key: see teak_restore_encrypted.
inline answer<check_report> restore(const std::string &backup, const std::vector<std::string> &increments,
                                    const std::string &target, const encryption &encryption) {
  std::vector<const char *> paths;
  for (const std::string &increment : increments) paths.push_back(increment.c_str());
  detail::place place;
  check_report report = {};
  report.size = sizeof report;
  const teak_encryption key = detail::raw(encryption);
  const teak_code code = teak_restore_encrypted(backup.c_str(), paths.data(), paths.size(), target.c_str(), &key, &report,
                                                nullptr, nullptr, place);
  return detail::given<check_report>(code, place, [&] { return report; });
}

/// Copies all readable records of a damaged database into a new one: see teak_salvage. Nothing if
/// the function for the progress stopped it.
inline answer<std::optional<salvage_report>> salvage(const std::string &source, const std::string &target,
                                                     const salvage_options &options = salvage_options()) {
  detail::place place;
  const std::vector<teak_comparison> comparisons = options.comparisons_.raw();
  teak_salvage_options raw = {};
  raw.size = sizeof raw;
  raw.comparisons = comparisons.data();
  raw.comparison_count = comparisons.size();
  teak_encryption key = {};
  if (options.encryption_) {
    key = detail::raw(*options.encryption_);
    raw.encryption = &key;
  }
  auto line = options.line_;
  if (line) {
    raw.each_user = &line;
    raw.each = [](void *user, teak_slice text) noexcept {
      (*static_cast<decltype(line) *>(user))(bytes_view(text).text());
      return 0;
    };
  }
  auto progress = options.progress_;
  if (progress) {
    raw.progress_user = &progress;
    raw.progress = [](void *user, std::uint64_t done, std::uint64_t total) noexcept {
      return static_cast<int>((*static_cast<decltype(progress) *>(user))(done, total) == step::stop);
    };
  }
  salvage_report report = {};
  report.size = sizeof report;
  const teak_code code = teak_salvage(source.c_str(), target.c_str(), &raw, &report, place);
  return detail::found<salvage_report>(code, place, [&] { return report; });
}

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_DATABASE_HPP
