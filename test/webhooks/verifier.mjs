// An endpoint that verifies every webhook with the library of the specification and writes down what it got, a line each. It is told
// the secrets on its standard input, as JSON by path, and refuses some deliveries once, so that they have to be made again.
import http from "node:http";
import readline from "node:readline";
import { Webhook } from "standardwebhooks";

const secrets = new Map();
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  for (const [path, secret] of Object.entries(JSON.parse(line))) secrets.set(path, new Webhook(secret));
});
process.stdin.on("end", () => process.exit(0));

const refuseEvery = 211;
const refused = new Set();
let requests = 0;

const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const id = request.headers["webhook-id"];
  if (++requests % refuseEvery === 0 && !refused.has(id)) {
    refused.add(id);
    response.writeHead(503).end();
    return;
  }
  try {
    const event = secrets.get(request.url).verify(Buffer.concat(parts).toString(), request.headers);
    console.log("got", request.url, event.id);
  } catch (problem) {
    console.log("bad", request.url, String(problem));
  }
  response.end("ok");
});
server.listen(0, "127.0.0.1", () => console.log("port", server.address().port));
