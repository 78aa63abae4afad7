// Goes through the interface of the npm package `lmdb`, and prints the results. It runs on LMDB and
// on Teak's library; the output must be the same.

import { mkdirSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ABORT, IF_EXISTS, asBinary, open } from 'lmdb';

/** Which values are printed in full: longer ones are printed as their length and a hash. */
const LONGEST = 300;
const WORKERS = 3;

function text(value) {
	const json = JSON.stringify(value, (_, part) => {
		if (part?.type === 'Buffer') return 'hex ' + Buffer.from(part.data).toString('hex');
		if (typeof part === 'bigint') return `${part}n`;
		return part === undefined ? 'undefined' : part;
	});
	if (json.length <= LONGEST) return json;
	return `${json.length} characters, ${createHash('sha1').update(json).digest('hex')}`;
}

/** Prints what `work` returns, or that it throws. */
async function print(name, work) {
	let result;
	try {
		result = text(await work());
	} catch (error) {
		result = `${error.constructor.name}: ${error.message.split(/[:\n]/)[0]}`;
	}
	console.log(`${name}: ${result}`);
}

/** Numbers that are the same in each run. */
function* numbers(seed) {
	for (;;) {
		seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
		yield seed >>> 8;
	}
}

const all = (table, options) => Array.from(table.getRange(options));
const keys = (table, options) => Array.from(table.getKeys(options));

/** An entry without where it is in the package's own memory. */
function entry(table, key) {
	const found = table.getEntry(key);
	return found && [found.value, found.version];
}

/** Lengths on both sides of a memory page's, and of what the package shares with JavaScript. */
const LENGTHS = [0, 1, 7, 255, 511, 2000, 4000, 4096, 5000, 100_000, 3_000_000];

async function records(root, name, options) {
	const table = root.openDB(name, options);
	const hasVersions = options.useVersions;
	await print(`${name} empty`, () => [table.get('a'), all(table), table.getCount(), keys(table)]);
	for (let number = 0; number < 1000; number++) {
		table.put(`key ${(number * 7919) % 1000}`, value(options, number), hasVersions && number + 1);
	}
	await table.committed;
	await print(`${name} all`, () => all(table, { versions: hasVersions }));
	await print(`${name} count`, () => [table.getCount(), table.getKeysCount({ start: 'key 3' })]);
	await print(`${name} entries`, () => ['key 17', 'key', 'none', ''].map((key) => entry(table, key)));
	await print(`${name} several`, () => table.getMany(['key 1', 'none', 'key 999']));
	await print(`${name} exists`, () => [table.doesExist('key 5'), table.doesExist('none')]);
	for (const range of [
		{ start: 'key 5', end: 'key 6' },
		{ start: 'key 5', end: 'key 6', inclusiveEnd: true, exclusiveStart: true },
		{ start: 'key 6', end: 'key 5', reverse: true, limit: 7 },
		{ start: 'key 55555', limit: 3 },
		{ reverse: true, limit: 5, offset: 5 },
		{ offset: 995 },
		{ start: 'z' },
		{ end: 'a' },
	]) {
		await print(`${name} range ${text(range)}`, () => keys(table, range));
	}
	for (let number = 0; number < 1000; number += 3) table.remove(`key ${number}`);
	for (let number = 0; number < 1000; number += 5) table.put(`key ${number}`, value(options, -number));
	await table.committed;
	await print(`${name} changed`, () => all(table));
	await print(`${name} deleted`, () => table.removeSync('key 5'));
	await print(`${name} not there`, () => table.removeSync('key 5'));
	if (hasVersions) await versions(table, name);
	table.clearSync();
	await print(`${name} cleared`, () => [all(table), table.getStats().entryCount]);
}

function value({ encoding }, number) {
	switch (encoding) {
		case 'string':
			return `value ${number}`.repeat(1 + (Math.abs(number) % 20));
		case 'binary':
			return Buffer.from(`bytes ${number}`);
		case 'ordered-binary':
			return ['value', number, number % 2 === 0];
		default:
			return { number, name: `name ${number % 13}`, list: Array(Math.abs(number) % 9).fill(number) };
	}
}

