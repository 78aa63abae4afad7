# Samba's ldb with its LMDB backend: records with indices added, changed, renamed, deleted, searched.
LDB_MODULES_PATH="$(dirname "$(find "$ROOT/usr/lib" -name mdb.so)")"
export LDB_MODULES_PATH
URL="mdb://$PWD/data.ldb"
cat > records.ldif <<'END'
dn: @INDEXLIST
@IDXATTR: cn
@IDXATTR: mail
@IDXGUID: objectUUID
@IDX_DN_GUID: GUID

END
for number in $(seq 400); do
    printf 'dn: cn=u%d,dc=example\ncn: u%d\nmail: m%d@example.org\nobjectClass: person\nobjectUUID: %016d\n\n' \
        "$number" "$number" $((number % 7)) "$number"
done >> records.ldif
for number in $(seq 3 3 400); do
    printf 'dn: cn=u%d,dc=example\nchangetype: modify\nreplace: mail\nmail: new%d@example.org\n-\nadd: description\n' \
        "$number" "$number"
    printf 'description: %0*d\n\n' $((number * 10)) "$number"
done > changes.ldif
ldbadd -H "$URL" records.ldif
ldbmodify -H "$URL" changes.ldif
for number in $(seq 10 20); do ldbrename -H "$URL" "cn=u$number,dc=example" "cn=v$number,dc=example"; done
for number in $(seq 30 40); do ldbdel -H "$URL" "cn=u$number,dc=example"; done
ldbdel -H "$URL" cn=u30,dc=example || echo "u30 is gone"
ldbsearch -H "$URL" '(mail=m3@example.org)' dn
ldbsearch -H "$URL" '(&(cn=u9)(mail=new9@example.org))'
ldbsearch -H "$URL" -b cn=v12,dc=example -s base
ldbsearch -H "$URL" '(objectClass=person)' --sorted
