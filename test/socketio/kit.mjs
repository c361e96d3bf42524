// What the checks share: calls to the server, and sockets that keep what they got.
import assert from "node:assert/strict";
import { io } from "socket.io-client";

const { SOCKETIO_SERVER, SOCKETIO_EMAIL: email, SOCKETIO_PASSWORD: password } = process.env;
export const server = SOCKETIO_SERVER;

export class Caller {
  constructor(token) {
    this.token = token;
  }

  async raw(method, path, body) {
    return fetch(new URL(path, server), {
      method,
      body: body && JSON.stringify(body),
      headers: { "content-type": "application/json", ...(this.token && { authorization: `Bearer ${this.token}` }) },
    });
  }

  async call(method, path, body) {
    const response = await this.raw(method, path, body);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text && JSON.parse(text);
  }

  emit(workspace, type, payload = {}, more = {}) {
    return this.call("POST", `/v2/workspaces/${workspace}/events`, { events: [{ type, payload, ...more }] });
  }
}

export async function admin() {
  return new Caller((await new Caller().call("POST", "/v2/login", { email, password })).token);
}

export async function visitor() {
  return new Caller((await new Caller().call("POST", "/v2/login/anonymous")).token);
}

const open = new Set();

// Listener is a socket that keeps what it got.
export class Listener {
  got = [];
  waiting = [];

  constructor(workspace, options = {}) {
    this.socket = io(`${server}/v2/workspaces/${workspace}/events`, { forceNew: true, reconnectionDelay: 50, reconnectionDelayMax: 200, ...options });
    open.add(this.socket);
    this.socket.onAny((name, ...args) => this.put({ name, args }));
    this.socket.on("disconnect", (reason) => this.put({ name: "disconnect", reason }));
    this.socket.on("connect_error", (error) => this.put({ name: "connect_error", error }));
  }

  put(message) {
    const first = this.waiting.shift();
    if (first) first(message);
    else this.got.push(message);
  }

  // next waits for what comes next, whatever it is.
  next() {
    if (this.got.length > 0) return Promise.resolve(this.got.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  async connected() {
    if (!this.socket.connected) {
      await new Promise((resolve, reject) => {
        this.socket.once("connect", resolve);
        this.socket.once("connect_error", reject);
      });
    }
    return this;
  }

  // payloads takes so many events and gives what they say.
  async payloads(count) {
    const all = [];
    for (let i = 0; i < count; i++) {
      const { name, args } = await this.next();
      assert.equal(args?.[0]?.type, name, `${name} is no event`);
      all.push(args[0].payload.n);
    }
    return all;
  }

  close() {
    open.delete(this.socket);
    this.socket.close();
  }
}

export const bearer = (caller, more = {}) => ({ auth: { extraHeaders: { authorization: `Bearer ${caller.token}` }, ...more } });

export function listen(workspace, options) {
  return new Listener(workspace, options).connected();
}

// refused tries to listen and gives the error.
export async function refused(workspace, options) {
  const listener = new Listener(workspace, { ...options, reconnection: false });
  const { name, error } = await listener.next();
  assert.equal(name, "connect_error");
  listener.close();
  return error;
}

export function closeAll() {
  for (const socket of open) socket.close();
}
