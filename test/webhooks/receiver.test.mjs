// A receiver made with standardwebhooks, the library of the specification: it subscribes, gets events, and verifies them.
import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const { WEBHOOKS_SERVER: server, WEBHOOKS_EMAIL: email, WEBHOOKS_PASSWORD: password } = process.env;

let token;

async function call(method, path, body) {
  const response = await fetch(new URL(path, server), {
    method,
    body: body && JSON.stringify(body),
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

// Receiver keeps what it got; next waits for the next request.
class Receiver {
  got = [];
  waiting = [];
  server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const message = { headers: request.headers, body: Buffer.concat(parts).toString() };
    const first = this.waiting.shift();
    if (first) first(message);
    else this.got.push(message);
    response.end("ok");
  });

  async listen() {
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.server.address().port}/hook`;
  }

  next() {
    if (this.got.length > 0) return Promise.resolve(this.got.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

test("deliveries are verified by the library of the specification", async () => {
  token = (await call("POST", "/v2/login", { email, password })).token;
  const workspace = (await call("POST", "/v2/workspaces", { name: "Webhooks" })).id;
  const receiver = new Receiver();
  const made = await call("POST", `/v2/workspaces/${workspace}/subscriptions`, { url: await receiver.listen(), types: ["order.*"] });
  const emit = (n) => call("POST", `/v2/workspaces/${workspace}/events`, { events: [{ type: "order.paid", payload: { n, text: "grüße <b>&</b> 🎉" } }] });

  const [stored] = await emit(1);
  const first = await receiver.next();
  assert.deepEqual(new Webhook(made.secrets[0]).verify(first.body, first.headers), stored);

  const rejects = (secret, message) => assert.throws(() => new Webhook(secret).verify(message.body, message.headers), WebhookVerificationError);
  rejects("whsec_" + Buffer.alloc(32, 7).toString("base64"), first);
  rejects(made.secrets[0], { ...first, body: first.body.replace("order.paid", "order.sent") });
  rejects(made.secrets[0], { ...first, headers: { ...first.headers, "webhook-id": first.headers["webhook-id"] + ".0" } });
  for (const minutes of [-6, 6]) {
    const moved = String(Number(first.headers["webhook-timestamp"]) + minutes * 60);
    rejects(made.secrets[0], { ...first, headers: { ...first.headers, "webhook-timestamp": moved } });
  }

  // while secrets are being changed, receivers with either of them agree
  const rotated = await call("POST", `/v2/workspaces/${workspace}/subscriptions/${made.id}/rotate`, { overlap: 600 });
  await emit(2);
  const second = await receiver.next();
  for (const secret of [made.secrets[0], rotated.secrets[0]]) {
    assert.equal(new Webhook(secret).verify(second.body, second.headers).payload.n, 2);
  }
  assert.notEqual(second.headers["webhook-id"], first.headers["webhook-id"]);
  await call("POST", `/v2/workspaces/${workspace}/subscriptions/${made.id}/rotate`, { overlap: 0 });
  await emit(3);
  rejects(rotated.secrets[0], await receiver.next());

  // a replay is the same message, signed anew
  const page = await call("GET", `/v2/workspaces/${workspace}/subscriptions/${made.id}/deliveries`);
  const oldest = page.at(-1);
  assert.equal(oldest.id, first.headers["webhook-id"]);
  await call("POST", `/v2/workspaces/${workspace}/subscriptions/${made.id}/deliveries/${oldest.id}/replay`);
  const again = await receiver.next();
  assert.equal(again.body, first.body);
  assert.equal(again.headers["webhook-id"], first.headers["webhook-id"]);
  receiver.server.close();
  receiver.server.closeAllConnections();
});
