// Writes a record and reads it, in a table and in a store for nodes.
#include <teak.hpp>
#include <teak/dbwrapper.hpp>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const teak::database db = teak::database::open(argv[1]);
  teak::write_txn txn = db.begin_write();
  const teak::table words = txn.create_table("words");
  words.insert(txn, "ash", "1");
  const bool is_there = words.get(txn, "ash") == teak::bytes_view("1");
  txn.commit();
  teak::dbwrapper::options options;
  options.in_memory = true;
  teak::dbwrapper::store store(options);
  store.write("ash", "1");
  return is_there && store.exists("ash") ? 0 : 1;
}
