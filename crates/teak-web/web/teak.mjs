// The reader of Teak databases: teak_web.wasm as a class, for browsers and Node.

/** A function of WASI that the reader never needs answers "not supported". */
const NOT_SUPPORTED = 58;
const BAD_DESCRIPTOR = 8;

/** What the standard library of the module asks of its host: time, random bytes, standard output. */
function wasi(memory) {
  const view = () => new DataView(memory().buffer);
  const functions = {
    clock_time_get(clock, _precision, out) {
      const milliseconds = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(out >>> 0, BigInt(Math.round(milliseconds * 1e6)), true);
      return 0;
    },
    random_get(out, length) {
      crypto.getRandomValues(new Uint8Array(memory().buffer, out >>> 0, length >>> 0));
      return 0;
    },
    environ_sizes_get(count, length) {
      view().setUint32(count >>> 0, 0, true);
      view().setUint32(length >>> 0, 0, true);
      return 0;
    },
    environ_get: () => 0,
    // The text of a panic.
    fd_write(_descriptor, parts, count, written) {
      let total = 0;
      let text = "";
      for (let index = 0; index < count; index += 1) {
        const start = view().getUint32((parts >>> 0) + 8 * index, true);
        const length = view().getUint32((parts >>> 0) + 8 * index + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, start, length).slice());
        total += length;
      }
      console.error(text);
      view().setUint32(written >>> 0, total, true);
      return 0;
    },
    fd_prestat_get: () => BAD_DESCRIPTOR,
    proc_exit(code) {
      throw new Error(`the reader ended with code ${code}`);
    },
  };
  return new Proxy(functions, { get: (known, name) => known[name] ?? (() => NOT_SUPPORTED) });
}

const encoder = new TextEncoder();

function toBytes(value) {
  if (typeof value === "string") return encoder.encode(value);
  return value ?? new Uint8Array(0);
}

function fromHexadecimal(text) {
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16);
  }
  return bytes;
}

/** One database at a time. Each method throws an Error with the text of what failed. */
export class Reader {
  #exports;
  #source = null;

  /** `module` is a WebAssembly.Module of teak_web.wasm. */
  static async load(module) {
    const reader = new Reader();
    const memory = () => reader.#exports.memory;
    const names = WebAssembly.Module.imports(module).filter(({ module: from }) => from !== "teak");
    const system = wasi(memory);
    const imports = { teak: { read_at: (...position) => reader.#readAt(...position) } };
    for (const { module: from, name } of names) (imports[from] ??= {})[name] = system[name];
    const instance = await WebAssembly.instantiate(module, imports);
    reader.#exports = instance.exports;
    reader.#exports._initialize?.();
    return reader;
  }

  #readAt(offset, out, length) {
    try {
      // Addresses arrive with a sign.
      const bytes = new Uint8Array(this.#exports.memory.buffer, out >>> 0, length >>> 0);
      this.#source.read(offset, bytes);
      return 0;
    } catch (error) {
      console.error(error);
      return 1;
    }
  }

  #answer(status) {
    const { memory, teak_answer, teak_answer_len } = this.#exports;
    const bytes = new Uint8Array(memory.buffer, teak_answer() >>> 0, teak_answer_len() >>> 0).slice();
    if (status !== 0) throw new Error(new TextDecoder().decode(bytes));
    return bytes;
  }

  #json(status) {
    return JSON.parse(new TextDecoder().decode(this.#answer(status)));
  }

  /** Calls `use` with pointer and length of each part in the memory of the module. */
  #with(parts, use) {
    const { memory, teak_allocate, teak_release } = this.#exports;
    const placed = [];
    try {
      for (const part of parts) {
        const start = teak_allocate(part.length) >>> 0;
        if (start === 0) throw new Error("there is too little memory for the file");
        placed.push([start, part.length]);
        new Uint8Array(memory.buffer, start, part.length).set(part);
      }
      return use(...placed.flat());
    } finally {
      for (const [start, length] of placed) teak_release(start, length);
    }
  }

  /** Opens a file in memory: a Uint8Array. */
  openBytes(bytes) {
    this.#json(this.#with([bytes], this.#exports.teak_open_bytes));
  }

  /**
   * Opens a file that `source.read(offset, out)` reads, which fills `out`, a Uint8Array, or throws.
   * `source.length` is the length of the file in bytes.
   */
  openSource(source) {
    const before = this.#source;
    this.#source = source;
    try {
      this.#json(this.#exports.teak_open_source(source.length));
    } catch (error) {
      this.#source = before;
      throw error;
    }
  }

  close() {
    this.#exports.teak_close();
    this.#source = null;
  }

  /** All tables: name (bytes), records, depth, pages, has_several_values, order, obstacle. */
  tables() {
    const tables = this.#json(this.#exports.teak_tables());
    return tables.map((table) => ({ ...table, name: fromHexadecimal(table.name) }));
  }

  /**
   * At most `limit` records of a table, whose keys and values are bytes, and `next`: the `from` of
   * the next call, or null. A long value is cut; `value_len` is its length then.
   */
  records(table, { from = null, limit = 100 } = {}) {
    const kind = from === null ? 0 : from.value == null ? 1 : 2;
    const parts = [toBytes(table), toBytes(from?.key), toBytes(from?.value)];
    const answer = this.#json(
      this.#with(parts, (name, nameLength, key, keyLength, value, valueLength) =>
        this.#exports.teak_records(
          name, nameLength, kind, key, keyLength, value, valueLength, limit,
        ),
      ),
    );
    const decode = (record) => ({
      ...record,
      key: fromHexadecimal(record.key),
      value: record.value === null ? null : fromHexadecimal(record.value),
    });
    return {
      records: answer.records.map(decode),
      next: answer.next === null ? null : decode(answer.next),
    };
  }

  /** The whole value of a key, or null. */
  value(table, key) {
    const parts = [toBytes(table), toBytes(key)];
    const answer = this.#answer(this.#with(parts, this.#exports.teak_value));
    return answer[0] === 1 ? answer.subarray(1) : null;
  }

  /** Reads everything: tables, records, damages (texts). */
  check() {
    return this.#json(this.#exports.teak_check());
  }
}
