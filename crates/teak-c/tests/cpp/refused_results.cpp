// Code that must not compile if TEAK_RESULTS is defined: see refused.cpp.
#define TEAK_RESULTS
#include <teak.hpp>

inline void cases(teak::database &db, teak::write_txn &txn, teak::table table) {
  static_cast<void>(db), static_cast<void>(txn), static_cast<void>(table);
#if CASE == 0
  if (table.insert_new(txn, "ash", "1").ok()) return;
#elif CASE == 1 // ignoring || discarded
  table.insert(txn, "ash", "1"); // the result is ignored
#elif CASE == 2 // could not convert || is not contextually convertible
  if (table.insert_new(txn, "ash", "1")) return; // ambiguous: inserted, or no error
#elif CASE == 3 // could not convert || is not contextually convertible
  if (table.get(txn, "ash")) return;
#elif CASE == 4 // conversion from || no viable conversion
  teak::write_txn other = db.begin_write();
#else
#error "NO SUCH CASE"
#endif
}
