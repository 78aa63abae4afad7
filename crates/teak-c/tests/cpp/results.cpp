// Results instead of exceptions: built with TEAK_RESULTS, and without exceptions.
#include "common.hpp"

#if !defined(TEAK_RESULTS) || defined(__cpp_exceptions)
#error "to be built with -DTEAK_RESULTS -fno-exceptions"
#endif

/// An example of a function of the application.
static teak::result<std::uint64_t> add(teak::database &db, teak::bytes_view key, teak::bytes_view value) {
  auto txn = db.begin_write();
  if (!txn.ok()) return txn.error();
  const auto words = txn->create_table("words");
  if (!words.ok()) return words.error();
  const auto is_new = words->insert_new(*txn, key, value);
  if (!is_new.ok()) return is_new.error();
  if (!*is_new) return std::uint64_t{0};
  return txn->commit();
}

static void walks(teak::database &db) {
  const auto reader = db.begin_read();
  const auto words = reader->open_table("words");
  assert(words.ok() && words->has_value());
  int walked = 0;
  for (const auto record : (*words)->records(*reader, teak::range::from("a"))) {
    assert(record.ok());
    walked += record->key == "ash" && record->value == "1";
  }
  assert(walked == 1);
}

/// An error is the last element of a walk.
static void walks_end_with_their_error(teak::database &db) {
  auto txn = db.begin_write();
  const auto words = txn->create_table("words");
  auto late = words->records(*txn);
  assert(txn->abort().ok());
  int good = 0, bad = 0;
  for (const auto record : late) {
    good += record.ok();
    bad += !record.ok() && record.error().is<teak::invalid_handle>();
  }
  assert(good == 0 && bad == 1);
}

int main(int argc, char **argv) {
  assert(argc == 2);
  const std::string path = argv[1] + std::string("/results.teak");
  const auto none = teak::database::open(path, teak::options().create(teak::create::never));
  assert(!none.ok() && none.error().is<teak::file_not_found>() && none.error().what()[0] != 0);
  auto db = teak::database::open(path);
  assert(db.ok());
  const auto first = add(*db, "ash", "1");
  assert(first.ok() && *first > 0);
  const auto second = add(*db, "ash", "2");
  assert(second.ok() && *second == 0);
  assert(add(*db, std::string(5000, 'a'), "").error().code() == TEAK_KEY_TOO_LONG);
  assert(!teak::from_big_endian<std::uint32_t>("abc").ok());
  walks(*db);
  walks_end_with_their_error(*db);
  auto txn = db->begin_write();
  {
    auto part = txn->savepoint();
    assert(txn->create_table("undone").ok());
  }
  assert(!txn->open_table("undone")->has_value());
  assert(db->close().error().code() == TEAK_BUSY && txn->abort().ok() && db->close().ok());
}
