// Compressed databases: their creation, and what is reported.
#include "common.hpp"

static teak::database open(const std::string &path, const teak::options &options) {
  return teak::database::open(path, options);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const std::string path = std::string(argv[1]) + "/words.teak";
  {
    const auto options = teak::options().compression(teak::compression::zstd, 5).decoded_cache_bytes(1 << 20);
    teak::database db = open(path, options);
    teak::write_txn txn = db.begin_write();
    txn.create_table("words").insert(txn, "key", "value");
    txn.commit();
  }
  const teak::database db = open(path, teak::options());
  assert(db.stat().compression == TEAK_COMPRESSION_ZSTD && db.stat().compression_level == 5);
  const teak::read_txn txn = db.begin_read();
  assert(txn.open_table("words").value().get(txn, "key")->text() == "value");
}
