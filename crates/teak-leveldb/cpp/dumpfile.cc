#include "leveldb/dumpfile.h"

#include <cstdio>
#include <memory>

#include "coding.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/table.h"

namespace leveldb {

namespace {

// Bytes of the sequence number and the kind at the end of a key in a database's table.
const size_t kTagSize = 8;

std::string Escaped(const Slice& bytes) {
  std::string text;
  for (size_t index = 0; index < bytes.size(); index++) {
    const char byte = bytes[index];
    if (byte >= ' ' && byte <= '~') {
      text.push_back(byte);
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(byte));
      text += code;
    }
  }
  return text;
}

}  // namespace

Status DumpFile(Env* env, const std::string& fname, WritableFile* dst) {
  const size_t dot = fname.rfind('.');
  const std::string suffix = dot == std::string::npos ? "" : fname.substr(dot);
  if (suffix != ".ldb" && suffix != ".sst") {
    return Status::InvalidArgument(fname + ": unknown file type");
  }
  uint64_t size;
  RandomAccessFile* opened = nullptr;
  Status status = env->GetFileSize(fname, &size);
  if (status.ok()) {
    status = env->NewRandomAccessFile(fname, &opened);
  }
  const std::unique_ptr<RandomAccessFile> file(opened);
  Table* found = nullptr;
  if (status.ok()) {
    status = Table::Open(Options(), file.get(), size, &found);
  }
  if (!status.ok()) {
    return status;
  }
  const std::unique_ptr<Table> table(found);
  const std::unique_ptr<Iterator> iterator(table->NewIterator(ReadOptions()));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    Slice key = iterator->key();
    std::string line;
    if (key.size() >= kTagSize) {
      const uint64_t tag = GetFixed(key.data() + key.size() - kTagSize, kTagSize);
      key = Slice(key.data(), key.size() - kTagSize);
      line = "'" + Escaped(key) + "' @ " + std::to_string(tag >> 8) +
             ((tag & 0xff) == 0 ? " : del" : " : val");
    } else {
      line = "'" + Escaped(key) + "'";
    }
    line += " => '" + Escaped(iterator->value()) + "'\n";
    status = dst->Append(line);
    if (!status.ok()) {
      return status;
    }
  }
  return iterator->status();
}

}  // namespace leveldb