async function versions(table, name) {
	await print(`${name} put if version`, () => table.put('v', { a: 1 }, 5));
	await print(`${name} put if other version`, () => table.put('v', { a: 2 }, 6, 4));
	await print(`${name} put if that version`, () => table.put('v', { a: 3 }, 6, 5));
	await print(`${name} version`, () => entry(table, 'v'));
	await print(`${name} put if it exists`, () => table.put('w', { a: 1 }, 1, IF_EXISTS));
	await print(`${name} delete if version`, () => table.remove('v', 3));
	await print(`${name} delete if that version`, () => table.remove('v', 6));
	await print(`${name} if nothing`, () => table.ifNoExists('v', () => table.put('v', 'new', 1)));
	await print(`${name} if nothing again`, () => table.ifNoExists('v', () => table.put('v', 'newer', 2)));
	await print(`${name} branches`, async () => {
		const done = table.ifVersion('v', 1, () => {
			table.put('x', 1, 1);
			table.ifVersion('x', 1, () => table.put('y', 2, 1));
			table.ifVersion('x', 9, () => table.put('z', 3, 1));
		});
		return [await done, table.get('x'), table.get('y'), table.get('z')];
	});
}

async function duplicates(root, name, options) {
	const table = root.openDB(name, { dupSort: true, ...options });
	for (let number = 0; number < 600; number++) {
		table.put(number % 7, value(options, (number * 37) % 101));
		if (number === 300) await table.committed;
	}
	await table.committed;
	await print(`${name} all`, () => all(table));
	await print(`${name} keys`, () => keys(table));
	await print(`${name} counts`, () => [table.getCount(), table.getKeysCount(), table.getValuesCount(3)]);
	await print(`${name} values`, () => Array.from(table.getValues(3)));
	await print(`${name} values, some`, () => Array.from(table.getValues(3, { offset: 5, limit: 4 })));
	await print(`${name} values, backwards`, () => Array.from(table.getValues(3, { reverse: true, limit: 4 })));
	await print(`${name} values of none`, () => Array.from(table.getValues(99)));
	const one = value(options, 37);
	await print(`${name} has`, () => [table.doesExist(1, one), table.doesExist(1, value(options, 1000))]);
	await print(`${name} deletes one`, () => [table.removeSync(1, one), table.removeSync(1, one)]);
	await print(`${name} once`, () => [
		table.putSync(2, value(options, 1), { noDupData: true }),
		table.putSync(2, value(options, 5000), { noDupData: true }),
	]);
	await print(`${name} deletes while it reads`, async () => {
		for (const { key, value } of table.getRange({ start: 4, end: 6 })) table.remove(key, value);
		await table.committed;
		return all(table);
	});
	await print(`${name} deletes a key`, () => [table.removeSync(2), table.getValuesCount(2)]);
	await print(`${name} left`, () => all(table, { reverse: true }));
}

async function kindsOfKeys(root) {
	const table = root.openDB('keys', {});
	const some = [
		null, true, false, 0, -1, 1.5, 1e300, -1e-300, 2 ** 40, '', 'a', 'a\u0000b', 'ä', '\u{1f600}',
		'x'.repeat(100), 'x'.repeat(500), ['a', 1], ['a', 1, null], ['a'], [1, ['b']], Symbol.for('s'),
	];
	for (const key of some) await print('key', async () => [await table.put(key, String(key)), table.get(key)]);
	await print('key too long', () => table.put('x'.repeat(5000), 1));
	await print('keys', () => keys(table).map(String));
	const numeric = root.openDB('uint32', { keyEncoding: 'uint32' });
	for (const key of [7, 0, 4294967295, 256, 65536, 1, 255]) numeric.put(key, key * 2);
	await numeric.committed;
	await print('uint32', () => [all(numeric), keys(numeric, { start: 255, end: 65537 }), numeric.get(256)]);
	await print('uint32 backwards', () => keys(numeric, { reverse: true }));
	await print('uint32 deletes', () => [numeric.removeSync(256), numeric.removeSync(257), keys(numeric)]);
	const binary = root.openDB('binary keys', { keyEncoding: 'binary', encoding: 'binary' });
	for (let number = 0; number < 300; number++) {
		const key = Buffer.alloc(1 + (number % 17), number);
		binary.put(key, Buffer.from([number & 255]));
	}
	await binary.committed;
	await print('binary keys', () => all(binary));
	await print('binary key', () => binary.get(Buffer.alloc(2, 1)));
}

