// Tables whose records expire.
#include "common.hpp"

using namespace std::chrono_literals;
using clock_type = std::chrono::system_clock;

static void records(teak::write_txn &txn, const teak::expiring_table &cache) {
  cache.insert(txn, "a", "1");
  cache.insert(txn, "b", "2", teak::expiry::never());
  cache.insert(txn, "c", "3", clock_type::time_point());
  cache.insert(txn, "d", "4", 1min);
  const auto a = cache.get(txn, "a");
  assert(a && a->value == "1" && a->expires && *a->expires > clock_type::now() + 50min);
  assert(!cache.get(txn, "b")->expires && !cache.get(txn, "c") && !cache.get(txn, "x"));
  std::string keys;
  assert(cache.each(txn, [&](teak::bytes_view key, teak::bytes_view) { keys += key.to_string(); }));
  assert(keys == "abd");
  assert(!cache.insert_new(txn, "a", "5") && cache.insert_new(txn, "c", "5", 1h));
  assert(cache.set_expiry(txn, "d", clock_type::time_point()));
  assert(!cache.set_expiry(txn, "d", 1h));
  const teak::expiry_stat stat = cache.stat(txn);
  assert(stat.records == 3 && stat.expired == 1 && stat.ttl_ms == 3600 * 1000);
  assert(cache.remove_expired(txn) == 1);
  assert(cache.remove(txn, "b") && !cache.remove(txn, "b"));
}

static void limits(teak::write_txn &txn, const teak::expiring_table &cache) {
  cache.set_options(txn, teak::expiry_options().max_records(2));
  for (const char *key : {"z", "y", "x"}) cache.insert(txn, key, "v");
  assert(!cache.get(txn, "z") && cache.get(txn, "y") && cache.get(txn, "x"));
  cache.clear(txn);
  assert(cache.stat(txn).records == 0);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  teak::database db = teak::database::open(argv[1] + std::string("/expiring.teak"));
  teak::write_txn txn = db.begin_write();
  const auto cache = teak::expiring_table::create(txn, "cache", teak::expiry_options().ttl(1h));
  records(txn, cache);
  limits(txn, cache);
  assert(refuses<teak::table_mismatch>([&] { return txn.open_table("cache"); }));
  assert(!teak::expiring_table::open(txn, "missing"));
  assert(teak::expiring_table::open(txn, "cache"));
  txn.commit();
}
