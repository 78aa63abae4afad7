#include "filter_block.h"

#include <utility>

#include "coding.h"
#include "leveldb/filter_policy.h"

namespace leveldb {

namespace {

// A range has 2 to the power of this bytes.
const int kRangeLog = 11;
// The start of the array of offsets, and the logarithm.
const size_t kTailSize = 5;

}  // namespace

std::string FilterKey(const FilterPolicy* policy) {
  return "filter." + std::string(policy->Name());
}

void FilterBlockBuilder::BeginBlock(uint64_t offset) {
  while (offsets_.size() < offset >> kRangeLog) {
    EndFilter();
  }
}

std::string FilterBlockBuilder::Finish() {
  if (!keys_.empty()) {
    EndFilter();
  }
  offsets_.push_back(static_cast<uint32_t>(filters_.size()));
  for (const uint32_t offset : offsets_) {
    PutFixed(&filters_, offset, 4);
  }
  filters_.push_back(static_cast<char>(kRangeLog));
  return filters_;
}

void FilterBlockBuilder::EndFilter() {
  offsets_.push_back(static_cast<uint32_t>(filters_.size()));
  if (!keys_.empty()) {
    const std::vector<Slice> keys(keys_.begin(), keys_.end());
    policy_->CreateFilter(keys.data(), static_cast<int>(keys.size()), &filters_);
    keys_.clear();
  }
}

FilterBlockReader::FilterBlockReader(const FilterPolicy* policy, std::string content)
    : policy_(policy), content_(std::move(content)) {
  if (content_.size() < kTailSize) {
    return;
  }
  const size_t end = content_.size() - kTailSize;
  const uint64_t array = GetFixed(content_.data() + end, 4);
  const int range_log = static_cast<unsigned char>(content_.back());
  if (array <= end && range_log < 64) {
    array_ = array;
    count_ = (end - array) / 4;
    range_log_ = range_log;
  }
}

uint64_t FilterBlockReader::Offset(uint64_t range) const {
  // After the last offset is that of the array, which is the end of the last filter.
  return GetFixed(content_.data() + array_ + 4 * range, 4);
}

bool FilterBlockReader::MayHave(uint64_t offset, const Slice& key) const {
  const uint64_t range = offset >> range_log_;
  if (range >= count_) {
    return true;
  }
  const uint64_t start = Offset(range);
  const uint64_t end = Offset(range + 1);
  if (start > end || end > array_) {
    return true;
  }
  // A range without keys has no filter.
  return start < end && policy_->KeyMayMatch(key, Slice(content_.data() + start, end - start));
}

}  // namespace leveldb
