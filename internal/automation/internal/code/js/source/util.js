(function (host, load, inspect) {
  'use strict';
  const custom = Symbol.for('nodejs.util.promisify.custom');
  function promisify(callback) {
    if (typeof callback !== 'function') throw new TypeError('promisify needs a function');
    if (callback[custom]) return callback[custom];
    return function (...args) {
      return new Promise((resolve, reject) => callback.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
    };
  }
  promisify.custom = custom;
  function callbackify(asynchronous) {
    return function (...args) {
      const callback = args.pop();
      asynchronous.apply(this, args).then((value) => callback(null, value), (error) => callback(error));
    };
  }
  function inherits(child, parent) {
    Object.defineProperty(child, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(child.prototype, parent.prototype);
  }
  function isDeepStrictEqual(a, b, seen = new Map()) {
    if (Object.is(a, b)) return true;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (seen.get(a) === b) return true;
    seen.set(a, b);
    const same = (x, y) => isDeepStrictEqual(x, y, seen);
    if (a instanceof Date) return a.getTime() === b.getTime();
    if (a instanceof RegExp) return String(a) === String(b) && a.lastIndex === b.lastIndex;
    if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
    if (a instanceof Map) return a.size === b.size && [...a].every(([k, v]) => b.has(k) && same(v, b.get(k)));
    if (a instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => same(v, w)));
    const keys = Object.keys(a);
    if (Array.isArray(a) && a.length !== b.length) return false;
    return keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && same(a[k], b[k]));
  }
  function structuredClone(value, options, seen = new Map()) {
    if (typeof value === 'function' || typeof value === 'symbol') {
      const error = new Error(`${inspect(value)} could not be cloned.`);
      error.name = 'DataCloneError';
      throw error;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => { seen.set(value, copy); return copy; };
    const inner = (v) => structuredClone(v, undefined, seen);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) return keep(value instanceof DataView ? new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength) : new value.constructor(value));
    if (value instanceof Error) {
      const copy = keep(new (globalThis[value.name] ?? Error)(value.message));
      if ('cause' in value) copy.cause = inner(value.cause);
      return copy;
    }
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [k, v] of value) copy.set(inner(k), inner(v));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const v of value) copy.add(inner(v));
      return copy;
    }
    const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) copy[key] = inner(value[key]);
    return copy;
  }

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return new Uint8Array(load('buffer').Buffer.from(String(text))); }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const character of String(text)) {
        const bytes = this.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }
  const encodings = { 'utf-8': 'utf8', utf8: 'utf8', 'utf-16le': 'utf16le', latin1: 'latin1', ascii: 'latin1', 'iso-8859-1': 'latin1' };
  class TextDecoder {
    #encoding; #fatal; #keep;
    constructor(encoding = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      this.#encoding = encodings[String(encoding).toLowerCase()];
      if (!this.#encoding) throw new RangeError(`the encoding "${encoding}" is not available`);
      this.#fatal = fatal;
      this.#keep = ignoreBOM;
    }
    get encoding() { return this.#encoding === 'utf8' ? 'utf-8' : this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keep; }
    decode(input = new Uint8Array()) {
      const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      const { Buffer } = load('buffer');
      const text = Buffer.from(bytes).toString(this.#encoding);
      if (this.#fatal && this.#encoding === 'utf8' && !Buffer.from(text).equals(Buffer.from(bytes))) {
        throw new TypeError('the bytes are not valid utf-8');
      }
      return !this.#keep && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
  }
  const types = {
    isDate: (v) => v instanceof Date,
    isRegExp: (v) => v instanceof RegExp,
    isPromise: (v) => v instanceof Promise,
    isMap: (v) => v instanceof Map,
    isSet: (v) => v instanceof Set,
    isNativeError: (v) => v instanceof Error,
    isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
    isUint8Array: (v) => v instanceof Uint8Array,
    isArrayBuffer: (v) => v instanceof ArrayBuffer,
  };
  const format = load('format');
  return {
    promisify, callbackify, inherits, isDeepStrictEqual, structuredClone, TextEncoder, TextDecoder, types, format,
    inspect: (value, options) => inspect(value, (typeof options === 'object' && options?.depth === null ? 100 : options?.depth ?? 2) + 1, typeof value === 'string' ? [null] : []),
    deprecate: (callback) => callback,
    isArray: Array.isArray,
    stripVTControlCharacters: (text) => String(text).replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
    toUSVString: (text) => String(text).toWellFormed(),
  };
})
