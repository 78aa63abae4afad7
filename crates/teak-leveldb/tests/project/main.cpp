// Writes and reads records in the directory that is the argument.

#include <cstdio>
#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

int main(int count, char** arguments) {
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = filter.get();
  leveldb::DB* opened = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, arguments[count - 1], &opened);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::unique_ptr<leveldb::DB> db(opened);
  leveldb::WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  if (!db->Write(leveldb::WriteOptions(), &batch).ok()) return 1;
  std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator(leveldb::ReadOptions()));
  std::string all;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    all += iterator->key().ToString() + iterator->value().ToString();
  }
  return all == "a1b2" ? 0 : 1;
}
