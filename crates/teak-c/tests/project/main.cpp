// Writes a record and reads it.
#include <teak.hpp>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const teak::database db = teak::database::open(argv[1]);
  teak::write_txn txn = db.begin_write();
  const teak::table words = txn.create_table("words");
  words.insert(txn, "ash", "1");
  const bool is_there = words.get(txn, "ash") == teak::bytes_view("1");
  txn.commit();
  return is_there ? 0 : 1;
}
