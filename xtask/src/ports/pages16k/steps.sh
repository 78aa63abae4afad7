# The steps in the emulated machine. Each prints `PORT pass NAME` or `PORT fail NAME: REASON`. What
# some of them count is in lines `PORT count NUMBER WHAT`.

short=$(grep -c teak.short /proc/cmdline)

# Runs a command as a step.
step() {
    name=$1
    shift
    if "$@" > /tmp/log 2>&1; then
        echo "PORT pass $name"
    else
        echo "PORT fail $name: exit $?: $(tail -n 3 /tmp/log | tr '\n' ' ')"
        tail -n 60 /tmp/log
    fi
    grep '^PORT count ' /tmp/log
}

# Runs tests with these in their names, whose files are in the directory `at`. Not run:
# - busybox's `cp` makes no holes;
# - btrfs never maps pages for writing, which two tests count on;
# - on tmpfs a read of a hole takes blocks.
tests() {
    kind=$1
    program=$2
    shift 2
    label="$kind: tests $*"
    export TMPDIR=$at
    set -- "$@" --skip a_copy_with_holes
    case $kind in
    btrfs) set -- "$@" --skip a_lost_page_of_a_transaction --skip leaf_that_was_written_early ;;
    tmpfs) set -- "$@" --skip blocks_are_returned_and ;;
    esac
    step "$label" run_tests "/tests/$program" "$@"
    unset TMPDIR
}

# Runs a program of tests. One that runs no test has failed.
run_tests() {
    "$@" > /tmp/tests 2>&1
    status=$?
    cat /tmp/tests
    passed=$(sed -n 's/^test result: [a-zA-Z]*\. \([0-9]*\) passed.*/\1/p' /tmp/tests)
    echo "PORT count ${passed:-0} tests"
    [ "$status" -eq 0 ] && [ "${passed:-0}" -gt 0 ]
}

# Makes and mounts a file system of a kind at `at`.
make() {
    at=/mnt/$1
    mkdir -p "$at"
    image=/tmp/$1.image
    case $1 in
    tmpfs)
        mount -t tmpfs -o size=300m tmpfs "$at"
        return
        ;;
    ext4) truncate -s 128M "$image" && mkfs.ext4 -q -F -m 0 -b 4096 "$image" ;;
    xfs) truncate -s 320M "$image" && mkfs.xfs -q -f "$image" ;;
    btrfs) truncate -s 320M "$image" && mkfs.btrfs -q -f "$image" ;;
    esac
    mount -o loop "$image" "$at"
}

# The job of README's demonstration.
job() {
    rm -f "$at"/coins.*
    cd "$at" || return
    teak load /coins.dump coins.teak && teak stat coins.teak && teak check coins.teak \
        && teak scan coins.teak --table coins --limit 3 \
        && teak dump coins.teak --table coins | grep '^ ' > coins.dump \
        && grep '^ ' /coins.dump | cmp - coins.dump
    status=$?
    rm -f "$at"/coins.*
    cd / || return
    return $status
}

# Takes all room but some KiB.
fill() {
    dd if=/dev/zero of="$at/kept" bs=1k count="$1" && sync
    number=0
    for len in 1048576 65536 4096; do
        while fallocate -l $len "$at/filler-$number"; do
            number=$((number + 1))
        done
        number=$((number + 1))
    done
    rm -f "$at/kept"
    sync
}

# Loads records into file systems with almost no room. A run succeeds, or ends with an error that
# says that the disk is full, never by a signal. What was committed before is still there. Without
# any room, and so at least once, a load must be refused.
full() {
    teak put "$at/full.teak" before value || return
    mv "$at/full.teak" /tmp/full.teak || return
    refused=0
    loads=0
    for room in 0 4 8 12 16 20 32 64 256; do
        cp /tmp/full.teak "$at/full.teak" && sync || return
        fill $room > /dev/null 2>&1
        teak load --batch 500 /coins.dump "$at/full.teak" > /tmp/load 2>&1
        status=$?
        echo "room $room KiB: exit $status: $(cat /tmp/load)"
        [ $status -lt 128 ] || return $status
        loads=$((loads + 1))
        if [ $status -ne 0 ]; then
            grep -q 'the disk is full' /tmp/load || return
            refused=$((refused + 1))
        fi
        [ $room -gt 0 ] || [ $refused -gt 0 ] || return
        rm -f "$at"/filler-*
        teak check "$at/full.teak" || return
        [ "$(teak get "$at/full.teak" before)" = value ] || return 1
        rm -f "$at/full.teak"
    done
    echo "PORT count $loads loads on full disks"
    echo "PORT count $refused of them refused"
}

# A reader sees what a writer writes to a file that the overlay copies up.
overlay() {
    at=/mnt/overlay
    mkdir -p /tmp/lower /tmp/upper /tmp/work "$at"
    teak put /tmp/lower/some.teak key below || return
    mount -t overlay -o lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work overlay "$at" \
        || return
    [ "$(teak get "$at/some.teak" key)" = below ] || return 1
    teak put "$at/some.teak" key above && [ "$(teak get "$at/some.teak" key)" = above ] || return 1
    [ "$(teak get /tmp/lower/some.teak key)" = below ] || return 1
    teak check "$at/some.teak" && job
}

is_16k() {
    grep -q 'KernelPageSize: *16 kB' /proc/self/smaps
}

step "the system has pages of 16 KiB" is_16k
for kind in tmpfs ext4 xfs btrfs; do
    step "$kind: mounted" make "$kind"
    step "$kind: main job" job
done
step "overlay: main job" overlay
for kind in tmpfs ext4 xfs btrfs; do
    at=/mnt/$kind
    step "$kind: full disk" full
done
at=/mnt/ext4
tests ext4 integration cut
if [ "$short" -gt 0 ]; then
    touch /done
    exit 0
fi
for kind in ext4 xfs btrfs tmpfs; do
    at=/mnt/$kind
    tests "$kind" unit io::
    tests "$kind" integration faults:: holes:: locks:: memory:: processes::
done
# These mount file systems of their own.
at=/tmp
tests "disks of their own" integration limits:: access::
touch /done
