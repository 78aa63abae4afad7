// Visibility of the library's names. Programs for Windows that use the DLL define
// LEVELDB_SHARED_LIBRARY, as with LevelDB.

#ifndef TEAK_LEVELDB_EXPORT_H
#define TEAK_LEVELDB_EXPORT_H

#ifndef LEVELDB_EXPORT
#if defined(_WIN32)
#if !defined(LEVELDB_SHARED_LIBRARY)
#define LEVELDB_EXPORT
#elif defined(LEVELDB_COMPILE_LIBRARY)
#define LEVELDB_EXPORT __declspec(dllexport)
#else
#define LEVELDB_EXPORT __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define LEVELDB_EXPORT __attribute__((visibility("default")))
#else
#define LEVELDB_EXPORT
#endif
#endif

#endif
