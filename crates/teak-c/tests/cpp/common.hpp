// Helpers of the test programs. Each program receives a directory, and ends with 0 on success.

#ifndef COMMON_HPP
#define COMMON_HPP

#undef NDEBUG
#include <teak.hpp>

#include <atomic>
#include <cassert>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#if !defined(TEAK_RESULTS)
/// Whether `work` throws this type. Prints the message.
template <class Kind, class Work> bool refuses(Work &&work) {
  try {
    static_cast<void>(work());
  } catch (const Kind &error) {
    return error.code() == Kind::number && error.what()[0] != 0;
  }
  return false;
}
#endif

#endif // COMMON_HPP
