// A part of a program that has exceptions; the other part, results_part.cpp, has results.
#include "common.hpp"

bool is_there_by_results(const char *path);

int main(int argc, char **argv) {
  assert(argc == 2);
  const std::string path = argv[1] + std::string("/both.teak");
  assert(!is_there_by_results(path.c_str()));
  const teak::database db = teak::database::open(path);
  assert(is_there_by_results(path.c_str()));
}
