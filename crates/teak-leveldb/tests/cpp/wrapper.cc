// The wrapper for nodes with its backend "leveldb" over this library: both backends have the same
// directories.

#undef NDEBUG
#define TEAK_DBWRAPPER_LEVELDB

#include <cassert>
#include <string>

#include <teak/dbwrapper.hpp>

namespace db = teak::dbwrapper;

static db::options Options(const std::string& directory, const char* backend) {
  db::options options;
  options.path = directory + "/store";
  options.backend = backend;
  options.obfuscate = true;
  return options;
}

int main(int count, char** arguments) {
  assert(count == 2);
  const std::string directory = arguments[1];
  std::string key;
  for (const char* backend : {"leveldb", "leveldb", "teak", "leveldb", "teak"}) {
    db::store store(Options(directory, backend));
    assert(store.backend() == std::string(backend));
    assert(key.empty() || store.obfuscation_key() == key);
    key = store.obfuscation_key();
    std::string value;
    assert(store.read("key", value) ? value == "value" : store.new_iterator().key().empty());
    store.write("key", "value");
  }
  for (const char* backend : {"leveldb", "teak"}) {
    db::options wiped = Options(directory, backend);
    wiped.wipe = true;
    db::store store(wiped);
    assert(!store.exists("key") && store.obfuscation_key() != key);
    store.write("key", "value");
  }
  return 0;
}
