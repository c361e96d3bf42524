// What code finds in a virtual machine, and how it is driven. It runs before any code of users and keeps what it needs in
// variables of its own: code that changes built-in objects harms nobody but itself.
(() => {
  'use strict';
  const host = globalThis.__host;
  delete globalThis.__host;
  const evaluate = globalThis.eval;
  const { stringify, parse } = JSON;
  const RealDate = Date;
  const realNow = Date.now;
  const { InternalError } = globalThis;
  const AsyncFunction = (async () => {}).constructor;
  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  // Modules, which are read when they are first asked for.
  const modules = new Map();
  const network = ['http', 'https', 'http2', 'net', 'tls', 'dgram', 'dns', 'stream', 'node-fetch', 'axios'];
  function load(name) {
    if (!modules.has(name)) modules.set(name, evaluate(host('source', name))(host, load, inspect));
    return modules.get(name);
  }
  function require(name) {
    const bare = String(name).replace(/^node:/, '');
    if (host('known', bare)) return load(bare);
    const why = network.includes(bare)
      ? 'custom code has no network; use the instruction fetch and hand the answer over as a parameter'
      : 'custom code can require ' + host('names') + ', and packages cannot be installed';
    const error = new Error(`The module "${bare}" is not available: ${why}.`);
    error.code = 'MODULE_NOT_FOUND';
    throw error;
  }
  function lazily(name, module) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        const value = load(module)[name];
        define(name, value);
        return value;
      },
      set(value) { define(name, value); },
    });
  }

  // A short look at any value, for logs and messages.
  function inspect(value, depth = 3, seen = []) {
    switch (typeof value) {
      case 'string': return seen.length ? `'${value.replaceAll("'", "\\'")}'` : value;
      case 'bigint': return `${value}n`;
      case 'symbol': return value.toString();
      case 'function': return `[Function: ${value.name || 'anonymous'}]`;
      case 'object': break;
      default: return Object.is(value, -0) ? '-0' : String(value);
    }
    if (value === null) return 'null';
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack}`.trimEnd() : String(value);
    if (value instanceof RealDate) return isNaN(value) ? 'Invalid Date' : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return 'Promise {}';
    if (seen.includes(value)) return '[Circular]';
    if (seen.length >= depth) return Array.isArray(value) ? '[Array]' : '[Object]';
    const inner = (v) => inspect(v, depth, [...seen, value]);
    const most = 100;
    const cut = (list, size) => (size > most ? [...list, `... ${size - most} more`] : list);
    const braces = (parts, open, close) => (parts.length ? `${open} ${parts.join(', ')} ${close}` : open + close);
    if (Array.isArray(value) || ArrayBuffer.isView(value)) {
      const prefix = Array.isArray(value) ? '' : `${value.constructor.name}(${value.length}) `;
      return prefix + braces(cut(Array.from(value.slice ? value.slice(0, most) : [], inner), value.length), '[', ']');
    }
    if (value instanceof Map) {
      return `Map(${value.size}) ` + braces(cut([...value].slice(0, most).map(([k, v]) => `${inner(k)} => ${inner(v)}`), value.size), '{', '}');
    }
    if (value instanceof Set) return `Set(${value.size}) ` + braces(cut([...value].slice(0, most).map(inner), value.size), '{', '}');
    const keys = Object.keys(value);
    const name = Object.getPrototypeOf(value)?.constructor?.name;
    const prefix = name && name !== 'Object' ? `${name} ` : '';
    const shown = keys.slice(0, most).map((k) => `${/^[\w$]+$/.test(k) ? k : `'${k}'`}: ${inner(value[k])}`);
    return prefix + braces(cut(shown, keys.length), '{', '}');
  }
  function format(...args) {
    let rest = args;
    let text = '';
    if (typeof args[0] === 'string' && args.length > 1) {
      rest = args.slice(1);
      text = args[0].replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === '%%') return '%';
        if (!rest.length) return mark;
        const value = rest.shift();
        switch (mark) {
          case '%s': return typeof value === 'string' ? value : inspect(value, 1);
          case '%d': return typeof value === 'object' ? 'NaN' : String(Number(value));
          case '%i': return String(parseInt(value, 10));
          case '%f': return String(parseFloat(value));
          case '%j': return stringify(value);
          case '%c': return '';
          default: return inspect(value, 4, []);
        }
      });
      return [text, ...rest.map((v) => inspect(v))].join(' ');
    }
    return rest.map((v) => inspect(v)).join(' ');
  }
  const log = (...args) => { host('log', format(...args).slice(0, 65536)); };
  const console = {};
  for (const name of ['log', 'info', 'debug', 'warn', 'error', 'trace', 'dir', 'table']) console[name] = log;
  console.assert = (ok, ...args) => { if (!ok) log('Assertion failed', ...args); };
  const counts = new Map();
  console.count = (label = 'default') => { counts.set(label, (counts.get(label) ?? 0) + 1); log(`${label}: ${counts.get(label)}`); };
  for (const name of ['time', 'timeEnd', 'timeLog', 'group', 'groupEnd', 'groupCollapsed']) console[name] = () => {};
  modules.set('format', format);

  // Time: that of the call, and from there on what passes.
  let shift = 0;
  const now = () => realNow() + shift;
  const ShownDate = new Proxy(RealDate, {
    construct: (target, args, shown) => Reflect.construct(target, args.length ? args : [now()], shown === ShownDate ? target : shown),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => (key === 'now' && target.now === realNow ? now : Reflect.get(target, key)),
  });
  RealDate.prototype.constructor = ShownDate;
  define('Date', ShownDate);

  // Timers.
  const timers = new Map();
  let lastTimer = 0;
  function timer(callback, delay, args, every) {
    if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
    const wait = Math.max(1, Number(delay) || 0);
    if (timers.size >= 10000) throw new RangeError('there are too many timers');
    timers.set(++lastTimer, { at: host('elapsed') + wait, callback, args, every: every ? wait : 0 });
    return lastTimer;
  }
  const clear = (id) => { timers.delete(Number(id)); };
  define('setTimeout', (callback, delay, ...args) => timer(callback, delay, args, false));
  define('setInterval', (callback, delay, ...args) => timer(callback, delay, args, true));
  define('setImmediate', (callback, ...args) => timer(callback, 0, args, false));
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) define(name, clear);
  define('queueMicrotask', (callback) => { Promise.resolve().then(callback); });
  define('console', console);
  define('require', require);
  define('cache', {});
  define('global', globalThis);
  for (const [module, names] of Object.entries({
    buffer: ['Buffer', 'atob', 'btoa'],
    url: ['URL', 'URLSearchParams'],
    util: ['TextEncoder', 'TextDecoder', 'structuredClone'],
  })) for (const name of names) lazily(name, module);

  // Functions. Each is compiled when it is first called, so that a mistake in one does not break the others.
  let functions = new Map();
  let siblings = [];
  const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
  function compile(parameters, code) {
    for (const name of parameters) {
      if (!identifier.test(name)) throw new SyntaxError(`the parameter "${name}" is not a name that a variable can have`);
    }
    AsyncFunction(...parameters, code); // a body that is none of its own must not reach out of its function
    const outer = siblings.filter(([name]) => !parameters.includes(name));
    const make = Function(...outer.map(([name]) => name), `return async function (${parameters.join(', ')}) {\n${code}\n}`);
    return make(...outer.map(([, call]) => call));
  }
  function compiled(entry, extra) {
    const key = extra.join(' ');
    if (!entry.variants.has(key)) {
      if (entry.variants.size >= 20) entry.variants.clear();
      entry.variants.set(key, compile([...entry.parameters, ...extra], entry.code));
    }
    return entry.variants.get(key);
  }
  // Parameters that a function does not declare are variables too.
  function callNamed(entry, parameters) {
    const extra = Object.keys(parameters).filter((name) => !entry.parameters.includes(name) && identifier.test(name)).sort();
    const names = [...entry.parameters, ...extra];
    return compiled(entry, extra)(...names.map((name) => (has(parameters, name) ? parameters[name] : undefined)));
  }
  const plain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && Object.getPrototypeOf(value) === Object.prototype;
  // Functions call each other with one object of parameters, or with the parameters one after the other.
  async function callSibling(entry, args) {
    if (args.length === 1 && plain(args[0]) && Object.keys(args[0]).every((key) => entry.parameters.includes(key))) {
      return callNamed(entry, args[0]);
    }
    return compiled(entry, [])(...args);
  }
  function replace(list) {
    functions = new Map();
    siblings = [];
    for (const { name, parameters, code } of list) {
      const entry = { parameters: parameters ?? [], code, variants: new Map() };
      functions.set(name, entry);
      if (identifier.test(name)) siblings.push([name, (...args) => callSibling(entry, args)]);
    }
    // A function whose name is a word of the language can be called from outside only.
    siblings = siblings.filter(([name]) => { try { Function(name, ''); return true; } catch { return false; } });
  }

  // One call.
  let outcome;
  function failure(error, kind = 'thrown') {
    const text = (read) => { try { return String(read() ?? ''); } catch { return ''; } };
    const isError = typeof error === 'object' && error !== null && 'message' in error;
    const message = text(() => (isError ? error.message : inspect(error)));
    const name = isError ? text(() => error.name) : '';
    const memory = error instanceof InternalError && message === 'out of memory';
    const stack = isError ? text(() => error.stack) : '';
    return 'e' + stringify({ kind: memory ? 'memory' : kind, name: name.slice(0, 200), message: message.slice(0, 4000), stack: stack.slice(0, 2000) });
  }
  function settle(value) {
    try {
      const text = stringify(value);
      if (text === undefined) { outcome = 'u'; return; }
      if (text.length > host('output')) { outcome = failure(new RangeError('the result is too large'), 'output'); return; }
      outcome = 'v' + text;
    } catch (error) {
      reject(error);
    }
  }
  function reject(error) {
    try { outcome = failure(error); } catch { outcome = 'e{"kind":"memory","message":"out of memory"}'; }
  }
  function begin(promise) { Promise.prototype.then.call(promise, settle, reject); }
  const operations = {
    replace: (list) => { replace(parse(list)); return ''; },
    call: (name, parameters, time) => {
      outcome = undefined;
      shift = time - realNow();
      try { begin(callNamed(functions.get(name), parse(parameters))); } catch (error) { reject(error); }
      return '';
    },
    run: (code, parameters, time) => {
      outcome = undefined;
      shift = time - realNow();
      try { begin(callNamed({ parameters: [], code, variants: new Map() }, parse(parameters))); } catch (error) { reject(error); }
      return '';
    },
    // The outcome, or in how many milliseconds the next timer is due: nothing when there is none.
    poll: () => {
      if (outcome !== undefined) return outcome;
      let next;
      for (const [id, one] of timers) if (!next || one.at < next[1].at) next = [id, one];
      if (!next) return '';
      const [id, one] = next;
      const wait = one.at - host('elapsed');
      if (wait > 0) return `t${wait}`;
      if (one.every) one.at = host('elapsed') + one.every; else timers.delete(id);
      try { one.callback(...one.args); } catch (error) { reject(error); }
      return 't0';
    },
    end: () => { timers.clear(); counts.clear(); outcome = undefined; return ''; },
  };
  return (operation, a, b, c) => operations[operation](a, b, c);
})()
