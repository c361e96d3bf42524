// socket.io-client, as npm has it, listens to events.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { admin, bearer, closeAll, listen, Listener, refused, server, visitor } from "./kit.mjs";

let ann, workspace;
before(async () => {
  ann = await admin();
  workspace = (await ann.call("POST", "/v2/workspaces", { name: "Sockets" })).id;
});
after(closeAll);

for (const transports of [["polling", "websocket"], ["websocket"], ["polling"]]) {
  test(`events come over ${transports.join(" and then ")}`, async () => {
    const type = "over." + transports.join("-");
    const listener = await listen(workspace, { transports, ...bearer(ann, { filters: { types: [type] } }) });
    const engine = listener.socket.io.engine;
    const last = transports[transports.length - 1];
    if (engine.transport.name !== last) await new Promise((done) => engine.once("upgrade", done));
    assert.equal(engine.transport.name, last);
    const [stored] = await ann.emit(workspace, type, { n: 1, text: "grüße <b>&</b> 🎉" });
    await ann.emit(workspace, "another.type", { n: 2 });
    const { name, args } = await listener.next();
    assert.equal(name, type);
    assert.deepEqual(args, [stored, stored.id]);

    listener.socket.emit("event", { type, payload: { n: 3 } });
    const own = (await listener.next()).args[0];
    assert.deepEqual([own.payload, own.source.socketId, own.source.userId], [{ n: 3 }, listener.socket.id, stored.source.userId]);
    const answer = await listener.socket.timeout(10_000).emitWithAck("event", { type, payload: { n: 4 } });
    assert.deepEqual((await listener.next()).args[0], answer.event);
    assert.notEqual(answer.event.source.correlationId, own.source.correlationId);
    listener.close();
  });
}

test("many events come in order while the transport changes", async () => {
  const listener = await listen(workspace, bearer(ann, { filters: { types: ["many"] } }));
  const count = 200;
  for (let n = 0; n < count; n += 50) {
    await ann.call("POST", `/v2/workspaces/${workspace}/events`, {
      events: Array.from({ length: 50 }, (_, i) => ({ type: "many", payload: { n: n + i } })),
    });
  }
  assert.deepEqual(await listener.payloads(count), Array.from({ length: count }, (_, n) => n));
  listener.close();
});

test("a workspace is named by its slug, and filters come with the address", async () => {
  const { slug } = await ann.call("GET", `/v2/workspaces/${workspace}`);
  const listener = await listen(`slug:${slug}`, { ...bearer(ann), query: { types: "by.slug", "payload.n": "2" } });
  await ann.emit(workspace, "by.slug", { n: 1 });
  await ann.emit(workspace, "by.slug", { n: 2 });
  assert.deepEqual(await listener.payloads(1), [2]);
  listener.close();
});

test("one connection is in several namespaces", async () => {
  const second = (await ann.call("POST", "/v2/workspaces", { name: "Second" })).id;
  const one = await listen(workspace, { ...bearer(ann, { filters: { types: ["spaces"] } }) });
  const other = one.socket.io.socket(`/v2/workspaces/${second}/events`, bearer(ann, { filters: { types: ["spaces"] } }));
  const got = new Promise((done) => other.once("spaces", done));
  other.connect();
  await new Promise((done) => (other.connected ? done() : other.once("connect", done)));
  await ann.emit(second, "spaces", { n: 2 });
  await ann.emit(workspace, "spaces", { n: 1 });
  assert.equal((await got).payload.n, 2);
  assert.deepEqual(await one.payloads(1), [1]);
  other.disconnect();
  await ann.emit(workspace, "spaces", { n: 3 });
  assert.deepEqual(await one.payloads(1), [3]);
  one.close();
});

test("filters are replaced", async () => {
  const listener = await listen(workspace, bearer(ann, { filters: { types: ["first"], page: 3, afterDate: "2020-01-01" } }));
  await ann.emit(workspace, "first", { n: 1 });
  assert.deepEqual(await listener.payloads(1), [1]);
  const change = (filters) => listener.socket.timeout(10_000).emitWithAck("filters", filters);
  assert.deepEqual(await change({ types: ["second"], payloadQuery: [{ "payload.n": [3, 4] }] }), {});
  await ann.emit(workspace, "first", { n: 2 });
  await ann.emit(workspace, "second", { n: 2 });
  await ann.emit(workspace, "second", { n: 3 });
  assert.deepEqual(await listener.payloads(1), [3]);
  assert.equal((await change({ unknown: 1 })).error, "validation_failed");
  listener.close();
});

