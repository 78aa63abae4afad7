# Ceph's tool for key-value stores. It makes a database only by repairing an empty directory.

# Other lines are Ceph's messages, with times.
tool() { ceph-kvstore-tool leveldb "$@" 2>> messages || { echo "failed: $*"; tail messages; exit 1; }; }

mkdir db
tool db destructive-repair
tool db list
number=0
while [ "$number" -lt 60 ]; do
    printf 'value %d of a key' "$number" > value
    tool db set "prefix$((number % 3))" "key$number" in value
    number=$((number + 1))
done
dd if=/dev/zero of=value bs=1000 count=900 status=none
tool db set prefix0 large in value
tool db set prefix1 version ver 7
tool db list
tool db list prefix1
tool db list-crc
tool db exists prefix1 version
ceph-kvstore-tool leveldb db exists prefix9 2>> messages || echo "not there"
tool db get prefix0 key30
tool db get prefix0 key33 out read
cat read
tool db crc prefix0 large
tool db rm prefix0 key30
tool db rm-prefix prefix2
tool db compact
tool db compact-prefix prefix1
tool db compact-range prefix0 a z
tool db list-crc
tool db store-copy copy 10 leveldb | grep -v 'copied\|took\|speed'
tool copy list-crc
tool db destructive-repair
tool db list-crc
rm -rf copy
tool db store-crc whole
cat whole
