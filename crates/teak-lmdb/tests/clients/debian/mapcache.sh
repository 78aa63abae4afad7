# MapCache: tiles put into an LMDB cache, copied from there to files, and deleted.
cat > mapcache.xml <<END
<mapcache>
 <source name="drawn" type="dummy"/>
 <cache name="lmdb" type="lmdb"><base>$PWD/tiles</base></cache>
 <cache name="disk" type="disk"><base>$PWD/disk</base></cache>
 <tileset name="first"><source>drawn</source><cache>lmdb</cache><grid>WGS84</grid><format>PNG</format><metatile>1 1</metatile></tileset>
 <tileset name="second"><source>drawn</source><cache>disk</cache><grid>WGS84</grid><format>PNG</format><metatile>1 1</metatile></tileset>
 <service type="wms" enabled="true"/>
</mapcache>
END
mkdir tiles
# Without the speed.
seed() { mapcache_seed --quiet -c mapcache.xml -g WGS84 "$@" 2>&1 | sed 's/ in .*//'; }
files() { find disk -type f | LC_ALL=C sort | xargs cksum; }

seed -t first -z 0,3
seed -t first -x second -m transfer -z 0,3
files
rm -r disk
seed -t first -m delete -z 3,3
seed -t first -z 2,3 -n 2
seed -t first -x second -m transfer -z 0,3
files