test("mistakes are told", async () => {
  const listener = await listen(workspace, bearer(ann, { filters: { types: ["none"] } }));
  listener.socket.emit("event", { type: "workspaces.created", payload: {} });
  const { name, args } = await listener.next();
  assert.equal(name, "error");
  assert.deepEqual(Object.keys(args[0]).sort(), ["details", "error", "message"]);
  for (const message of [["event"], ["event", 1], ["event", { type: 1 }], ["filters", []], ["reconnection", {}], ["reconnection", { socketId: "x" }], ["nothing", {}]]) {
    const answer = await listener.socket.timeout(10_000).emitWithAck(...message);
    assert.ok(answer.error && answer.message, JSON.stringify([message, answer]));
  }
  assert.ok(listener.socket.connected);
  listener.close();
});

test("credentials come in headers, inside the socket, or as a key", async () => {
  const authorization = `Bearer ${ann.token}`;
  const { apiKey } = await ann.call("POST", `/v2/workspaces/${workspace}/security/apikeys`, { name: "Sockets", rules: [{ action: "read", subject: "events" }] });
  for (const [transports, options] of [
    [["websocket"], { extraHeaders: { authorization } }],
    [["polling"], { extraHeaders: { authorization } }],
    [["polling", "websocket"], { extraHeaders: { authorization } }],
    [["websocket"], { auth: { authorization } }],
    [["polling"], { auth: { authorization } }],
    [["polling"], { extraHeaders: { cookie: `access-token=${ann.token}` } }],
    [["websocket"], { extraHeaders: { cookie: `access-token=${ann.token}`, origin: server } }],
    [["websocket"], { extraHeaders: { "x-svc-api-key": apiKey } }],
    [["websocket"], { auth: { extraHeaders: { "X-Svc-Api-Key": apiKey } } }],
    [["polling"], { extraHeaders: { cookie: "access-token=expired" }, auth: { authorization } }],
  ]) {
    const listener = await listen(workspace, { transports, query: { types: "seen" }, ...options });
    await ann.emit(workspace, "seen", { n: 1 });
    assert.deepEqual(await listener.payloads(1), [1], JSON.stringify(Object.keys(options)));
    listener.close();
  }
});

test("without a credential that counts nobody listens", async () => {
  for (const transports of [["websocket"], ["polling"]]) {
    assert.equal((await refused(workspace, { transports })).message, "Missing authentication credentials");
    for (const options of [
      { auth: { extraHeaders: { authorization: "Bearer wrong" } } },
      { auth: { authorization: "Bearer wrong" } },
      { auth: { authorization: "wrong" } },
      { auth: { extraHeaders: { "x-svc-api-key": "wrong" } } },
      { extraHeaders: { authorization: "Bearer wrong" } },
      { extraHeaders: { "x-svc-api-key": "wrong" } },
      { extraHeaders: { cookie: "access-token=wrong" } },
    ]) {
      const { message, data } = await refused(workspace, { transports, ...options });
      assert.equal(message, "AuthenticationError: Invalid authentication credentials", JSON.stringify(options));
      assert.ok(data.error, JSON.stringify(data));
    }
  }
  const stranger = await visitor();
  const { data } = await refused("AAAAAAA", bearer(stranger));
  assert.ok(["workspace_access_denied", "permission_denied", "not_found"].includes(data.error), JSON.stringify(data));
  assert.equal((await refused(`${workspace}/events/more`, bearer(ann))).message, "Invalid namespace");
  assert.equal((await refused(workspace, bearer(ann, { filters: { unknown: 1 } }))).data.error, "validation_failed");
});

test("an event reaches only those who may read it", async () => {
  const place = (await ann.call("POST", "/v2/workspaces", { name: "Rules" })).id;
  const secure = (authorizations) => ann.call("PUT", `/v2/workspaces/${place}/security`, authorizations);
  await secure({ authorizations: { rules: [{ action: "read", subject: "events", conditions: { type: "shown" } }] } });
  const filters = { types: ["hidden", "shown"] };
  const some = await listen(place, bearer(await visitor(), { filters }));
  const all = await listen(place, bearer(ann, { filters }));
  await ann.emit(place, "hidden", { n: 1 });
  await ann.emit(place, "shown", { n: 2 });
  assert.deepEqual(await all.payloads(2), [1, 2]);
  assert.deepEqual(await some.payloads(1), [2]);
  await secure({});
  const begun = Date.now();
  const { name, args } = await some.next();
  assert.deepEqual([name, args[0].error], ["error", "workspace_access_denied"]);
  assert.deepEqual(await some.next(), { name: "disconnect", reason: "io server disconnect" });
  assert.ok(Date.now() - begun < 5500, `it took ${Date.now() - begun} ms`);
  some.close();
  all.close();
});

