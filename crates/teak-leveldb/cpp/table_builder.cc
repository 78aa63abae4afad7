#include "leveldb/table_builder.h"

#include "block.h"
#include "bridge.h"
#include "coding.h"
#include "filter_block.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"

namespace leveldb {

struct [[gnu::visibility("hidden")]] TableBuilder::Rep {
  Rep(const Options& given, WritableFile* output)
      : options(given), file(output), block(given.block_restart_interval), index(1) {
    if (given.filter_policy != nullptr) {
      filter = std::make_unique<FilterBlockBuilder>(given.filter_policy);
      filter->BeginBlock(0);
    }
  }

  Options options;
  WritableFile* file;
  uint64_t offset = 0;
  Status status;
  BlockBuilder block;
  BlockBuilder index;
  std::unique_ptr<FilterBlockBuilder> filter;
  std::string last_key;
  uint64_t entries = 0;
  bool is_closed = false;
  // The last block, which gets its entry in the index when the next key is known.
  bool is_pending = false;
  BlockHandle pending;

  void Append(const Slice& bytes) {
    if (status.ok()) {
      status = file->Append(bytes);
      offset += bytes.size();
    }
  }

  // Writes a block with its trailer.
  BlockHandle Write(const Slice& content, CompressionType kind) {
    BlockHandle handle;
    handle.offset = offset;
    handle.size = content.size();
    Append(content);
    std::string trailer(1, static_cast<char>(kind));
    PutFixed(&trailer, MaskedChecksum(content, trailer[0]), 4);
    Append(trailer);
    return handle;
  }

  // Writes a block, compressed if that saves an eighth.
  BlockHandle WriteCompressed(const std::string& content) {
    std::string compressed;
    Target target{&compressed};
    if (options.compression == kSnappyCompression &&
        tl_snappy_compress(Bridged(content), Target::Assign, &target) &&
        !target.is_out_of_memory && compressed.size() < content.size() - content.size() / 8) {
      return Write(compressed, kSnappyCompression);
    }
    return Write(content, kNoCompression);
  }

  // Adds the last block to the index, under a key that is at least its last one.
  void IndexPending(const std::string& separator) {
    if (is_pending) {
      std::string handle;
      pending.AppendTo(&handle);
      index.Add(separator, handle);
      is_pending = false;
    }
  }

  void Fail(const Status& failure) {
    if (status.ok()) {
      status = failure;
    }
  }
};

TableBuilder::TableBuilder(const Options& options, WritableFile* file)
    : rep_(new Rep(options, file)) {}

TableBuilder::~TableBuilder() { delete rep_; }

Status TableBuilder::ChangeOptions(const Options& options) {
  if (options.comparator != rep_->options.comparator) {
    return Status::InvalidArgument("changing comparator while building table");
  }
  rep_->options = options;
  rep_->block.set_restart_interval(options.block_restart_interval);
  return Status::OK();
}

void TableBuilder::Add(const Slice& key, const Slice& value) {
  Rep* rep = rep_;
  if (rep->is_closed || !rep->status.ok()) {
    return;
  }
  const Comparator* comparator = rep->options.comparator;
  if (rep->entries > 0 && comparator->Compare(key, rep->last_key) <= 0) {
    rep->Fail(Status::InvalidArgument("a key is not greater than the one before it"));
    return;
  }
  if (rep->is_pending) {
    std::string separator = rep->last_key;
    comparator->FindShortestSeparator(&separator, key);
    rep->IndexPending(separator);
  }
  if (rep->filter != nullptr) {
    rep->filter->Add(key);
  }
  rep->last_key.assign(key.data(), key.size());
  rep->entries++;
  rep->block.Add(key, value);
  if (rep->block.size() >= rep->options.block_size) {
    Flush();
  }
}

void TableBuilder::Flush() {
  Rep* rep = rep_;
  if (rep->is_closed || !rep->status.ok() || rep->block.empty()) {
    return;
  }
  rep->pending = rep->WriteCompressed(rep->block.Finish());
  rep->is_pending = rep->status.ok();
  if (rep->status.ok()) {
    rep->status = rep->file->Flush();
  }
  if (rep->filter != nullptr) {
    rep->filter->BeginBlock(rep->offset);
  }
}

Status TableBuilder::status() const { return rep_->status; }

Status TableBuilder::Finish() {
  Rep* rep = rep_;
  Flush();
  rep->is_closed = true;
  BlockBuilder meta(1);
  if (rep->filter != nullptr) {
    std::string handle;
    rep->Write(rep->filter->Finish(), kNoCompression).AppendTo(&handle);
    meta.Add(FilterKey(rep->options.filter_policy), handle);
  }
  const BlockHandle meta_handle = rep->WriteCompressed(meta.Finish());
  std::string successor = rep->last_key;
  rep->options.comparator->FindShortSuccessor(&successor);
  rep->IndexPending(successor);
  const BlockHandle index_handle = rep->WriteCompressed(rep->index.Finish());
  std::string footer;
  meta_handle.AppendTo(&footer);
  index_handle.AppendTo(&footer);
  footer.resize(kHandlesSize);
  PutFixed(&footer, kTableMagic, 8);
  rep->Append(footer);
  return rep->status;
}

void TableBuilder::Abandon() { rep_->is_closed = true; }

uint64_t TableBuilder::NumEntries() const { return rep_->entries; }

uint64_t TableBuilder::FileSize() const { return rep_->offset; }

}  // namespace leveldb
