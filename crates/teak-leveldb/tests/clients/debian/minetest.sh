# A world of a game in LevelDB: generated, changed, loaded, moved to SQLite and back.

# The server looks for its files beside its program's directory.
[ -e "$ROOT/usr/lib/share" ] || { mkdir -p "$ROOT/usr/lib/share" && ln -s ../../share/games/minetest "$ROOT/usr/lib/share/minetest"; }
server() { "$ROOT/usr/lib/minetest/minetestserver" --world world --gameid devtest --config settings --logfile "" "$@"; }

export HOME="$PWD"
mkdir -p world/worldmods/check
cat > world/world.mt <<'TEXT'
backend = leveldb
player_backend = leveldb
auth_backend = leveldb
mod_storage_backend = sqlite3
gameid = devtest
TEXT
cat > settings <<'TEXT'
bind_address = 127.0.0.1
fixed_map_seed = 7
mg_name = v7
num_emerge_threads = 1
TEXT
cat > world/worldmods/check/init.lua <<'TEXT'
-- Loads or generates an area, prints a sum of it, and changes some nodes.
local low, high = vector.new(-48, -32, -48), vector.new(47, 47, 47)
local function check()
    local manip = minetest.get_voxel_manip()
    local from, to = manip:read_from_map(low, high)
    local nodes, sum = manip:get_data(), 0
    for at = 1, #nodes do
        local name = minetest.get_name_from_content_id(nodes[at])
        sum = (sum * 31 + #name * 7 + name:byte(-1)) % 1000000007
    end
    local meta = minetest.get_meta(vector.new(0, 40, 0)):get_int("visits")
    print("CHECK " .. #nodes .. " nodes, sum " .. sum .. ", visits " .. meta)
    for at = 0, 90 do
        minetest.set_node(vector.new(at % 10 * 5 - 20, 40, at - 45), {name = "basenodes:cobble"})
    end
    minetest.set_node(vector.new(0, 40, 0), {name = "basenodes:stone"})
    minetest.get_meta(vector.new(0, 40, 0)):set_int("visits", meta + 1)
    local auth = minetest.get_auth_handler()
    for number = meta * 20, meta * 20 + 19 do
        auth.create_auth("user" .. number, "secret" .. number)
    end
    local known = 0
    for number = 0, 200 do
        if auth.get_auth("user" .. number) then known = known + 1 end
    end
    print("CHECK " .. known .. " users")
    minetest.request_shutdown("done", false, 0)
end
minetest.after(0, function()
    minetest.emerge_area(low, high, function(_, _, left)
        if left == 0 then minetest.after(0, check) end
    end)
end)
TEXT
# An unused port. The two runs are not at the same time.
visit() { server --port 47831 > messages 2>&1 || { cat messages; exit 1; }; grep CHECK messages; }

visit
visit
visit
server --migrate sqlite3 > messages 2>&1
server --migrate-auth sqlite3 >> messages 2>&1
grep -o 'Successfully migrated.*' messages || true
ls world/map.sqlite world/auth.sqlite
rm -rf world/map.db world/auth.db
visit
server --migrate leveldb > messages 2>&1
server --migrate-auth leveldb >> messages 2>&1
grep -o 'Successfully migrated.*' messages || true
rm -f world/map.sqlite world/auth.sqlite
visit
ls world/map.db/CURRENT world/auth.db/CURRENT
grep backend world/world.mt
