# Postfix's `postmap`: a map that has to grow is created, looked up, changed and listed.
mkdir conf
cat > conf/main.cf <<END
compatibility_level = 3.6
shlib_directory = $(dirname "$(find "$ROOT/usr/lib" -name postfix-lmdb.so)")
meta_directory = $PWD/conf
mail_owner = daemon
setgid_group = games
default_privs = nobody
lmdb_map_size = 65536
END
printf 'lmdb\tpostfix-lmdb.so\tdict_lmdb_open\tmkmap_lmdb_open\n' > conf/dynamicmaps.cf
postmap() { command postmap -c conf "$@"; }

seq 5000 | sed 's/.*/user&@example.org box&/' > map
postmap lmdb:map
postmap -q user77@example.org lmdb:map
postmap -q nobody@example.org lmdb:map || echo "no nobody"
postmap -d user77@example.org lmdb:map
postmap -q user77@example.org lmdb:map || echo "no user77"
echo 'user78@example.org another' | postmap -i lmdb:map || echo "user78 is there"
echo 'user78@example.org another' | postmap -ri lmdb:map
seq 200 | sed 's/.*/more& long long long long long long value &/' | postmap -i lmdb:map
seq 50 | sed 's/.*/more&/' | postmap -d - lmdb:map
postmap -s lmdb:map
# Created again, under the name that is in use.
seq 10 | sed 's/.*/few& &/' > map
postmap lmdb:map
postmap -s lmdb:map
