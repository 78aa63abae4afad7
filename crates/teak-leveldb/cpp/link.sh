#!/bin/sh
# Compiles the part in C++ and links it with the part in Rust:
#   link.sh LIBTEAK_LEVELDB.a DIRECTORY [FLAG...]
# The library is libleveldb.so.1d; if the compiler, CXX, makes programs for Windows, it is
# leveldb.dll with the import library libleveldb.dll.a, and needs no other library of the compiler.
# Objects that are newer than all sources and headers are used again, so use another DIRECTORY for
# other flags.
set -eu
archive=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
case $("${CXX:-c++}" -dumpmachine) in
  *mingw*) system=windows other=posix kind="-DLEVELDB_COMPILE_LIBRARY -DLEVELDB_SHARED_LIBRARY" ;;
  *) system=posix other=windows kind="-fPIC" ;;
esac
mkdir -p "$out/objects"
objects=
for source in "$here"/*.cc; do
  case $source in *_$other.cc) continue ;; esac
  object="$out/objects/$(basename "$source" .cc).o"
  if [ ! -e "$object" ] || [ -n "$(find "$here" "$here/../include" -newer "$object")" ]; then
    # shellcheck disable=SC2086
    "${CXX:-c++}" -std=c++17 -O2 -g $kind -fvisibility=hidden -Wall -Wextra -Werror \
      -I "$here/../include" -I "$here" "$@" -c "$source" -o "$object"
  fi
  objects="$objects $object"
done
if [ $system = windows ]; then
  # shellcheck disable=SC2086
  "${CXX:-c++}" -shared -static -o "$out/leveldb.dll" -Wl,--out-implib="$out/libleveldb.dll.a" \
    -Wl,--gc-sections "$@" $objects "$archive" -lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp
  exit
fi
# shellcheck disable=SC2086
"${CXX:-c++}" -shared -o "$out/libleveldb.so.1d" -Wl,-soname,libleveldb.so.1d \
  -Wl,--version-script="$here/exports.map" -Wl,--gc-sections -Wl,-z,defs "$@" \
  $objects "$archive" -lpthread -ldl -lm
ln -sf libleveldb.so.1d "$out/libleveldb.so.1"
ln -sf libleveldb.so.1d "$out/libleveldb.so"
