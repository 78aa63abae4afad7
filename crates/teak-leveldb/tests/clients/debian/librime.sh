# User dictionaries of an input method: restored, exported, imported, saved, synchronised.

cat > luna_pinyin.userdb.txt <<'TEXT'
# Rime user dictionary
#@/db_name	luna_pinyin.userdb
#@/db_type	userdb
#@/user_id	one
TEXT
cat > import.txt <<'TEXT'
再见	zai jian	7
你好	ni hao	2
TEXT
number=0
while [ "$number" -lt 3000 ]; do
    printf 'ni hao %d \t你好%d\tc=%d d=1 t=5\n' "$number" "$number" "$((number % 40 - 5))" >> luna_pinyin.userdb.txt
    printf '世界%d\tshi jie\t%d\n' "$number" "$((number % 9))" >> import.txt
    number=$((number + 1))
done

# The messages have times and process ids.
manager() { rime_dict_manager "$@" 2> messages || { cat messages; exit 1; }; }

manager --restore luna_pinyin.userdb.txt
manager --list
manager --export luna_pinyin exported.txt
cat exported.txt
manager --import luna_pinyin import.txt
manager --backup luna_pinyin
grep -v '^#@/tick\|^#@/user_id' sync/unknown/luna_pinyin.userdb.txt
# Records are merged.
sed 's/c=3 /c=30 /; s/luna_pinyin/second/' sync/unknown/luna_pinyin.userdb.txt > second.userdb.txt
manager --restore second.userdb.txt
manager --sync
manager --list
manager --export second second.txt
cat second.txt
manager --export luna_pinyin again.txt
cat again.txt
ls luna_pinyin.userdb/CURRENT second.userdb/LOCK
