// Options for opening databases and creating tables. Part of teak.hpp.

#ifndef TEAK_OPTIONS_HPP
#define TEAK_OPTIONS_HPP

#include <teak/encryption.hpp>

#include <chrono>
#include <functional>

namespace teak {
inline namespace TEAK_WAY {

/// Whether a database is created: see teak_create.
enum class create : std::uint32_t { if_missing = TEAK_CREATE_IF_MISSING, never = TEAK_CREATE_NEVER, always = TEAK_CREATE_NEW };
/// The access to a database: see teak_access.
enum class access : std::uint32_t { write = TEAK_ACCESS_WRITE, read = TEAK_ACCESS_READ };
/// Whether others may have a database open at the same time: see teak_sharing.
enum class sharing : std::uint32_t { processes = TEAK_SHARING_PROCESSES, alone = TEAK_SHARING_ALONE, unlocked = TEAK_SHARING_UNLOCKED };
/// Whether a database may be on a network file system: see teak_network.
enum class network : std::uint32_t { refuse = TEAK_NETWORK_REFUSE, allow = TEAK_NETWORK_ALLOW };
/// How to treat parts of the file that cannot be read: see teak_faults.
enum class faults : std::uint32_t { handle = TEAK_FAULTS_HANDLE, leave = TEAK_FAULTS_LEAVE };
/// When a commit becomes durable: see teak_durability.
enum class durability : std::uint32_t {
  durable = TEAK_DURABILITY_DURABLE,
  async = TEAK_DURABILITY_ASYNC,
  lazy = TEAK_DURABILITY_LAZY
};
/// When pages are compared with their checksums: see teak_verification.
enum class verification : std::uint32_t {
  first_touch = TEAK_VERIFICATION_FIRST_TOUCH,
  always = TEAK_VERIFICATION_ALWAYS,
  off = TEAK_VERIFICATION_OFF
};
/// Whether the system reads ahead: see teak_read_ahead.
enum class read_ahead : std::uint32_t { off = TEAK_READ_AHEAD_OFF, automatic = TEAK_READ_AHEAD_AUTO, on = TEAK_READ_AHEAD_ON };
/// The order of keys or values: see teak_order. An order of the application has a name instead of a
/// number.
enum class order : std::uint32_t {
  bytes = TEAK_ORDER_BYTES,
  reverse_bytes = TEAK_ORDER_REVERSE_BYTES,
  integer = TEAK_ORDER_INTEGER
};
/// An event: see teak_event_kind. Later versions may add kinds.
enum class event : std::uint32_t {
  opened = TEAK_EVENT_OPENED,
  commit = TEAK_EVENT_COMMIT,
  flush = TEAK_EVENT_FLUSH,
  grown = TEAK_EVENT_GROWN,
  shrunk = TEAK_EVENT_SHRUNK,
  slow_reader = TEAK_EVENT_SLOW_READER,
  writer_died = TEAK_EVENT_WRITER_DIED,
  write_failed = TEAK_EVENT_POISONED,
  closed = TEAK_EVENT_CLOSED,
  other = TEAK_EVENT_OTHER,
  name_lost = TEAK_EVENT_NAME_LOST
};
/// The answer to a slow reader: see teak_slow_reader_choice.
enum class slow_reader_choice : int {
  grow = TEAK_SLOW_READER_GROW,
  wait = TEAK_SLOW_READER_WAIT,
  cancel = TEAK_SLOW_READER_CANCEL,
  give_up = TEAK_SLOW_READER_GIVE_UP
};

/// The compression of a database: see teak_compression.
enum class compression : std::uint32_t {
  none = TEAK_COMPRESSION_NONE,
  lz4 = TEAK_COMPRESSION_LZ4,
  zstd = TEAK_COMPRESSION_ZSTD
};

/// A reader of an old state that keeps space which a write transaction needs: see teak_slow_reader.
using slow_reader = teak_slow_reader;
/// The limits of a file's length, and how the file grows and shrinks: see teak_geometry.
using geometry = teak_geometry;
/// Whether a walk or an operation continues.
enum class step { go_on, stop };

/// A function that receives the work done and the total from time to time.
using watch = std::function<void(std::uint64_t done, std::uint64_t total)>;
/// The saved part of a damaged database: see teak_salvage_report.
using salvage_report = teak_salvage_report;
/// An order of the application: returns a number below, equal to or above zero. It throws nothing
/// and captures nothing, so it need not be kept.
using comparison = int (*)(bytes_view a, bytes_view b) noexcept;

namespace detail {

/// Orders of the application, in the form of C.
class comparisons {
public:
  void add(std::string name, teak::comparison compare) {
    names_.push_back(std::move(name));
    orders_.push_back(compare);
  }
  [[nodiscard]] std::vector<teak_comparison> raw() const {
    std::vector<teak_comparison> raw;
    for (std::size_t i = 0; i < names_.size(); i++)
      raw.push_back({names_[i].c_str(), &comparisons::ordered, reinterpret_cast<void *>(orders_[i])});
    return raw;
  }

private:
  static int ordered(void *user, teak_slice a, teak_slice b) noexcept {
    return reinterpret_cast<teak::comparison>(user)(bytes_view(a), bytes_view(b));
  }

  std::vector<std::string> names_;
  std::vector<teak::comparison> orders_;
};

/// Notifies a watch, which throws nothing.
inline void watched(void *user, std::uint64_t done, std::uint64_t total) noexcept { (*static_cast<watch *>(user))(done, total); }

} // namespace detail

/// The options for opening a database. Fields that are not set have the defaults of teak_options.
///
/// ```cpp
/// auto options = teak::options().page_size(16384).sharing(teak::sharing::alone).durability(teak::durability::lazy);
/// teak::database alone = teak::database::open(path, options);
/// assert(alone.stat().page_size == 16384);
/// ```
class options {
public:
  options() noexcept { raw_.size = sizeof raw_; }
  /// The page size of a new database in bytes: a power of two from 4096 to 65536.
  options &page_size(std::uint32_t bytes) noexcept { return set(raw_.page_size, bytes); }
  /// Whether the database is created.
  options &create(teak::create create) noexcept { return set(raw_.create, create); }
  /// The access.
  options &access(teak::access access) noexcept { return set(raw_.access, access); }
  /// Whether others may have the database open at the same time.
  options &sharing(teak::sharing sharing) noexcept { return set(raw_.sharing, sharing); }
  /// Whether the database may be on a network file system.
  options &network(teak::network network) noexcept { return set(raw_.network, network); }
  /// Whether a commit fails when the file was removed, renamed or replaced since it was opened.
  options &require_name(bool is_required) noexcept { return set(raw_.require_name, is_required ? 1 : 0); }
  /// How to treat parts of the file that cannot be read.
  options &faults(teak::faults faults) noexcept { return set(raw_.faults, faults); }
  /// The durability of commits that do not set one. Stored in the file.
  options &durability(teak::durability durability) noexcept { return set(raw_.durability, durability); }
  /// When pages are compared with their checksums.
  options &verification(teak::verification verification) noexcept { return set(raw_.verification, verification); }
  /// The bytes that lazy commits may write before they are flushed. Stored in the file.
  options &flush_after_bytes(std::uint64_t bytes) noexcept { return set(raw_.flush_after_bytes, bytes); }
  /// The age at which a lazy commit is flushed. Stored in the file.
  options &flush_after(std::chrono::milliseconds age) noexcept {
    return set(raw_.flush_after_ms, static_cast<std::uint64_t>(age.count()));
  }
  /// The maximum length of the file in bytes; UINT64_MAX for no limit. Stored in the file.
  options &size_limit_bytes(std::uint64_t bytes) noexcept { return set(raw_.size_limit_bytes, bytes); }
  /// All sizes of the file. Stored in the file.
  options &geometry(const teak::geometry &geometry) {
    geometry_ = geometry;
    return *this;
  }
  /// The bytes of pages that a write transaction keeps in memory.
  options &write_memory_bytes(std::uint64_t bytes) noexcept { return set(raw_.write_memory_bytes, bytes); }
  /// The bytes of the journal for small durable commits; TEAK_NO_JOURNAL for none.
  options &journal_bytes(std::uint64_t bytes) noexcept { return set(raw_.journal_bytes, bytes); }
  /// The number of pages that a commit may move from the end of the file, in per cent of those that
  /// it writes; TEAK_MOVE_NOTHING for none.
  options &move_percent(std::uint32_t percent) noexcept { return set(raw_.move_percent, percent); }
  /// Whether the system reads ahead.
  options &read_ahead(teak::read_ahead read_ahead) noexcept { return set(raw_.read_ahead, read_ahead); }

  /// Adds an order of the application, under a name that is stored in the file. Several threads may
  /// call it at the same time. It must not use this library.
  options &comparison(std::string name, teak::comparison compare) {
    comparisons_.add(std::move(name), compare);
    return *this;
  }
  /// The path of the lock file, if it is not next to the database. All processes that have the
  /// database open at the same time must use the same path.
  options &lock_file(std::string path) {
    lock_file_ = std::move(path);
    return *this;
  }
  /// Closes without a flush if every open commit is lazy. The next opening in the same boot finds
  /// them; a power cut may take them.
  options &leave_lazy(bool leaves = true) noexcept { return set(raw_.leave_lazy, leaves ? 1U : 0U); }
  /// Leaves the lock file when the last process closes the database.
  options &leave_lock_file(bool leaves = true) noexcept { return set(raw_.leave_lock_file, leaves ? 1U : 0U); }
  /// The permissions of files that are created, less the mask of the process.
  options &file_mode(std::uint32_t mode) noexcept { return set(raw_.file_mode, mode); }
  /// The compression of a new database, with a level from 1 to 19 for zstd. An existing database is
  /// what it is.
  options &compression(teak::compression compression, unsigned level = 0) noexcept {
    raw_.compression = static_cast<std::uint32_t>(compression);
    raw_.compression_level = level;
    return *this;
  }
  /// The bytes of decoded pages of an encrypted or compressed database that this process keeps in
  /// memory.
  options &decoded_cache_bytes(std::uint64_t bytes) noexcept {
    raw_.decoded_cache_bytes = bytes;
    return *this;
  }
  /// The key of an encrypted database, with which a new database is encrypted.
  options &encryption(teak::encryption encryption) {
    encryption_ = std::move(encryption);
    return *this;
  }

  /// Calls a function object with events: `void (event, std::string_view) noexcept`. It must live
  /// as long as the process has the database open. It is called in the thread that caused the
  /// event, possibly in several at a time. It must not use this library.
  ///
  /// ```cpp
  /// std::atomic<int> commits{0};
  /// auto count = [&](teak::event event, std::string_view) noexcept { commits += event == teak::event::commit; };
  /// {
  ///   teak::database watched = teak::database::open(path, teak::options().on_event(count));
  ///   teak::write_txn txn = watched.begin_write();
  ///   txn.create_table("words");
  ///   txn.commit();
  /// }
  /// assert(commits == 1);
  /// ```
  template <class Handler> options &on_event(Handler &handler) noexcept {
    static_assert(std::is_nothrow_invocable_v<Handler &, teak::event, std::string_view>,
                  "an event handler is called with (teak::event, std::string_view) and is noexcept");
    raw_.on_event = [](void *user, std::uint32_t kind, teak_slice text) noexcept {
      (*static_cast<Handler *>(user))(static_cast<teak::event>(kind), bytes_view(text).text());
    };
    return set(raw_.event_user, address(handler));
  }
  /// A handler must outlive the call: pass one that has a name.
  template <class Handler> options &on_event(const Handler &&) = delete;

  /// Calls a function object about slow readers: `slow_reader_choice (const slow_reader &)
  /// noexcept`. It must live as long as the process has the database open. It is called in the
  /// thread that writes, and must not use its transaction.
  template <class Handler> options &on_slow_reader(Handler &handler) noexcept {
    static_assert(std::is_nothrow_invocable_r_v<slow_reader_choice, Handler &, const slow_reader &>,
                  "a handler of slow readers is called with (const teak::slow_reader &), answers with a teak::slow_reader_choice and is noexcept");
    raw_.on_slow_reader = [](void *user, const teak_slow_reader *reader) noexcept {
      return static_cast<int>((*static_cast<Handler *>(user))(*reader));
    };
    return set(raw_.slow_reader_user, address(handler));
  }
  /// A handler must outlive the call: pass one that has a name.
  template <class Handler> options &on_slow_reader(const Handler &&) = delete;

private:
  friend class database;

  template <class Field, class Value> options &set(Field &field, Value value) noexcept {
    field = static_cast<Field>(value);
    return *this;
  }
  template <class Handler> static void *address(Handler &handler) noexcept {
    static_assert(!std::is_const_v<Handler> && !std::is_function_v<Handler>, "a handler is an object that is not const");
    return static_cast<void *>(std::addressof(handler));
  }
  template <class Use> teak_code use(Use &&use) const {
    teak_options raw = raw_;
    const std::vector<teak_comparison> comparisons = comparisons_.raw();
    raw.comparisons = comparisons.data();
    raw.comparison_count = comparisons.size();
    raw.geometry = geometry_ ? &*geometry_ : nullptr;
    raw.lock_file = lock_file_ ? lock_file_->c_str() : nullptr;
    teak_encryption encryption = {};
    if (encryption_) {
      encryption = detail::raw(*encryption_);
      raw.encryption = &encryption;
    }
    return use(raw);
  }

  teak_options raw_ = {};
  std::optional<teak::geometry> geometry_;
  std::optional<std::string> lock_file_;
  std::optional<teak::encryption> encryption_;
  detail::comparisons comparisons_;
};

/// The obstacle of a compaction: see teak_compact_obstacle. Later versions may add some.
enum class compact_obstacle : std::uint64_t {
  reached = TEAK_COMPACT_REACHED,
  limit = TEAK_COMPACT_LIMIT,
  readers = TEAK_COMPACT_READERS,
  named_snapshots = TEAK_COMPACT_NAMED_SNAPSHOTS,
  room = TEAK_COMPACT_ROOM,
  writers = TEAK_COMPACT_WRITERS,
  other = TEAK_COMPACT_OTHER
};

/// The result of a compaction.
struct compact_report {
  /// Pages that were moved.
  std::uint64_t moved_pages;
  /// The length of the file in bytes.
  std::uint64_t file_bytes;
  /// The obstacle, or that there was none.
  compact_obstacle obstacle;
};

/// Limits of a compaction: see teak_compact_options.
class compact_options {
public:
  /// Stop when the file is no longer than this.
  compact_options &until_file_bytes(std::uint64_t bytes) noexcept { return set(raw_.until_file_bytes, bytes); }
  /// Stop when no more than this percentage of the file is free.
  compact_options &until_free_percent(unsigned percent) noexcept { return set(raw_.until_free_percent, percent); }
  /// Stop after moving about this many bytes.
  compact_options &max_moved_bytes(std::uint64_t bytes) noexcept { return set(raw_.max_moved_bytes, bytes); }
  /// The bytes to move per commit, at most.
  compact_options &max_commit_bytes(std::uint64_t bytes) noexcept { return set(raw_.max_commit_bytes, bytes); }
  /// Pause this long between two commits that move pages.
  compact_options &pause(std::chrono::milliseconds pause) noexcept {
    return set(raw_.pause_ms, static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(pause.count(), 0)));
  }
  /// Stop if other writers keep one of the commits waiting for longer than this, which must not be
  /// zero.
  compact_options &max_wait(std::chrono::milliseconds wait) noexcept {
    return set(raw_.max_wait_ms, static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(wait.count(), 1)));
  }

private:
  friend class database;

