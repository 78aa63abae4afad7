#include "leveldb/table.h"

#include "block.h"
#include "coding.h"
#include "filter_block.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"

namespace leveldb {

struct [[gnu::visibility("hidden")]] Table::Rep {
  Options options;
  RandomAccessFile* file;
  uint64_t file_size;
  BlockHandle meta;
  std::shared_ptr<const std::string> index;
  std::unique_ptr<const FilterBlockReader> filter;

  std::unique_ptr<Iterator> NewIndexIterator() const {
    return NewBlockIterator(index, options.comparator);
  }

  // The block of an entry of the index.
  Status Open(Slice handle_bytes, std::unique_ptr<Iterator>* block) const {
    BlockHandle handle;
    if (!handle.ParseFrom(&handle_bytes)) {
      return Status::Corruption("bad block handle");
    }
    auto content = std::make_shared<std::string>();
    const Status status = ReadBlock(file, file_size, handle, content.get());
    if (status.ok()) {
      *block = NewBlockIterator(std::move(content), options.comparator);
    }
    return status;
  }

  // Reads the filters of the policy, if the table has them. Without them, and if they are damaged,
  // all blocks may have a key.
  void ReadFilter() {
    auto content = std::make_shared<std::string>();
    if (options.filter_policy == nullptr ||
        !ReadBlock(file, file_size, meta, content.get()).ok()) {
      return;
    }
    const std::string key = FilterKey(options.filter_policy);
    const std::unique_ptr<Iterator> entry = NewBlockIterator(content, BytewiseComparator());
    entry->Seek(key);
    BlockHandle handle;
    std::string filters;
    if (!entry->Valid() || entry->key() != key) {
      return;
    }
    Slice bytes = entry->value();
    if (handle.ParseFrom(&bytes) && ReadBlock(file, file_size, handle, &filters).ok()) {
      filter = std::make_unique<FilterBlockReader>(options.filter_policy, std::move(filters));
    }
  }

  // Goes through the blocks, each of which is opened when it is reached.
  class TableIterator : public Iterator {
   public:
    explicit TableIterator(const Rep* rep) : rep_(rep), index_(rep->NewIndexIterator()) {}

    bool Valid() const override { return block_ != nullptr && block_->Valid(); }
    Slice key() const override { return Valid() ? block_->key() : Slice(); }
    Slice value() const override { return Valid() ? block_->value() : Slice(); }

    Status status() const override {
      if (!index_->status().ok()) {
        return index_->status();
      }
      return block_ != nullptr && !block_->status().ok() ? block_->status() : status_;
    }

    void SeekToFirst() override {
      index_->SeekToFirst();
      Enter([](Iterator* block) { block->SeekToFirst(); });
      SkipForward();
    }

    void SeekToLast() override {
      index_->SeekToLast();
      Enter([](Iterator* block) { block->SeekToLast(); });
      SkipBack();
    }

    void Seek(const Slice& target) override {
      index_->Seek(target);
      Enter([&](Iterator* block) { block->Seek(target); });
      SkipForward();
    }

    void Next() override {
      if (Valid()) {
        block_->Next();
        SkipForward();
      }
    }

    void Prev() override {
      if (Valid()) {
        block_->Prev();
        SkipBack();
      }
    }

   private:
    template <typename Position>
    void Enter(Position position) {
      block_.reset();
      status_ = Status::OK();
      if (index_->Valid()) {
        status_ = rep_->Open(index_->value(), &block_);
        if (block_ != nullptr) {
          position(block_.get());
        }
      }
    }

    bool IsAtEndOfBlock() const {
      return block_ != nullptr && !block_->Valid() && block_->status().ok();
    }

    void SkipForward() {
      while (IsAtEndOfBlock()) {
        index_->Next();
        Enter([](Iterator* block) { block->SeekToFirst(); });
      }
    }

    void SkipBack() {
      while (IsAtEndOfBlock()) {
        index_->Prev();
        Enter([](Iterator* block) { block->SeekToLast(); });
      }
    }

    const Rep* const rep_;
    const std::unique_ptr<Iterator> index_;
    std::unique_ptr<Iterator> block_;
    Status status_;
  };
};

Status Table::Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                   Table** table) {
  *table = nullptr;
  if (file_size < kFooterSize) {
    return Status::Corruption("file is too short to be an sstable");
  }
  char scratch[kFooterSize];
  Slice footer;
  Status status = file->Read(file_size - kFooterSize, kFooterSize, &footer, scratch);
  if (!status.ok()) {
    return status;
  }
  if (footer.size() != kFooterSize || GetFixed(footer.data() + kHandlesSize, 8) != kTableMagic) {
    return Status::Corruption("not an sstable (bad magic number)");
  }
  auto rep = std::make_unique<Rep>();
  rep->options = options;
  rep->file = file;
  rep->file_size = file_size;
  BlockHandle index;
  Slice handles(footer.data(), kHandlesSize);
  if (!rep->meta.ParseFrom(&handles) || !index.ParseFrom(&handles)) {
    return Status::Corruption("bad block handle");
  }
  auto content = std::make_shared<std::string>();
  status = ReadBlock(file, file_size, index, content.get());
  if (status.ok()) {
    rep->index = std::move(content);
    rep->ReadFilter();
    *table = new Table(rep.release());
  }
  return status;
}

Table::~Table() { delete rep_; }

Iterator* Table::NewIterator(const ReadOptions&) const { return new Rep::TableIterator(rep_); }

Status Table::InternalGet(const ReadOptions&, const Slice& key, void* context,
                          void (*found)(void* context, const Slice& key, const Slice& value)) {
  const std::unique_ptr<Iterator> index = rep_->NewIndexIterator();
  index->Seek(key);
  if (!index->Valid()) {
    return index->status();
  }
  BlockHandle handle;
  Slice bytes = index->value();
  if (rep_->filter != nullptr && handle.ParseFrom(&bytes) &&
      !rep_->filter->MayHave(handle.offset, key)) {
    return Status::OK();
  }
  std::unique_ptr<Iterator> block;
  Status status = rep_->Open(index->value(), &block);
  if (status.ok()) {
    block->Seek(key);
    if (block->Valid()) {
      (*found)(context, block->key(), block->value());
    }
    status = block->status();
  }
  return status;
}

uint64_t Table::ApproximateOffsetOf(const Slice& key) const {
  const std::unique_ptr<Iterator> index = rep_->NewIndexIterator();
  index->Seek(key);
  BlockHandle handle;
  if (index->Valid()) {
    Slice bytes = index->value();
    if (handle.ParseFrom(&bytes)) {
      return handle.offset;
    }
  }
  // After the last key: the end of the blocks of records.
  return rep_->meta.offset;
}

}  // namespace leveldb
