// Stores in Teak. Part of dbwrapper.hpp.

#ifndef TEAK_DBWRAPPER_TEAK_BACKEND_HPP
#define TEAK_DBWRAPPER_TEAK_BACKEND_HPP

#include <teak/dbwrapper/current_file.hpp>

#include <atomic>

namespace teak::dbwrapper {
inline namespace TEAK_DBWRAPPER_WAY {
namespace detail {

/// A state, as a read transaction.
struct teak_view : view {
  explicit teak_view(read_txn began) : txn(std::move(began)) {}
  read_txn txn;
};

/// Reads some records at a time. A search reads one, further steps read more and more.
class teak_position : public position {
public:
  teak_position(read_txn txn, table table) : txn_(std::move(txn)), cursor_(table.open_cursor(txn_)) {}

  [[nodiscard]] bool valid() const override { return at_ < count_; }
  [[nodiscard]] bytes_view key() const override { return valid() ? bytes_view(records_[at_].key) : bytes_view(); }
  [[nodiscard]] bytes_view value() const override { return valid() ? bytes_view(records_[at_].value) : bytes_view(); }
  void seek_to_first() override { begin_at(cursor_.move(txn_, teak::move::first)); }
  void seek(bytes_view key) override { begin_at(cursor_.seek(txn_, teak::seek::at_least, key)); }
  void next() override {
    if (++at_ < count_) return;
    if (records_.size() < records_max) records_.resize(4 * records_.size());
    teak::detail::place place;
    const teak_code code =
        teak_cursor_read(cursor_.raw(), txn_.raw(), TEAK_FORWARD, records_.data(), records_.size(), &count_, place);
    if (!teak::detail::whether(code, place)) count_ = 0;
    // The first reading after a search begins with the record that was found.
    at_ = std::exchange(is_found_, false) ? 1 : 0;
  }

private:
  static constexpr std::size_t records_max = 256;

  void begin_at(const std::optional<record> &found) {
    records_.resize(1);
    at_ = 0;
    is_found_ = found.has_value();
    count_ = found ? 1 : 0;
    if (found) records_[0] = {found->key.raw(), found->value.raw()};
  }

  read_txn txn_;
  cursor cursor_;
  std::vector<teak_record> records_{1};
  std::size_t at_ = 0, count_ = 0;
  /// The record is that of a search.
  bool is_found_ = false;
};

/// A directory of Teak has the layout of the library with LevelDB's interface: `CURRENT` names the
/// file, and the records are its table `main`.
class teak_backend : public backend {
public:
  explicit teak_backend(const options &options) : db_(opened(options)) {
    max_key_length_ = db_.stat().max_key_len;
    if (!open_tables()) {
      create_tables();
      open_tables();
    }
    if (options.in_memory || read_current(options.path) == current_content) return;
    db_.sync();
    write_current(options.path);
  }

  [[nodiscard]] const char *name() const noexcept override { return "teak"; }

  bool get(bytes_view key, std::string &value) const override {
    if (!is_possible(key)) return false;
    const read_txn txn = db_.begin_read();
    const std::optional<bytes_view> found = records_.get(txn, key);
    if (found) value.assign(found->text());
    return found.has_value();
  }

  void write_first(bytes_view key, bytes_view value) override {
    if (records_.stat(db_.begin_read()).records > 0) return;
    write_txn txn = db_.begin_write();
    if (records_.stat(txn).records == 0) records_.insert(txn, key, value);
    // Without a change, too: this waits until readers see the commits of other processes.
    txn.commit();
  }

  [[nodiscard]] bool contains(bytes_view key) const override {
    return is_possible(key) && records_.contains(db_.begin_read(), key);
  }

  void apply(const batch &batch, bool is_synced) override {
    if (batch.count() == 0) {
      if (is_synced) db_.sync();
      return;
    }
    const counted in_memory(batch_bytes_, batch.approximate_size());
    std::vector<record> written;
    std::vector<bytes_view> erased;
    for (const change &last : last_changes(batch)) {
      if (last.is_write)
        written.push_back(last.record);
      else
        erased.push_back(last.record.key);
    }
    write_txn txn = db_.begin_write();
    txn.set_durability(is_synced ? durability::durable : durability::lazy);
    records_.remove_many(txn, erased);
    records_.insert_many(txn, written);
    txn.commit();
  }

  [[nodiscard]] std::unique_ptr<const view> take_view() const override {
    return std::make_unique<teak_view>(db_.begin_read());
  }

  [[nodiscard]] std::unique_ptr<position> iterate(const view *view) const override {
    read_txn txn = view ? static_cast<const teak_view *>(view)->txn.clone() : db_.begin_read();
    return std::make_unique<teak_position>(std::move(txn), records_);
  }

  [[nodiscard]] std::uint64_t estimate_size(bytes_view begin, bytes_view end) const override {
    const read_txn txn = db_.begin_read();
    const table_stat stat = records_.stat(txn);
    const auto bytes = static_cast<double>((stat.leaf_pages + stat.value_pages) * db_.stat().page_size);
    const auto estimated = static_cast<double>(records_.estimate(txn, range::from(begin).until(end)).records);
    return stat.records == 0 ? 0 : static_cast<std::uint64_t>(bytes * estimated / static_cast<double>(stat.records));
  }

  void compact_range(bytes_view, bytes_view) override {
    constexpr unsigned free_percent = 5;
    db_.compact_with(compact_options().until_free_percent(free_percent));
  }
  void compact_full() override { db_.compact_with(compact_options()); }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return sizeof *this + batch_bytes_.load(); }

private:
  static constexpr std::string_view main_name = "main", long_keys_name = "leveldb.long-keys", properties_name = "leveldb.properties";
  static constexpr std::string_view comparator_key = "comparator", comparator = "leveldb.BytewiseComparator";

  struct change {
    teak::record record;
    bool is_write;
  };

  /// Bytes of a batch that is being written.
  struct counted {
    counted(std::atomic<std::uint64_t> &sum, std::uint64_t bytes) noexcept : sum_(sum), bytes_(bytes) { sum_ += bytes_; }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() { sum_ -= bytes_; }
    std::atomic<std::uint64_t> &sum_;
    std::uint64_t bytes_;
  };

  /// The last change of each key, in the order of keys.
  [[nodiscard]] std::vector<change> last_changes(const batch &batch) const {
    std::vector<change> changes;
    changes.reserve(batch.count());
    const auto add = [&](bytes_view key, bytes_view value, bool is_write) {
      if (!is_possible(key)) {
        throw error("a key has " + std::to_string(key.size()) + " bytes; keys have fewer than " + std::to_string(max_key_length_));
      }
      changes.push_back({{key, value}, is_write});
    };
    batch.each([&](bytes_view key, bytes_view value) { add(key, value, true); },
               [&](bytes_view key) { add(key, bytes_view(), false); });
    const auto is_before = [](const change &a, const change &b) { return a.record.key < b.record.key; };
    if (!std::is_sorted(changes.begin(), changes.end(), is_before))
      std::stable_sort(changes.begin(), changes.end(), is_before);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < changes.size(); at++) {
      const bool is_last = at + 1 == changes.size() || changes[at].record.key != changes[at + 1].record.key;
      if (is_last) changes[kept++] = changes[at];
    }
    changes.resize(kept);
    return changes;
  }

  /// In the layout of LevelDB's interface, records with longer keys begin at the longest.
  [[nodiscard]] bool is_possible(bytes_view key) const noexcept { return key.size() < max_key_length_; }

  static database opened(const options &options) {
    teak::options settings;
    if (options.cache_bytes > 0) {
      constexpr std::uint64_t least = 16 << 20;
      settings.write_memory_bytes(std::max(options.cache_bytes, least));
    }
    if (options.in_memory) return database::open_in_memory(settings);
    const std::filesystem::path directory = options.path;
    std::filesystem::create_directories(directory);
    refuse_others(directory);
    const std::string file = teak_file(directory).string();
    if (options.wipe) delete_database(file);
    return database::open(file, settings.file_mode(0644));
  }

  /// Returns whether all tables exist.
  bool open_tables() {
    const read_txn txn = db_.begin_read();
    const std::optional<table> main = txn.open_table(main_name), long_keys = txn.open_table(long_keys_name),
                               properties = txn.open_table(properties_name);
    if (long_keys && long_keys->stat(txn).records > 0)
      throw error("the database has keys of " + std::to_string(max_key_length_) + " bytes or more, which only LevelDB's interface reads");
    if (!main || !long_keys || !properties) return false;
    const std::optional<bytes_view> name = properties->get(txn, comparator_key);
    if (name && *name != comparator) throw error("the database has another order of keys: " + name->to_string());
    records_ = *main;
    return true;
  }

  /// Creates the tables that do not exist. Others may do so at the same time. The commit waits until
  /// readers see the tables, also if another process has created them.
  void create_tables() {
    write_txn txn = db_.begin_write();
    txn.create_table(main_name);
    txn.create_table(long_keys_name);
    txn.create_table(properties_name).insert_new(txn, comparator_key, comparator);
    txn.commit();
  }

  database db_;
  table records_;
  std::uint64_t max_key_length_ = 0;
  /// Bytes of the batches that are being written or wait.
  std::atomic<std::uint64_t> batch_bytes_{0};
};

} // namespace detail
} // namespace TEAK_DBWRAPPER_WAY
} // namespace teak::dbwrapper

#endif // TEAK_DBWRAPPER_TEAK_BACKEND_HPP
