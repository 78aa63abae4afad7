// Visibility of the library's names.

#ifndef TEAK_LEVELDB_EXPORT_H
#define TEAK_LEVELDB_EXPORT_H

#ifndef LEVELDB_EXPORT
#if defined(__GNUC__)
#define LEVELDB_EXPORT __attribute__((visibility("default")))
#else
#define LEVELDB_EXPORT
#endif
#endif

#endif
