// Reads databases with the module as a page does, under Node. Arguments: the module, and a folder
// that the program which calls this has filled: numbers.teak and its records as JSON, and
// damaged.teak. Prints a line for each thing that was shown.

import assert from "node:assert/strict";
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { Reader } from "../web/teak.mjs";

const [, , modulePath, folder] = process.argv;
const module = new WebAssembly.Module(readFileSync(modulePath));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const expected = JSON.parse(readFileSync(join(folder, "numbers.json"), "utf8"));

function allRecords(reader, table, limit) {
  const all = [];
  let from = null;
  do {
    const { records, next } = reader.records(table, { from, limit });
    for (const { key, value, value_len } of records) {
      const whole = value_len === undefined ? value : reader.value(table, key);
      assert.equal(whole.length, value_len ?? value.length);
      all.push([hex(key), hex(whole)]);
    }
    from = next;
  } while (from !== null);
  return all;
}

function compare(reader, text) {
  const tables = reader.tables();
  assert.deepEqual(tables.map(({ name }) => Buffer.from(name).toString()), Object.keys(expected));
  let count = 0;
  for (const { name, records } of tables) {
    const found = allRecords(reader, name, 7 + (count % 90));
    assert.equal(found.length, records);
    assert.deepEqual(found, expected[Buffer.from(name).toString()]);
    count += records;
  }
  console.log(`ok: ${count} records of ${tables.length} tables, ${text}`);
}

const reader = await Reader.load(module);
const bytes = readFileSync(join(folder, "numbers.teak"));
reader.openBytes(bytes);
compare(reader, "from bytes");
assert.deepEqual(reader.check().damages, []);

const file = openSync(join(folder, "numbers.teak"));
let readBytes = 0;
const source = {
  length: fstatSync(file).size,
  read(offset, out) {
    assert.equal(readSync(file, out, 0, out.length, offset), out.length);
    readBytes += out.length;
  },
};
reader.openSource(source);
const [table] = Object.keys(expected);
const [key, value] = expected[table].at(-1);
assert.ok(hex(reader.value(table, Buffer.from(key, "hex"))) === value);
assert.equal(reader.value(table, "no such key"), null);
assert.ok(readBytes < source.length / 2, `${readBytes} of ${source.length}`);
console.log(`ok: a value, with ${readBytes} of ${source.length} bytes read`);
compare(reader, "read when needed");
closeSync(file);

const gone = { length: source.length, read: () => { throw new Error("gone"); } };
const { error: log } = console;
console.error = () => {};
assert.throws(() => reader.openSource(gone), /could not read the file/);
console.error = log;
// The database that was open still is.
assert.deepEqual(reader.tables().length, Object.keys(expected).length);
assert.throws(() => reader.records("no such table"), /no such table/);
assert.throws(() => reader.openBytes(new Uint8Array(100_000)), /./);
reader.close();
assert.throws(() => reader.tables(), /no database is open/);
console.log("ok: errors are texts");

reader.openBytes(readFileSync(join(folder, "damaged.teak")));
const { damages } = reader.check();
assert.ok(damages.length > 0);
assert.throws(() => reader.tables().forEach(({ name }) => allRecords(reader, name, 1000)), /checksum/);
console.log(`ok: damage is noticed (${damages[0]})`);