async function lengths(root) {
	const table = root.openDB('lengths', { encoding: 'binary' });
	for (const length of LENGTHS) table.put(length, Buffer.alloc(length, length & 255));
	await table.committed;
	await print('lengths', () => all(table).map(({ key, value }) => [key, value.length, value.at(-1)]));
	await print('lengths read', () => LENGTHS.map((length) => table.getBinary(length).length));
	await print('lengths, fast', () => LENGTHS.map((length) => table.getBinaryFast(length).length));
	for (const length of LENGTHS) table.put(length, Buffer.alloc(LENGTHS.at(-1) - length, 7));
	await table.committed;
	await print('lengths changed', () => all(table).map(({ key, value }) => [key, value.length, value.at(-1)]));
	await print('one value', () => table.put('own', asBinary(Buffer.from('as it is'))));
	await print('one value read', () => table.get('own').toString());
	await print('free pages', async () => {
		for (let round = 0; round < 30; round++) {
			for (const length of LENGTHS.slice(0, -1)) await table.put(`${round % 3} ${length}`, Buffer.alloc(length + round));
			if (round % 4 === 3) table.clearSync();
		}
		return all(table).map(({ key, value }) => [key, value.length]);
	});
}

async function transactions(root) {
	const table = root.openDB('transactions', { useVersions: true });
	await print('commits', () => table.transactionSync(() => [table.put('a', 1), table.get('a')].length));
	await print('aborts', () => table.transactionSync(() => (table.put('b', 1), ABORT)) === ABORT);
	await print('throws', () => table.transactionSync(() => {
		table.put('c', 1);
		throw new Error('own');
	}));
	await print('after these', () => all(table));
	await print('asynchronous', () => table.transaction(() => (table.put('d', 4), table.get('d'))));
	await print('asynchronous abort', async () => {
		await table.transaction(() => (table.put('e', 5), ABORT));
		return table.get('e');
	});
	await print('child', () => table.transactionSync(() => {
		table.put('outer', 1);
		table.transactionSync(() => (table.put('inner', 2), ABORT));
		table.transactionSync(() => table.put('kept', 3));
		return ['outer', 'inner', 'kept'].map((key) => table.get(key));
	}));
	await print('asynchronous child', () => table.transaction(async () => {
		table.put('outer', 10);
		await table.childTransaction(() => (table.put('inner', 20), ABORT));
		await table.childTransaction(() => table.put('kept', 30));
		return ['outer', 'inner', 'kept'].map((key) => table.get(key));
	}));
	await print('batch', () => table.batch(() => {
		for (let number = 0; number < 50; number++) table.put(`batch ${number}`, number);
	}));
	await print('many at once', async () => {
		const begun = [];
		for (let number = 0; number < 200; number++) {
			begun.push(number % 3 ? table.put(number, number) : table.transaction(() => table.put(number, -number)));
		}
		await Promise.all(begun);
		return all(table, { versions: true });
	});
	await print('a cursor while it writes', () => table.transactionSync(() => {
		const seen = [];
		for (const { key } of table.getRange({ start: 'batch' })) {
			seen.push(key);
			table.remove(key);
			table.put(`a ${key}`, 1);
		}
		return seen;
	}));
	await print('left', () => keys(table));
}

async function snapshots(root) {
	const table = root.openDB('snapshots', {});
	for (let number = 0; number < 500; number++) table.put(number, number);
	await table.committed;
	const transaction = root.useReadTransaction();
	const iterator = table.getRange({ start: 100 })[Symbol.iterator]();
	const first = iterator.next().value;
	for (let number = 0; number < 500; number++) table.put(number, -number);
	await table.committed;
	table.resetReadTxn();
	await print('old', () => [table.get(7, { transaction }), table.getCount({ transaction })]);
	await print('new', () => table.get(7));
	await print('an iterator goes on', () => [first, iterator.next().value, iterator.next().value]);
	await print('without a snapshot', async () => {
		const seen = [];
		for (const { key, value } of table.getRange({ snapshot: false, limit: 20 })) {
			seen.push([key, value]);
			if (key === 3) table.transactionSync(() => (table.remove(4), table.put(5, 'changed')));
		}
		return seen;
	});
	iterator.return();
	transaction.done();
	await print('readers', () => root.readerCheck());
}

