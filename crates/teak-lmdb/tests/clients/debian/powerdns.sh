# PowerDNS's `pdnsutil` with its LMDB backend: zones, records, DNSSEC.
cat > pdns.conf <<END
module-dir=$(dirname "$(find "$ROOT/usr/lib" -name liblmdbbackend.so)")
load-modules=liblmdbbackend.so
launch=lmdb
lmdb-filename=$PWD/pdns.lmdb
lmdb-shards=4
END
pdnsutil() { command pdnsutil --config-dir="$PWD" "$@"; }

{
    echo '$ORIGIN example.net.'
    echo '@ 3600 IN SOA ns1 host 1 10800 3600 604800 3600'
    echo '@ 3600 IN NS ns1'
    seq 500 | sed 's/.*/host& 300 IN TXT "number &"/'
    seq 200 | sed 's/.*/host& 300 IN A 192.0.2.&/'
} > zone
for zone in example.org example.com sub.example.org; do pdnsutil create-zone "$zone" ns1.example.org; done
pdnsutil load-zone example.net zone
pdnsutil add-record example.org www A 192.0.2.1
pdnsutil add-record example.org www A 192.0.2.2
pdnsutil add-record example.org www AAAA 2001:db8::1
pdnsutil replace-rrset example.org www A 192.0.2.9 192.0.2.10
pdnsutil delete-rrset example.org www AAAA
pdnsutil secure-zone example.org
pdnsutil rectify-zone example.net
pdnsutil set-meta example.org ALLOW-AXFR-FROM 192.0.2.0/24
pdnsutil get-meta example.org
pdnsutil import-tsig-key own hmac-sha256 c2VjcmV0
pdnsutil list-tsig-keys
pdnsutil increase-serial example.com
pdnsutil delete-zone sub.example.org
for zone in $(pdnsutil list-all-zones); do
    echo "zone $zone"
    pdnsutil list-zone "$zone"
    pdnsutil check-zone "$zone"
done