  compact_options &set(std::uint64_t &field, std::uint64_t value) noexcept {
    field = value;
    return *this;
  }

  teak_compact_options raw_ = {sizeof(teak_compact_options), 0, 0, 0, 0, 0, 0};
};

/// Options for saving a damaged database.
class salvage_options {
public:
  /// Adds an order of its tables.
  salvage_options &comparison(std::string name, teak::comparison compare) {
    comparisons_.add(std::move(name), compare);
    return *this;
  }
  /// The key of an encrypted database, which the new one gets, too.
  salvage_options &encryption(teak::encryption encryption) {
    encryption_ = std::move(encryption);
    return *this;
  }
  /// Calls a function with a line of text for each thing that was saved or lost. The function
  /// throws nothing.
  salvage_options &each_line(std::function<void(std::string_view line)> tell) {
    line_ = std::move(tell);
    return *this;
  }
  /// Calls a function with the number of pages read and the total: `void` or `step (std::uint64_t
  /// done, std::uint64_t total)`. The function throws nothing.
  template <class Function> salvage_options &progress(Function tell) {
    // An empty std::function is no function. A lambda is never empty.
    if constexpr (std::is_constructible_v<bool, const Function &> &&
                  !std::is_convertible_v<const Function &, bool>) {
      if (!static_cast<bool>(tell)) {
        progress_ = nullptr;
        return *this;
      }
    }
    progress_ = [tell = std::move(tell)](std::uint64_t done, std::uint64_t total) mutable {
      if constexpr (std::is_void_v<std::invoke_result_t<Function &, std::uint64_t, std::uint64_t>>) {
        tell(done, total);
        return step::go_on;
      } else {
        return tell(done, total);
      }
    };
    return *this;
  }

private:
  friend answer<std::optional<salvage_report>> salvage(const std::string &, const std::string &, const salvage_options &);