/** Random changes of two tables, each compared with a map. */
async function random(root, seed) {
	const next = numbers(seed);
	const number = (limit) => next.next().value % limit;
	const table = root.openDB(`random ${seed}`, { cache: seed % 2 === 0, compression: seed % 3 === 0 });
	const model = new Map();
	for (let round = 0; round < 40; round++) {
		const change = () => {
			for (let step = number(60); step > 0; step--) {
				const key = `key ${number(400)} ${'-'.repeat(number(3) * 40)}`;
				const length = number(20) === 0 ? number(20_000) : number(100);
				if (number(3) === 0) {
					table.remove(key);
					model.delete(key);
				} else {
					const put = { text: 'v'.repeat(length), round };
					table.put(key, put);
					model.set(key, put);
				}
			}
		};
		if (round % 2 === 0) table.transactionSync(change);
		else await table.batch(change);
	}
	await table.committed;
	await print(`random ${seed}`, () => all(table));
	await print(`random ${seed} is the model`, () => {
		const sorted = [...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
		return text(sorted) === text(all(table).map(({ key, value }) => [key, value]));
	});
}

/** Workers, each with an environment of its own. */
async function threads(directory) {
	const ended = Array.from({ length: WORKERS }, (_, number) => new Promise((resolve, reject) => {
		const worker = new Worker(new URL(import.meta.url), { workerData: `${directory}-${number}` });
		worker.on('message', resolve).on('error', reject);
	}));
	await print('threads', () => Promise.all(ended));
}

async function work(directory) {
	mkdirSync(directory);
	const table = open(directory, OPTIONS).openDB('threads', {});
	for (let round = 0; round < 100; round++) {
		table.transactionSync(() => table.put('count', 1 + (table.get('count') ?? 0)));
		if (round % 10 === 0) await table.put(round, 'x'.repeat(round));
	}
	parentPort.postMessage(all(table));
}

async function copies(directory, root) {
	for (const isDense of [false, true]) {
		const copy = `${directory}-${isDense ? 'dense' : 'exact'}`;
		mkdirSync(copy);
		await root.backup(copy, isDense);
		const opened = open(copy, OPTIONS);
		await print(`copy ${isDense}`, () => all(opened.openDB('transactions', { useVersions: true })));
		await opened.openDB('transactions', { useVersions: true }).put('own', 1);
		await opened.close();
	}
}

/** Closed and opened again, also by readers only. */
async function again(directory) {
	const names = ['transactions', 'keys', 'strings', 'dropped'];
	for (const readOnly of [false, true]) {
		const root = open(directory, { ...OPTIONS, readOnly });
		await print(`tables, ${readOnly}`, () => keys(root).map(String));
		for (const name of names.slice(0, -1)) {
			await print(`${name}, ${readOnly}`, () => root.openDB(name, {}).getCount());
		}
		if (!readOnly) {
			await print('drop', async () => {
				const table = root.openDB('dropped', {});
				await table.put('a', 1);
				await table.drop();
				return keys(root).map(String).includes('dropped');
			});
		}
		await root.close();
	}
}

const OPTIONS = { maxDbs: 40, noSync: true, overlappingSync: false };

async function main(directory) {
	const root = open(directory, OPTIONS);
	await print('root', async () => [await root.put('own', { a: 1 }), root.get('own'), root.get('none')]);
	await records(root, 'versions', { useVersions: true });
	await records(root, 'plain', {});
	await records(root, 'json', { encoding: 'json', useVersions: true });
	await records(root, 'strings', { encoding: 'string' });
	await records(root, 'bytes', { encoding: 'binary' });
	await records(root, 'compressed', { compression: { threshold: 20 } });
	await records(root, 'cached', { cache: true, useVersions: true });
	await records(root, 'structures', { sharedStructuresKey: Symbol.for('structures') });
	await duplicates(root, 'sorted', { encoding: 'ordered-binary' });
	await duplicates(root, 'sorted strings', { encoding: 'string' });
	await kindsOfKeys(root);
	await lengths(root);
	await transactions(root);
	await snapshots(root);
	for (let seed = 1; seed <= 6; seed++) await random(root, seed);
	await threads(directory);
	await copies(directory, root);
	await root.close();
	await again(directory);
	const file = open(join(directory, 'file.mdb'), { noSubdir: true });
	await print('a file', async () => [await file.put('a', 1), all(file), (await file.flushed) ?? null]);
	await file.close();
}

if (isMainThread) await main(process.argv[2]);
else await work(workerData);
