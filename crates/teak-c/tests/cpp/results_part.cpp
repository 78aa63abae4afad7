// A part of a program that has results; the other part, exceptions_part.cpp, has exceptions.
#define TEAK_RESULTS
#include <teak.hpp>

bool is_there_by_results(const char *path) {
  const auto db = teak::database::open(path, teak::options().create(teak::create::never));
  return db.ok() && db->begin_read().ok();
}
