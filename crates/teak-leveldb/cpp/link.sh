#!/bin/sh
# Compiles the part in C++ and links it with the part in Rust to libleveldb.so.1d:
#   link.sh LIBTEAK_LEVELDB.a DIRECTORY [FLAG...]
# CXX is the compiler. Objects that are newer than all sources and headers are used again, so use
# another DIRECTORY for other flags.
set -eu
archive=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out/objects"
objects=
for source in "$here"/*.cc; do
  object="$out/objects/$(basename "$source" .cc).o"
  if [ ! -e "$object" ] || [ -n "$(find "$here" "$here/../include" -newer "$object")" ]; then
    "${CXX:-c++}" -std=c++17 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror \
      -I "$here/../include" -I "$here" "$@" -c "$source" -o "$object"
  fi
  objects="$objects $object"
done
# shellcheck disable=SC2086
"${CXX:-c++}" -shared -o "$out/libleveldb.so.1d" -Wl,-soname,libleveldb.so.1d \
  -Wl,--version-script="$here/exports.map" -Wl,--gc-sections -Wl,-z,defs "$@" \
  $objects "$archive" -lpthread -ldl -lm
ln -sf libleveldb.so.1d "$out/libleveldb.so.1"
ln -sf libleveldb.so.1d "$out/libleveldb.so"
