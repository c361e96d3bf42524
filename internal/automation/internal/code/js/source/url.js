(function (host) {
  'use strict';
  const plus = (text) => encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+').replace(/[!'()~]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
  const minus = (text) => host('unescape', text.replaceAll('+', ' '));
  class URLSearchParams {
    #pairs = []; #changed = () => {};
    constructor(init = '', changed) {
      if (typeof changed === 'function') this.#changed = changed;
      if (typeof init === 'object' && init !== null) {
        const entries = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
        for (const [name, value] of entries) this.#pairs.push([String(name), String(value)]);
        return;
      }
      for (const part of String(init).replace(/^\?/, '').split('&')) {
        if (!part) continue;
        const at = part.indexOf('=');
        this.#pairs.push(at < 0 ? [minus(part), ''] : [minus(part.slice(0, at)), minus(part.slice(at + 1))]);
      }
    }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
      this.#changed();
    }
    get(name) { return this.#pairs.find(([n]) => n === String(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter(([n]) => n === String(name)).map(([, v]) => v); }
    has(name, value) { return this.#pairs.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
    set(name, value) {
      const at = this.#pairs.findIndex(([n]) => n === String(name));
      if (at < 0) this.#pairs.push([String(name), String(value)]);
      else this.#pairs = this.#pairs.filter(([n], i) => n !== String(name) || i === at).map((pair, i) => (i === at ? [pair[0], String(value)] : pair));
      this.#changed();
    }
    sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#changed(); }
    forEach(callback, self) { for (const [name, value] of this.#pairs) callback.call(self, value, name, this); }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    *entries() { for (const pair of this.#pairs) yield [...pair]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([name, value]) => `${plus(name)}=${plus(value)}`).join('&'); }
  }
  const ports = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21' };
  class URL {
    #parts; #params;
    constructor(input, base) {
      try {
        this.#parts = JSON.parse(host('url', String(input), base === undefined ? '' : String(base)));
      } catch (cause) {
        const error = new TypeError('Invalid URL');
        error.code = 'ERR_INVALID_URL';
        error.input = String(input);
        throw error;
      }
      this.#watch();
    }
    static canParse(input, base) { try { return Boolean(new URL(input, base)); } catch { return false; } }
    static parse(input, base) { try { return new URL(input, base); } catch { return null; } }
    #watch() {
      this.#params = new URLSearchParams(this.#parts.search, () => {
        const text = this.#params.toString();
        this.#parts.search = text ? `?${text}` : '';
      });
    }
    get protocol() { return this.#parts.protocol; }
    set protocol(value) { this.href = String(value).replace(/:?$/, ':') + this.href.slice(this.protocol.length); }
    get username() { return this.#parts.username; }
    set username(value) { this.#parts.username = encodeURIComponent(value); }
    get password() { return this.#parts.password; }
    set password(value) { this.#parts.password = encodeURIComponent(value); }
    get hostname() { return this.#parts.hostname; }
    set hostname(value) { this.#parts.hostname = new URL(`http://${value}`).hostname; }
    get port() { return this.#parts.port; }
    set port(value) { this.#parts.port = String(value) === ports[this.protocol] ? '' : String(value).replace(/\D.*$/, ''); }
    get host() { return this.hostname + (this.port ? `:${this.port}` : ''); }
    set host(value) { const other = new URL(`${this.protocol}//${value}`); this.#parts.hostname = other.hostname; this.#parts.port = other.port; }
    get origin() { return this.protocol in ports ? `${this.protocol}//${this.host}` : 'null'; }
    get pathname() { return this.#parts.pathname; }
    set pathname(value) { this.#parts.pathname = new URL(`http://x/${encodeURI(String(value).replace(/^\//, '')).replaceAll('%25', '%').replaceAll('?', '%3F').replaceAll('#', '%23')}`).pathname; }
    get search() { return this.#parts.search; }
    set search(value) { const text = String(value).replace(/^\?/, ''); this.#parts.search = text ? `?${text.replaceAll('#', '%23').replaceAll(' ', '%20')}` : ''; this.#watch(); }
    get searchParams() { return this.#params; }
    get hash() { return this.#parts.hash; }
    set hash(value) { const text = String(value).replace(/^#/, ''); this.#parts.hash = text ? `#${text.replaceAll(' ', '%20')}` : ''; }
    get href() {
      const user = this.username || this.password ? this.username + (this.password ? `:${this.password}` : '') + '@' : '';
      return this.protocol + (this.#parts.slashes ? '//' : '') + user + this.host + this.pathname + this.search + this.hash;
    }
    set href(value) { const other = new URL(value); this.#parts = other.#parts; this.#watch(); }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }
  function parse(text, query) {
    const none = { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: String(text) };
    const absolute = URL.canParse(text);
    if (!absolute && !URL.canParse(text, 'http://x/')) return none;
    const u = absolute ? new URL(text) : new URL(text, 'http://x/');
    const path = absolute || String(text).startsWith('/') ? u.pathname : u.pathname.slice(1);
    const shared = { ...none, hash: u.hash || null, search: u.search || null, query: query ? Object.fromEntries(u.searchParams) : u.search.slice(1) || null, pathname: path, path: path + u.search };
    if (!absolute) return shared;
    const auth = u.username ? decodeURIComponent(u.username) + (u.password ? `:${decodeURIComponent(u.password)}` : '') : null;
    return { ...shared, protocol: u.protocol, slashes: true, auth, host: u.host, port: u.port || null, hostname: u.hostname, href: u.href };
  }
  function format(u) {
    if (typeof u === 'string' || u instanceof URL) return String(u);
    const protocol = u.protocol ? u.protocol.replace(/:?$/, ':') : '';
    const place = u.host ?? (u.hostname ? u.hostname + (u.port ? `:${u.port}` : '') : '');
    const search = u.search ?? (u.query && Object.keys(u.query).length ? `?${new URLSearchParams(u.query)}` : '');
    return protocol + (u.slashes || place ? '//' : '') + (u.auth ? `${u.auth}@` : '') + place + (u.pathname ?? '') + search + (u.hash ?? '');
  }
  return { URL, URLSearchParams, parse, format, resolve: (from, to) => new URL(to, new URL(from, 'resolve://x/')).href.replace(/^resolve:\/\/x/, '') };
})
