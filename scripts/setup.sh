# Sourced by `scripts/demo` and `scripts/test`: installs what they need on Debian or Ubuntu.
# It asks nothing, says what it installs, and skips what is already there.

export DEBIAN_FRONTEND=noninteractive

say() { echo "==> $*"; }

# Administration tools such as mkfs are often outside an ordinary user's PATH.
have() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" > /dev/null; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        echo "This needs root or sudo: $*" >&2
        return 1
    fi
}

apt_is_updated=false
# Installs Debian packages.
install_packages() {
    have apt-get || { echo "Install these packages, then run this again: $*" >&2; return 1; }
    say "installing Debian packages: $*"
    if ! "$apt_is_updated"; then
        as_root apt-get update --quiet || return 1
        apt_is_updated=true
    fi
    as_root apt-get install --yes --quiet --no-install-recommends "$@"
}

# The oldest Rust that builds Teak.
minimum_rust() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

cargo_is_new_enough() {
    local version
    version="$(cargo --version 2> /dev/null | cut -d ' ' -f 2)"
    [ -n "$version" ] && printf '%s\n%s\n' "$(minimum_rust)" "$version" | sort --check=quiet --version-sort
}

# Lints are errors in the tests, so a version that is known to have none. Any newer one builds Teak.
rust_to_install=1.95.0

# A Rust toolchain and a linker.
setup_rust() {
    # The linker needs the C library's start files, which come with its headers.
    have cc || install_packages gcc libc6-dev

    # rustup puts its programs there; a shell that is older than the installation does not know it.
    [ ! -d "$HOME/.cargo/bin" ] || export PATH="$HOME/.cargo/bin:$PATH"
    if cargo_is_new_enough; then
        return
    fi
    if ! have rustup; then
        if ! have cargo && install_packages ca-certificates rustup; then
            : # Debian 13 and later have rustup as a package.
        else
            # Older releases do not, and Debian's own cargo cannot be installed beside that package.
            have curl || install_packages ca-certificates curl
            say "installing rustup from https://static.rust-lang.org into $HOME/.cargo"
            curl --proto '=https' --tlsv1.2 --silent --show-error --fail https://static.rust-lang.org/rustup/rustup-init.sh \
                | RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -y --no-modify-path --profile minimal --default-toolchain none
            export PATH="$HOME/.cargo/bin:$PATH"
        fi
    fi
    say "installing Rust $rust_to_install"
    rustup toolchain install "$rust_to_install" --profile minimal
    rustup default "$rust_to_install"
    cargo_is_new_enough || { echo "Teak needs Rust $(minimum_rust) or newer: $(cargo --version)" >&2; return 1; }
}

# What the tests need besides a toolchain.
setup_tests() {
    local required=() optional=()
    # The benchmarks build LMDB and libmdbx, in C and C++, and libclang reads libmdbx's header.
    have c++ || required+=(build-essential)
    [ -n "${LIBCLANG_PATH:-}" ] || compgen -G "/usr/lib/llvm-*/lib/libclang.so" > /dev/null \
        || required+=(libclang-dev)
    [ "${#required[@]}" -eq 0 ] || install_packages "${required[@]}"

    setup_rust
    cargo fmt --version > /dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version > /dev/null 2>&1 || rustup component add clippy

    # strace kills programs at each system call, xfsprogs and e2fsprogs make the file systems whose
    # power is cut, and the C and C++ interfaces are tested with the rest. A step that lacks one of
    # these says so and does what it can.
    # Node.js with npm, and Go are not installed: without them, clients of LMDB and LevelDB in these
    # languages are skipped. Debian's programs that are clients install nothing.
    have strace || optional+=(strace)
    have xfs_io || optional+=(xfsprogs)
    have mkfs.ext4 || optional+=(e2fsprogs)
    have valgrind || optional+=(valgrind)
    # Runs programs for ARM64: `cargo xtask ports`.
    have qemu-aarch64-static || optional+=(qemu-user-static)
    # LevelDB's own library, with which the one over Teak is compared.
    ls /usr/lib/*/libleveldb.so.1d > /dev/null 2>&1 || optional+=(libleveldb1d)
    have pkg-config || optional+=(pkgconf)
    have cmake || optional+=(cmake)
    have doxygen || optional+=(doxygen)
    # Compared with the library in its place.
    [ -e /usr/include/leveldb/db.h ] || optional+=(libleveldb-dev)
    # The packages for Java: `cargo xtask java`. Releases that have Java 25 get it too.
    have javac || optional+=(default-jdk-headless)
    if ! compgen -G "/usr/lib/jvm/*25*" > /dev/null && apt-cache show openjdk-25-jdk-headless > /dev/null 2>&1; then
        optional+=(openjdk-25-jdk-headless)
    fi
    have mvn || optional+=(maven)
    # plyvel, a client of LevelDB, is built for Python.
    python3 -c 'import ensurepip, sysconfig, os; os.stat(sysconfig.get_path("include") + "/Python.h")' \
        2> /dev/null || optional+=(python3-venv python3-dev)
    [ "${#optional[@]}" -eq 0 ] || install_packages "${optional[@]}" \
        || echo "NOT INSTALLED: ${optional[*]}"
}
