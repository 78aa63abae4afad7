# PHP's `dba`: all modes of opening, and records inserted, replaced, deleted and iterated over.
cat > client.php <<'END'
<?php
function all($db) {
    $found = [];
    for ($key = dba_firstkey($db); $key !== false; $key = dba_nextkey($db)) $found[$key] = dba_fetch($key, $db);
    return $found;
}
$db = dba_open('data', 'n', 'lmdb');
for ($number = 0; $number < 300; $number++) dba_insert("key $number", str_repeat("$number ", $number % 50), $db);
var_dump(dba_insert('key 7', 'other', $db), dba_replace('key 8', 'new', $db), dba_exists('key 9', $db));
var_dump(dba_delete('key 10', $db), @dba_delete('key 10', $db), dba_fetch('key 10', $db), dba_sync($db));
dba_close($db);
foreach (['r', 'w', 'c', 'rl', 'wd'] as $mode) {
    $db = dba_open('data', $mode, 'lmdb');
    echo "$mode: ", count(all($db)), ' ', sha1(serialize(all($db))), "\n";
    var_dump(@dba_replace("mode $mode", $mode, $db));
    if ($mode === 'c') foreach (all($db) as $key => $value) if (crc32($key) % 2) dba_delete($key, $db);
    dba_close($db);
}
$db = dba_open('data', 'n', 'lmdb');
var_dump(all($db));
dba_close($db);
END
php8.2 -n -d extension_dir="$(dirname "$(find "$ROOT/usr/lib" -name dba.so)")" -d extension=dba.so client.php