  std::function<void(std::string_view line)> line_;
  std::function<step(std::uint64_t done, std::uint64_t total)> progress_;
  detail::comparisons comparisons_;
  std::optional<teak::encryption> encryption_;
};

/// The options for creating a table with one value per key. Fields that are not set have the
/// defaults of teak_table_options.
///
/// ```cpp
/// teak::write_txn txn = db.begin_write();
/// teak::table blocks = txn.create_table("blocks", teak::table_options().order(teak::order::integer));
/// blocks.insert(txn, teak::little_endian(std::uint64_t{840000}), "halving");
/// ```
class table_options {
public:
  /// The order of keys.
  table_options &order(teak::order order) {
    order_ = order;
    comparison_.clear();
    return *this;
  }
  /// By a comparison that the database was opened with.
  table_options &comparison(std::string name) {
    comparison_ = std::move(name);
    return *this;
  }
  /// Stores each key whole in its page, instead of sharing a prefix with its neighbours.
  table_options &whole_keys() {
    whole_keys_ = 1;
    return *this;
  }
  /// Makes a counted table, in which ranks are found in two descents.
  table_options &counted() {
    counted_ = 1;
    return *this;
  }
  /// The alignment of values in memory in bytes: 1, 2, 4, 8 or 16.
  table_options &value_align(std::uint32_t bytes) {
    value_align_ = bytes;
    return *this;
  }

private:
  friend class write_txn;
  friend class multi_table_options;
  [[nodiscard]] teak_table_options raw() const noexcept {
    teak_table_options raw = {};
    raw.size = sizeof raw;
    raw.order = static_cast<std::uint32_t>(order_);
    raw.whole_keys = whole_keys_;
    raw.counted = counted_;
    raw.value_align = value_align_;
    if (!comparison_.empty()) {
      raw.order = TEAK_ORDER_CUSTOM;
      raw.comparison = comparison_.c_str();
    }
    return raw;
  }

