# 389 Directory Server with its LMDB backend: an import, an index, exports, searches through a server.
# Changes through the server are left out: version 2.3.1 does not end them on LMDB either.
PLUGINS="$(dirname "$(find "$ROOT/usr/lib" -name libback-ldbm.so)")"
mkdir schema lock tmp cert ldif bak run inst log db
cp "$ROOT"/usr/share/dirsrv/schema/*.ldif "$ROOT"/etc/dirsrv/schema/*.ldif schema
cp "$ROOT"/etc/dirsrv/config/slapd-collations.conf .
sed -e "s#%schema_dir%#$PWD/schema#; s#%\(lock\|tmp\|cert\|ldif\|bak\|run\|inst\|log\|db\)_dir%#$PWD/\1#" \
    -e "s#%config_dir%#$PWD#; s#%fqdn%#localhost#; s#%ds_port%#0#; s#%ds_user%#$(id -un)#; s#%rootdn%#cn=root#" \
    -e "/^nsslapd-rootpw:/d; s#%ldapi_enabled%#on#; s#%ldapi%#$PWD/ldapi#; s#%ldapi_autobind%#on#" \
    -e "s#^nsslapd-pluginpath: #&$PLUGINS/#; s#^nsslapd-mode: 600#&\nnsslapd-backend-implement: mdb#" \
    "$ROOT"/usr/share/dirsrv/data/template-dse-minimal.ldif > dse.ldif
# The server adds these two itself, with paths below /usr, and does not start without them.
plugin() {
    printf 'dn: cn=%s,cn=plugins,cn=config\nobjectclass: top\nobjectclass: nsSlapdPlugin\ncn: %s\n' "$1" "$1"
    printf 'nsslapd-pluginpath: %s/%s\nnsslapd-plugininitfunc: %s\nnsslapd-plugintype: %s\n' "$PLUGINS" "$2" "$3" "$4"
    printf 'nsslapd-pluginenabled: on\nnsslapd-pluginId: %s\nnsslapd-pluginVersion: none\n' "$1"
    printf 'nsslapd-pluginVendor: 389 Project\nnsslapd-pluginDescription: %s\n\n' "$1"
}
plugin entryuuid_syntax libentryuuid-syntax-plugin entryuuid_syntax_plugin_init syntax >> dse.ldif
plugin entryuuid libentryuuid-plugin entryuuid_plugin_init betxnpreoperation >> dse.ldif
cat >> dse.ldif <<END
dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
objectclass: top
objectclass: extensibleObject
objectclass: nsBackendInstance
cn: userRoot
nsslapd-suffix: dc=example,dc=org
nsslapd-directory: $PWD/db/userRoot

dn: cn=mail,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
objectclass: top
objectclass: nsIndex
cn: mail
nssystemindex: false
nsindextype: eq
nsindextype: sub

dn: cn=dc\\3Dexample\\2Cdc\\3Dorg,cn=mapping tree,cn=config
objectclass: top
objectclass: extensibleObject
objectclass: nsMappingTree
cn: dc=example,dc=org
nsslapd-state: backend
nsslapd-backend: userRoot

END
person() {
    printf 'dn: uid=u%05d,dc=example,dc=org\n%sobjectClass: inetOrgPerson\nuid: u%05d\ncn: User %d\nsn: Name%d\n' \
        "$1" "$2" "$1" "$1" $(($1 % 37))
    printf 'mail: user%d@example.org\ndescription: %0*d\n\n' "$1" $(($1 % 300 + 1)) "$1"
}
{
    printf 'dn: dc=example,dc=org\nobjectClass: domain\ndc: example\n'
    printf 'aci: (targetattr="*")(version 3.0; acl "all"; allow (all) userdn="ldap:///anyone";)\n\n'
    for number in $(seq 1000); do person "$number" ""; done
} > entries.ldif
slapd() { ns-slapd "$@" -D "$PWD" > "log/$1" 2>&1 || { cat "log/$1"; exit 1; }; }
# Without what differs from run to run.
export_all() {
    slapd db2ldif -n userRoot -a "$PWD/$1.ldif"
    grep -v -e '^nsUniqueId:' -e '^createTimestamp:' -e '^modifyTimestamp:' -e '^entryUUID:' "$1.ldif" | cksum
    grep -c '^dn:' "$1.ldif"
}

slapd ldif2db -n userRoot -i "$PWD/entries.ldif"
export_all imported
slapd db2index -n userRoot -t mail
export_all indexed
ns-slapd -D "$PWD" -d 0 > log/server 2>&1 &
server=$!
trap 'kill -9 "$server" 2> /dev/null || true' EXIT
URL="ldapi://$(echo "$PWD/ldapi" | sed 's#/#%2F#g')"
search() { ldapsearch -x -LLL -H "$URL" "$@"; }
until search -s base -b '' 1.1 > /dev/null 2>&1; do
    kill -0 "$server" || { cat log/server log/errors; exit 1; }
    sleep 0.1
done
search -s base -b uid=u00003,dc=example,dc=org
for filter in '(mail=user7@example.org)' '(mail=*9*9@example.org)' '(|(sn=Name7)(uid=u00003))' '(!(mail=*1*))'; do
    search -b dc=example,dc=org "$filter" | LC_ALL=C sort
done
kill "$server"
wait "$server"
trap - EXIT
