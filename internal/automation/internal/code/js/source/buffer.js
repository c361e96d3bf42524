(function (host) {
  'use strict';
  // Bytes travel to the host and back as base64, which the engine itself reads and writes.
  const { fromBase64, fromHex } = Uint8Array;
  const { toBase64, toHex } = Uint8Array.prototype;
  const pack = (bytes) => toBase64.call(bytes);
  function unpack(text) {
    const bytes = fromBase64.call(Uint8Array, text);
    return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  function latin1(bytes) {
    const parts = [];
    for (let i = 0; i < bytes.length; i += 8192) parts.push(String.fromCharCode.apply(null, bytes.subarray(i, i + 8192)));
    return parts.join('');
  }
  function fromLatin1(text) {
    const buffer = Buffer.allocUnsafe(text.length);
    for (let i = 0; i < text.length; i++) buffer[i] = text.charCodeAt(i); // of every character its lowest byte
    return buffer;
  }
  function encodingOf(encoding = 'utf8') {
    const name = String(encoding).toLowerCase();
    switch (name) {
      case 'utf8': case 'utf-8': return 'utf8';
      case 'latin1': case 'binary': return 'latin1';
      case 'ucs2': case 'ucs-2': case 'utf16le': case 'utf-16le': return 'utf16le';
      case 'hex': case 'base64': case 'base64url': case 'ascii': return name;
      default: throw new TypeError(`Unknown encoding: ${encoding}`);
    }
  }
  function bytesOf(text, encoding) {
    switch (encodingOf(encoding)) {
      case 'utf8': return unpack(host('encode', text.toWellFormed()));
      case 'base64': case 'base64url': return unpack(host('unbase64', text));
      case 'hex': {
        const bytes = fromHex.call(Uint8Array, /^(?:[0-9a-fA-F]{2})*/.exec(text)[0]);
        return new Buffer(bytes.buffer);
      }
      case 'utf16le': {
        const buffer = Buffer.allocUnsafe(text.length * 2);
        for (let i = 0; i < text.length; i++) buffer.writeUInt16LE(text.charCodeAt(i), i * 2);
        return buffer;
      }
      default: return fromLatin1(text);
    }
  }
  class Buffer extends Uint8Array {
    static from(value, encoding, length) {
      if (typeof value === 'string') return bytesOf(value, encoding);
      if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
      if (ArrayBuffer.isView(value) || Array.isArray(value)) {
        const buffer = new Buffer(value.length ?? value.byteLength);
        buffer.set(value instanceof DataView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value);
        return buffer;
      }
      if (value?.type === 'Buffer' && Array.isArray(value.data)) return Buffer.from(value.data);
      throw new TypeError('a Buffer is made from a string, a list, a Buffer or an ArrayBuffer');
    }
    static of(...bytes) { return Buffer.from(bytes); }
    static alloc(size, fill, encoding) {
      const buffer = new Buffer(size);
      return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, 0, size, encoding);
    }
    static allocUnsafe(size) { return new Buffer(size); }
    static allocUnsafeSlow(size) { return new Buffer(size); }
    static isBuffer(value) { return value instanceof Buffer; }
    static isEncoding(encoding) { try { return typeof encoding === 'string' && Boolean(encodingOf(encoding)); } catch { return false; } }
    static byteLength(value, encoding) { return typeof value === 'string' ? bytesOf(value, encoding).length : value.byteLength; }
    static concat(list, total = list.reduce((sum, one) => sum + one.length, 0)) {
      const buffer = Buffer.alloc(total);
      let at = 0;
      for (const one of list) {
        const part = one.subarray(0, Math.max(0, total - at));
        buffer.set(part, at);
        at += part.length;
      }
      return buffer;
    }
    static compare(a, b) {
      for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
      return Math.sign(a.length - b.length);
    }
    toString(encoding, start = 0, end = this.length) {
      const bytes = this.subarray(start, end);
      switch (encodingOf(encoding)) {
        case 'utf8': return host('utf8', pack(bytes));
        case 'base64': return pack(bytes);
        case 'base64url': return toBase64.call(bytes, { alphabet: 'base64url', omitPadding: true });
        case 'hex': return toHex.call(bytes);
        case 'ascii': return latin1(bytes.map((byte) => byte & 0x7f));
        case 'utf16le': {
          let text = '';
          for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
          return text;
        }
        default: return latin1(bytes);
      }
    }
    toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
    equals(other) { return Buffer.compare(this, other) === 0; }
    compare(other) { return Buffer.compare(this, other); }
    slice(start, end) { return this.subarray(start, end); }
    write(text, offset = 0, length = this.length - offset, encoding = 'utf8') {
      if (typeof offset === 'string') return this.write(text, 0, this.length, offset);
      if (typeof length === 'string') return this.write(text, offset, this.length - offset, length);
      const bytes = bytesOf(text, encoding).subarray(0, Math.min(length, this.length - offset));
      this.set(bytes, offset);
      return bytes.length;
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    fill(value, start = 0, end = this.length, encoding = 'utf8') {
      if (typeof start === 'string') return this.fill(value, 0, this.length, start);
      if (typeof value === 'number') return super.fill(value & 0xff, start, end);
      const bytes = typeof value === 'string' ? bytesOf(value, encoding) : value;
      if (bytes.length === 0) return super.fill(0, start, end);
      for (let i = start; i < end; i++) this[i] = bytes[(i - start) % bytes.length];
      return this;
    }
    indexOf(value, from = 0, encoding = 'utf8') {
      if (typeof value === 'number') return super.indexOf(value & 0xff, from);
      return latin1(this).indexOf(latin1(typeof value === 'string' ? bytesOf(value, encoding) : value), from);
    }
    lastIndexOf(value, from = Infinity, encoding = 'utf8') {
      const wanted = typeof value === 'number' ? String.fromCharCode(value & 0xff) : latin1(typeof value === 'string' ? bytesOf(value, encoding) : value);
      return latin1(this).lastIndexOf(wanted, from);
    }
    includes(value, from, encoding) { return this.indexOf(value, from, encoding) !== -1; }
    readUIntBE(offset, size) { return this.subarray(offset, offset + size).reduce((n, byte) => n * 256 + byte, 0); }
    readUIntLE(offset, size) { return this.subarray(offset, offset + size).reduceRight((n, byte) => n * 256 + byte, 0); }
  }
  const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  const kinds = { UInt8: 'Uint8', Int8: 'Int8', UInt16: 'Uint16', Int16: 'Int16', UInt32: 'Uint32', Int32: 'Int32', Float: 'Float32', Double: 'Float64', BigInt64: 'BigInt64', BigUInt64: 'BigUint64' };
  for (const [name, kind] of Object.entries(kinds)) {
    for (const order of name.endsWith('8') ? [''] : ['LE', 'BE']) {
      const size = name.endsWith('8') ? 1 : { 16: 2, 32: 4, 64: 8 }[kind.slice(-2)];
      const read = function (offset = 0) { return view(this)[`get${kind}`](offset, order === 'LE'); };
      const write = function (value, offset = 0) { view(this)[`set${kind}`](offset, value, order === 'LE'); return offset + size; };
      for (const alias of new Set([name, name.replace('UInt', 'Uint')])) {
        Object.defineProperty(Buffer.prototype, `read${alias}${order}`, { value: read, writable: true, configurable: true });
        Object.defineProperty(Buffer.prototype, `write${alias}${order}`, { value: write, writable: true, configurable: true });
      }
    }
  }
  function failBase64() {
    const error = new Error('The text is not base64.');
    error.name = 'InvalidCharacterError';
    throw error;
  }
  const atob = (text) => {
    const clean = String(text).replace(/[\t\n\f\r ]/g, '');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(clean)) failBase64();
    return latin1(unpack(host('unbase64', clean)));
  };
  const btoa = (text) => {
    if (/[^\x00-\xff]/.test(String(text))) failBase64();
    return pack(fromLatin1(String(text)));
  };
  return { Buffer, atob, btoa, pack, unpack, bytesOf, constants: { MAX_LENGTH: 2 ** 31 - 1 }, kMaxLength: 2 ** 31 - 1 };
})
