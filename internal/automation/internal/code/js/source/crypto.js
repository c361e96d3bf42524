(function (host, load) {
  'use strict';
  const { Buffer, pack, unpack, bytesOf } = load('buffer');
  function bytes(data, encoding) {
    if (typeof data === 'string') return bytesOf(data, encoding);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    throw new TypeError('the data must be a string or a Buffer');
  }
  const packed = (data, encoding) => pack(bytes(data, encoding));
  const shown = (text, encoding) => (encoding && encoding !== 'buffer' ? unpack(text).toString(encoding) : unpack(text));
  class Digest {
    #make; #parts = []; #done = false;
    constructor(make) { this.#make = make; }
    update(data, encoding) {
      if (this.#done) throw new Error('Digest already called');
      this.#parts.push(bytes(data, encoding).slice());
      return this;
    }
    digest(encoding) {
      if (this.#done) throw new Error('Digest already called');
      this.#done = true;
      return shown(this.#make(pack(Buffer.concat(this.#parts))), encoding);
    }
  }
  function createHash(algorithm) {
    host('hash', String(algorithm), '');
    return new Digest((data) => host('hash', String(algorithm), data));
  }
  function createHmac(algorithm, key) {
    const secret = packed(key);
    host('hmac', String(algorithm), secret, '');
    return new Digest((data) => host('hmac', String(algorithm), secret, data));
  }
  function randomBytes(size, callback) {
    const bytes = unpack(host('random', size));
    if (typeof callback === 'function') { Promise.resolve().then(() => callback(null, bytes)); return undefined; }
    return bytes;
  }
  function randomInt(low, high) {
    const [from, to] = high === undefined ? [0, low] : [low, high];
    const range = to - from;
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || range <= 0 || range > 2 ** 48) throw new RangeError('randomInt needs whole numbers, the first smaller than the second');
    for (;;) {
      const number = randomBytes(6).readUIntBE(0, 6);
      if (number < 2 ** 48 - (2 ** 48 % range)) return from + (number % range);
    }
  }
  function randomUUID() {
    const bytes = randomBytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
  function timingSafeEqual(a, b) {
    if (a.byteLength !== b.byteLength) throw new RangeError('Input buffers must have the same byte length');
    return host('equal', packed(a), packed(b));
  }
  function pbkdf2Sync(password, salt, iterations, length, digest) {
    return unpack(host('pbkdf2', String(digest), packed(password), packed(salt), iterations, length));
  }
  function pbkdf2(password, salt, iterations, length, digest, callback) {
    Promise.resolve().then(() => pbkdf2Sync(password, salt, iterations, length, digest)).then((key) => callback(null, key), callback);
  }
  function getRandomValues(array) {
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(randomBytes(array.byteLength));
    return array;
  }
  const exports = {
    createHash, createHmac, randomBytes, randomInt, randomUUID, timingSafeEqual, pbkdf2Sync, pbkdf2, getRandomValues,
    hash: (algorithm, data, encoding = 'hex') => createHash(algorithm).update(data).digest(encoding),
    getHashes: () => ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'],
  };
  for (const name of ['createCipheriv', 'createDecipheriv', 'createSign', 'createVerify', 'generateKeyPair', 'generateKeyPairSync', 'publicEncrypt', 'privateDecrypt', 'scrypt', 'scryptSync', 'createECDH', 'createDiffieHellman']) {
    exports[name] = () => { throw new Error(`crypto.${name} is not available in custom code.`); };
  }
  return exports;
})