for (const [name, options] of [
  ["inside the socket", (eve) => ({ transports: ["websocket"], ...bearer(eve) })],
  ["in a header", (eve) => ({ transports: ["websocket"], extraHeaders: { authorization: `Bearer ${eve.token}` } })],
  ["in the headers of polls", (eve) => ({ transports: ["polling"], extraHeaders: { authorization: `Bearer ${eve.token}` } })],
  ["inside the socket, by polling", (eve) => ({ transports: ["polling"], ...bearer(eve) })],
]) {
  test(`a session that has ended ends its socket: ${name}`, async () => {
    const eve = await admin();
    const listener = await listen(workspace, { ...options(eve), query: { types: "secret" } });
    await eve.call("POST", "/v2/logout");
    const begun = Date.now();
    let told;
    for (;;) {
      const message = await listener.next();
      if (message.name === "error") told = message.args[0];
      if (message.name === "disconnect") break;
    }
    const took = Date.now() - begun;
    assert.ok(took < 5500, `it took ${took} ms`);
    if (!listener.socket.active) assert.ok(told.error, "it was not told why");
    else assert.equal((await listener.next()).error?.message, "AuthenticationError: Invalid authentication credentials");
    await ann.emit(workspace, "secret", { n: 1 });
    assert.deepEqual(listener.got.filter(({ name }) => name === "secret"), []);
    listener.close();
  });
}

test("what a session emits through a socket is for that socket", async () => {
  const me = await ann.call("GET", "/v2/me");
  const filters = { types: ["chat"], payloadQuery: { "source.sessionId": me.sessionId } };
  const one = await listen(workspace, bearer(ann, { filters }));
  const two = await listen(workspace, bearer(ann, { filters }));
  one.socket.emit("event", { type: "chat", payload: { n: 1 } });
  one.socket.emit("event", { type: "chat", payload: { n: 2 }, target: { currentSocket: false } });
  assert.deepEqual(await one.payloads(2), [1, 2]);
  assert.deepEqual(await two.payloads(1), [2]);
  const id = one.socket.id;
  one.close();

  const back = await listen(workspace, bearer(ann, { filters, reuseSocketId: id }));
  assert.equal(back.socket.id, id);
  const answer = await back.socket.timeout(10_000).emitWithAck("event", { type: "chat", payload: { n: 3 } });
  assert.equal(answer.event.source.socketId, id);
  assert.deepEqual(await back.payloads(1), [3]);
  assert.deepEqual(await two.socket.timeout(10_000).emitWithAck("reconnection", { socketId: id }), {});
  two.socket.emit("event", { type: "chat", payload: { n: 4 } });
  assert.deepEqual(await back.payloads(1), [4]);
  assert.deepEqual(await two.payloads(1), [4]);
  const other = await admin();
  assert.notEqual((await listen(workspace, bearer(other, { reuseSocketId: id }))).socket.id, id);
  back.close();
  two.close();
});

test("a client that is cut off goes on where it was", async () => {
  for (const transports of [["websocket"], ["polling"]]) {
    const type = `cut.${transports[0]}`;
    const listener = await listen(workspace, { transports, ...bearer(ann, { filters: { types: [type] } }) });
    const { id } = listener.socket;
    for (const round of [1, 2]) {
      const again = new Promise((done) => listener.socket.once("connect", done));
      listener.socket.io.engine.close();
      await ann.emit(workspace, type, { n: round });
      await again;
      assert.ok(listener.socket.recovered && listener.socket.id === id, "it is another socket");
      await ann.emit(workspace, type, { n: round + 0.5 });
      assert.equal((await listener.next()).name, "disconnect");
      assert.deepEqual(await listener.payloads(2), [round, round + 0.5]);
    }
    listener.close();
  }
});

test("a listener that the library gives up on can come back by hand", async () => {
  const listener = new Listener(workspace, { ...bearer(ann), autoConnect: false });
  listener.socket.connect();
  await listener.connected();
  listener.socket.disconnect();
  listener.socket.connect();
  await listener.connected();
  listener.close();
});
