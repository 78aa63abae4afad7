// Code that must not compile. Each case is compiled alone, by its number, and must fail with one of
// the texts after it. With the number 0 everything else compiles.
#include <teak.hpp>

#include <cstdint>

struct key_object {
  std::uint32_t height;
  std::uint32_t index;
};
enum class choice { one };

inline void cases(teak::database &db, teak::write_txn &txn, const teak::read_txn &reader, teak::table table, teak::multi_table several,
                  teak::cursor &cursor) {
  const key_object object{1, 2};
  const std::uint32_t number = 7;
  char text[8] = "ash";
  const std::vector<std::uint32_t> numbers{1};
  static_cast<void>(db), static_cast<void>(txn), static_cast<void>(reader), static_cast<void>(table), static_cast<void>(several);
  static_cast<void>(cursor), static_cast<void>(object), static_cast<void>(number), static_cast<void>(text), static_cast<void>(numbers);
#if CASE == 0
  static_cast<void>(table.get(reader, "ash"));
  table.insert(txn, teak::big_endian(number), std::string_view(text));
  table.insert(txn, teak::bytes_view(&object, sizeof object), "explicit");
#elif CASE == 1 // no matching || cannot convert || no viable conversion
  table.get(reader, object); // a structure does not convert to bytes
#elif CASE == 2 // no matching || cannot convert || no viable conversion
  table.get(reader, number); // a number does not convert
#elif CASE == 3 // no matching || cannot convert || no viable conversion
  table.insert(txn, "ash", number);
#elif CASE == 4 // no matching || cannot convert || no viable conversion
  table.insert(txn, "ash", &object); // an address does not convert
#elif CASE == 5 // no matching || cannot convert || no viable conversion
  table.get(reader, numbers); // a container of other elements does not convert
#elif CASE == 6 // deleted || conversion
  table.get(reader, nullptr);
#elif CASE == 7 // deleted
  table.get(reader, text); // its end is unclear
#elif CASE == 8 // no matching || cannot convert || no viable conversion
  table.get("ash", reader); // arguments in another order
#elif CASE == 9 // no matching || too many arguments
  table.get(reader, "ash", "1"); // no overload has three arguments
#elif CASE == 10 // cannot bind || no known conversion || no matching || discards qualifiers || cannot convert
  table.insert(reader, "ash", "1"); // a read transaction cannot write
#elif CASE == 11 // no matching || too few arguments
  several.insert(txn, "ash");
#elif CASE == 12 // has no member named || no member named
  several.get(reader, "ash"); // ambiguous with several values
#elif CASE == 13 // has no member named || no member named
  table.values(reader, "ash");
#elif CASE == 14 // deleted
  table.get(db.begin_read(), "ash"); // the value would outlive the transaction
#elif CASE == 15 // deleted
  for (auto record : table.records(db.begin_read())) static_cast<void>(record);
#elif CASE == 16 // deleted || implicitly-deleted
  teak::write_txn copy = txn; // handles are moved
#elif CASE == 17 // deleted || implicitly-deleted
  teak::database copy = db;
#elif CASE == 18 // say how wide the number is
  table.insert(txn, teak::big_endian(7), "1"); // the number of bytes is unclear
#elif CASE == 19 // say how wide the number is
  table.insert(txn, teak::little_endian(true), "1");
#elif CASE == 20 // say how wide the number is
  static_cast<void>(teak::from_big_endian<int>("1"));
#elif CASE == 21 // no matching || cannot convert || no viable conversion
  cursor.move(reader, 3); // not a number
#elif CASE == 22 // no matching || cannot convert || no viable conversion
  cursor.move(reader, teak::seek::exact);
#elif CASE == 23 // no matching || cannot convert || no viable conversion
  cursor.seek(reader, choice::one, "ash");
#elif CASE == 24 // no matching || cannot convert || no viable conversion
  table.records(reader, "ash"); // a key is not a range
#elif CASE == 25 // answers with nothing, or with a teak::step
  reader.each_table([](std::string_view, bool) { return true; }); // unclear whether true continues or stops
#elif CASE == 26 // deleted
  teak::options().on_event([](teak::event, std::string_view) noexcept {}); // the handler would be destroyed at once
#elif CASE == 27 // is noexcept
  auto handler = [](teak::event, std::string_view) {};
  teak::options().on_event(handler); // its exception could not be reported
#elif CASE == 28 // no matching || cannot convert || no viable conversion || no known conversion
  int least = 0;
  teak::options().comparison("mine", [least](teak::bytes_view, teak::bytes_view) noexcept { return least; });
#elif CASE == 29 // no matching || cannot convert || no viable conversion || no known conversion
  teak::options().comparison("mine", [](teak::bytes_view, teak::bytes_view) { return 0; });
#elif CASE == 30 // no matching || cannot convert || no viable conversion
  table.insert_many(txn, numbers);
#elif CASE == 31 // no matching || cannot convert || no viable conversion || invalid user-defined conversion
  several.each_difference(txn, reader, [](const teak::difference &) {}); // two committed states are needed
#elif CASE == 32 // no matching || cannot convert || no viable conversion
  txn.create_table("ash", teak::multi_table_options());
#elif CASE == 33 // no matching || conversion from || no viable conversion
  teak::table other = txn.create_multi_table("ash");
#else
#error "NO SUCH CASE"
#endif
}
