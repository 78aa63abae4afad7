// Teak, an embedded ordered transactional key-value store: the C++ interface, over teak.h. C++17; everything is in headers.
//
// Handles end with their scope and are moved, not copied; tables are numbers. Keys and values are views of bytes. Errors are thrown as
// teak::error, or, where TEAK_RESULTS is defined before this is included, returned in a teak::result.
//
// In the examples `db` is an open database, and `path` the path of a file that does not exist.
//
// docs/cpp-interface.md says how it is made.

#ifndef TEAK_HPP
#define TEAK_HPP

#include <teak/database.hpp>

#endif // TEAK_HPP
