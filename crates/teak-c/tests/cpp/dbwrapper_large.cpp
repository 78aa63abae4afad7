// A batch of 100 MiB in a store with each backend that is compiled in, as a node with a large cache
// writes one.
#include "common.hpp"

#include <teak/dbwrapper.hpp>

static void a_large_batch_is_written(const teak::dbwrapper::options &options) {
  const std::size_t size = 1 << 20, count = 100;
  {
    teak::dbwrapper::store store(options);
    teak::dbwrapper::batch batch(store);
    for (std::size_t i = 0; i < count; i++) batch.write("k" + std::to_string(i), std::string(size, static_cast<char>(i)));
    assert(batch.approximate_size() > count * size);
    store.write_batch(batch, true);
  }
  const teak::dbwrapper::store store(options);
  std::string value;
  for (std::size_t i = 0; i < count; i++)
    assert(store.read("k" + std::to_string(i), value) && value == std::string(size, static_cast<char>(i)));
}

int main(int, char **arguments) {
  for (const std::string &backend : teak::dbwrapper::backends()) {
    teak::dbwrapper::options options;
    options.path = arguments[1] + ("/" + backend);
    options.backend = backend;
    options.cache_bytes = 8 << 20;
    options.obfuscate = true;
    a_large_batch_is_written(options);
  }
}
