// The server is stopped and killed while events are emitted; those who listen get every one, once and in order.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { admin, bearer, closeAll, listen } from "./kit.mjs";

after(closeAll);

test("restarts lose and repeat nothing", async () => {
  const ann = await admin();
  const workspace = (await ann.call("POST", "/v2/workspaces", { name: "Restarts" })).id;
  const listeners = await Promise.all(
    [["websocket"], ["polling"], ["polling", "websocket"]].map((transports) => listen(workspace, { transports, ...bearer(ann, { filters: { types: ["tick"] } }) })),
  );
  const got = listeners.map(() => []);
  listeners.forEach(({ socket }, i) => socket.on("tick", ({ id }) => got[i].push(id)));

  let running = true;
  const emitting = (async () => {
    for (let n = 0; running; n++) {
      try {
        await ann.emit(workspace, "tick", { n });
      } catch {
        await new Promise((done) => setTimeout(done, 20));
      }
    }
  })();
  for (const how of ["stop", "kill", "stop", "kill"]) {
    await new Promise((done) => setTimeout(done, 500));
    assert.ok((await fetch(`${process.env.SOCKETIO_CONTROL}/${how}`)).ok);
    await Promise.all(listeners.map((listener) => listener.connected().catch(() => listener.connected())));
  }
  await new Promise((done) => setTimeout(done, 500));
  running = false;
  await emitting;

  await ann.emit(workspace, "tick", { last: true });
  const stored = [];
  for (let after = ""; ; ) {
    const page = await ann.call("GET", `/v2/workspaces/${workspace}/events?types=tick&sort=asc&limit=500${after && `&afterId=${after}`}`);
    if (page.result.events.length === 0) break;
    stored.push(...page.result.events.map(({ id }) => id));
    after = stored[stored.length - 1];
  }
  assert.ok(stored.length > 100, `only ${stored.length} events`);
  for (const [i, ids] of got.entries()) {
    for (let waited = 0; ids[ids.length - 1] !== stored[stored.length - 1]; waited++) {
      assert.ok(waited < 600, `listener ${i} never got the last one`);
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.deepEqual(ids, stored);
    assert.ok(listeners[i].socket.recovered, `listener ${i} did not recover`);
  }
});
