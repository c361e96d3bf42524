(function (host, load) {
  'use strict';
  const { pack, unpack, Buffer } = load('buffer');
  const exports = {};
  function add(name, work) {
    exports[`${name}Sync`] = (data) => unpack(work(Buffer.from(data)));
    exports[name] = (data, options, callback) => {
      const done = typeof options === 'function' ? options : callback;
      Promise.resolve().then(() => exports[`${name}Sync`](data)).then((result) => done(null, result), done);
    };
  }
  for (const [format, deflate, inflate] of [['gzip', 'gzip', 'gunzip'], ['zlib', 'deflate', 'inflate'], ['raw', 'deflateRaw', 'inflateRaw']]) {
    add(deflate, (data) => host('pack', format, pack(data)));
    add(inflate, (data) => host('unpack', format, pack(data)));
  }
  add('unzip', (data) => host('unpack', data[0] === 0x1f ? 'gzip' : 'zlib', pack(data)));
  for (const name of ['createGzip', 'createGunzip', 'createDeflate', 'createInflate', 'brotliCompress', 'brotliCompressSync', 'brotliDecompress', 'brotliDecompressSync']) {
    exports[name] = () => { throw new Error(`zlib.${name} is not available in custom code; use gzip, deflate and their opposites.`); };
  }
  return exports;
})