  teak::order order_ = teak::order::bytes;
  std::string comparison_;
  std::uint32_t whole_keys_ = 0, counted_ = 0, value_align_ = 0;
};

/// The options for creating a table in which keys have several values.
class multi_table_options {
public:
  /// The order of keys.
  multi_table_options &order(teak::order order) {
    keys_.order(order);
    return *this;
  }
  /// By a comparison that the database was opened with.
  multi_table_options &comparison(std::string name) {
    keys_.comparison(std::move(name));
    return *this;
  }
  /// The order of the values of a key.
  multi_table_options &value_order(teak::order order) {
    value_order_ = order;
    value_comparison_.clear();
    return *this;
  }
  /// By a comparison that the database was opened with.
  multi_table_options &value_comparison(std::string name) {
    value_comparison_ = std::move(name);
    return *this;
  }
  /// The size of each value in bytes; TEAK_VALUE_SIZE_AS_FIRST if the first one decides.
  multi_table_options &value_size(std::uint32_t bytes) {
    value_size_ = bytes;
    return *this;
  }

private:
  friend class write_txn;
  [[nodiscard]] teak_table_options raw() const noexcept {
    teak_table_options raw = keys_.raw();
    raw.several_values = 1;
    raw.value_order = static_cast<std::uint32_t>(value_order_);
    raw.value_size = value_size_;
    if (!value_comparison_.empty()) {
      raw.value_order = TEAK_ORDER_CUSTOM;
      raw.value_comparison = value_comparison_.c_str();
    }
    return raw;
  }

  table_options keys_;
  teak::order value_order_ = teak::order::bytes;
  std::string value_comparison_;
  std::uint32_t value_size_ = 0;
};

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_OPTIONS_HPP
