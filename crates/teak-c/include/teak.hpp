// Teak, an embedded ordered transactional key-value store: the C++ interface, over teak.h. C++17;
// everything is in headers.
//
// Handles end with their scope and are moved, not copied. Tables are numbers. Keys and values are
// views of bytes. Errors are thrown as teak::error, or returned in a teak::result if TEAK_RESULTS
// is defined before this file is included.
//
// In the examples `db` is an open database, and `path` the path of a file that does not exist.
//
// docs/cpp-interface.md describes its design.

#ifndef TEAK_HPP
#define TEAK_HPP

#include <teak/database.hpp>
#include <teak/expiring.hpp>

#endif // TEAK_HPP
