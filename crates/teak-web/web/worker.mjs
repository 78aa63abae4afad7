// Reads the file that the page chose, in a thread of its own: only there files are read by calls.

import { Reader } from "./teak.mjs";

let reader = null;

/** A file of the browser that is read where it is. */
class FileSource {
  #file;
  #calls = new FileReaderSync();

  constructor(file) {
    this.#file = file;
    this.length = file.size;
  }

  read(offset, out) {
    const part = this.#file.slice(offset, offset + out.length);
    const bytes = new Uint8Array(this.#calls.readAsArrayBuffer(part));
    if (bytes.length !== out.length) throw new Error("the file has become shorter");
    out.set(bytes);
  }
}

const questions = {
  async open(file) {
    reader ??= await Reader.load(await WebAssembly.compileStreaming(fetch("teak_web.wasm")));
    reader.close();
    reader.openSource(new FileSource(file));
    return reader.tables();
  },
  records: (table, options) => reader.records(table, options),
  check: () => reader.check(),
};

addEventListener("message", async ({ data: { id, question, parts } }) => {
  try {
    postMessage({ id, answer: await questions[question](...parts) });
  } catch (error) {
    // The module is of no use any more.
    if (error instanceof WebAssembly.RuntimeError) reader = null;
    postMessage({ id, error: String(error.message ?? error) });
  }
});
