// Reads the page at /docs the way people do: with a browser, a keyboard, a phone, in the dark, and with bad intentions.
// browser_test.go starts the server and this file.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, afterEach, before, test } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const { DOCS_SERVER: server, DOCS_BROWSER: browser, DOCS_PROFILE: profile, DOCS_EMAIL: email, DOCS_PASSWORD: password } = process.env;
const run = promisify(execFile);
const METHODS = ["get", "put", "post", "delete", "patch"];
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 375, height: 812 };

let context, spec, operations, page, faults;

before(async () => {
  spec = await (await fetch(`${server}/openapi.json`)).json();
  operations = Object.entries(spec.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ ...item[method], path, method: method.toUpperCase() })));
  context = await chromium.launchPersistentContext(profile, {
    executablePath: browser,
    headless: true,
    env: { ...process.env, HOME: profile },
    permissions: ["clipboard-read", "clipboard-write"],
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});

after(() => context?.close());

afterEach(async () => {
  await page?.close();
  page = undefined;
});

// open shows the page and notes everything it should not do. With a document, that one is served instead of the real one.
async function open({ hash = "", viewport = DESKTOP, colorScheme = "light", document, answer } = {}) {
  page = await context.newPage();
  faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${server}/`) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  if (document) answer = (route) => route.fulfill({ json: document });
  if (answer) await page.route("**/openapi.json", answer);
  await page.goto(`${server}/docs${hash}`);
  await page.waitForSelector(".operation, .failure");
}

const article = (op) => page.locator(`[id="${op.operationId}"]`);

// openAll opens every closed part, also those that come out of others.
async function openAll() {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("details:not([open])").count(), 0);
}

async function assertFitsWidth(what) {
  const { wide, room, clipped } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
    clipped: [...document.querySelectorAll("main *")].filter((node) => node.checkVisibility() && !node.matches(".hidden"))
      .filter((node) => node.getBoundingClientRect().right > node.parentElement.getBoundingClientRect().right + 1)
      .map((node) => `${node.tagName}.${node.className} ${node.textContent.slice(0, 80)}`),
  }));
  assert.ok(wide <= room, `${what}: ${wide}px of content in ${room}px`);
  assert.deepEqual(clipped, [], `${what}: sticks out`);
}

test("every operation of the document is on the page, and nothing else is loaded", async () => {
  await open();
  assert.ok(operations.length > 0);
  assert.equal(await page.locator("article.operation").count(), operations.length);
  assert.equal(await page.locator("#docs-groups a").count(), operations.length);
  for (const op of operations) {
    const text = await article(op).innerText();
    const parts = [op.summary, op.method, op.path, op.description ?? "", "curl", ...(op.parameters ?? []).map(({ name }) => name),
      ...Object.entries(op.responses).flatMap(([status, response]) => [status, ...(response["x-error-codes"] ?? [])])];
    for (const part of parts) assert.ok(text.includes(part), `${op.operationId} does not show ${part}`);
    const body = op.requestBody?.content["application/json"]?.schema;
    if (body?.additionalProperties && !body.properties) assert.ok(text.includes("map of "), `${op.operationId} does not say that its body is a map`);
    else if (body) assert.ok(await article(op).locator(".fields > li").count() > 0, `${op.operationId} does not show its body`);
    if (op.security.length === 0) assert.ok(text.includes("No credential needed"), op.operationId);
  }
  assert.deepEqual(faults, []);
});

// outline keeps of a value the names of its fields and their types.
function outline(value) {
  if (value === null || typeof value !== "object") return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, outline(child)]));
}

test("the introduction tells the truth", async () => {
  await open();
  const intro = await page.locator("main").innerText();
  for (const part of [spec.info.title, spec.info.version, spec.info.description, spec.servers[0].url]) assert.ok(intro.includes(part), part);
  const asked = { flat: ["/v2/me"], nested: ["/v3/me"], problem: ["/v2/me", "application/problem+json"] };
  for (const [shape, [path, accept = "application/json"]] of Object.entries(asked)) {
    const shown = JSON.parse(await page.locator(`[data-shape=${shape}]`).textContent());
    const real = await (await fetch(server + path, { headers: { accept } })).json();
    assert.deepEqual(outline(real), outline(shown), shape);
  }
  const dated = await fetch(`${server}/v2/me`, { headers: { "X-Svc-API-Version": "2025-01-01" } });
  assert.equal(dated.headers.get("X-Svc-API-Version-Used"), "2025-01-01");
});

test("a curl example works as pasted", async () => {
  await open();
  const shell = async (text, variables) => JSON.parse((await run("bash", ["-c", text], { env: { ...process.env, ...variables } })).stdout);
  const signIn = (await page.locator("#signIn .examples code").first().textContent())
    .replace("ada@example.com", email).replace('"password": "string"', `"password": "${password}"`);
  const { token } = await shell(signIn, {});
  assert.ok(token, "signing in gave no token");
  const created = await shell(await page.locator("#createWorkspace .examples code").first().textContent(), { TOKEN: token });
  assert.ok(created.id, JSON.stringify(created));
  const read = await shell(await page.locator("#getWorkspace .examples code").first().textContent(), { TOKEN: token, WORKSPACE_ID: created.id });
  assert.equal(read.id, created.id);
});

test("an example is copied with one press", async () => {
  await open();
  const block = page.locator("#createWorkspace .code").first();
  await block.getByRole("button").click();
  await block.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await block.locator("code").textContent());
});

test("the filter narrows the navigation, by keyboard alone", async () => {
  await open();
  const visible = page.locator("#docs-groups a:visible");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "docs-filter");
  await page.keyboard.type("/v2/workspaces DELETE");
  const words = (op) => [op.method, op.path, op.summary, op.operationId, ...op.tags].join(" ").toLowerCase();
  const wanted = operations.filter((op) => words(op).includes("delete") && words(op).includes("/v2/workspaces"));
  assert.ok(wanted.length > 0 && wanted.length < operations.length);
  assert.equal(await visible.count(), wanted.length);
  assert.equal(await page.locator("#docs-count").textContent(), `${wanted.length} of ${operations.length} operations`);
  const first = await visible.first().getAttribute("href");
  assert.ok(wanted.some((op) => first === `#${op.operationId}`), first);
  await page.keyboard.press("Enter");
  assert.equal(new URL(page.url()).hash, first);
  await page.locator("#docs-filter").focus();
  await page.keyboard.press("Escape");
  assert.equal(await visible.count(), operations.length);
  await page.keyboard.type("no such operation");
  assert.equal(await visible.count(), 0);
  assert.equal(await page.locator("#docs-filter").inputValue(), "no such operation");
});

test("a deep link leads to its operation", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    const op = operations[Math.floor(operations.length / 2)];
    await open({ hash: `#${op.operationId}`, viewport });
    await page.waitForFunction((id) => {
      const top = document.getElementById(id).querySelector("h3").getBoundingClientRect().top;
      return top >= 0 && top < 200;
    }, op.operationId);
    await page.waitForFunction((id) => document.querySelector("#docs-nav [aria-current=location]")?.hash === `#${id}`, op.operationId);
    await page.close();
  }
});

test("a schema opens level by level, by keyboard", async () => {
  await open();
  const outer = page.locator(".operation .fields > li > details").first();
  await outer.locator("summary").first().focus();
  assert.equal(await outer.locator(".fields").count(), 0);
  await page.keyboard.press("Enter");
  await outer.locator(".fields > li").first().waitFor();
  await page.keyboard.press("Enter");
  await outer.locator(".fields > li").first().waitFor({ state: "hidden" });
});

test("paper shows everything, the screen afterwards what it showed before", async () => {
  await open();
  const closed = await page.locator("details:not([open])").count();
  assert.ok(closed > 0);
  await openAll();
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("details:not([open])").count(), await page.locator("details").count());
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("nav").isHidden());
});

test("the page has the structure that assistive technology relies on", async () => {
  await open();
  await openAll();
  const found = await page.evaluate(() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const levels = all("h1, h2, h3, h4, h5, h6").map((heading) => Number(heading.tagName[1]));
    const ids = all("[id]").map((node) => node.id);
    const name = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.[0]?.textContent.trim();
    return {
      lang: document.documentElement.lang,
      headings: levels.filter((level) => level === 1).length,
      skipped: levels.filter((level, i) => level > (levels[i - 1] ?? 0) + 1).length,
      landmarks: ["main", "nav", "body > header"].map((selector) => all(selector).length),
      images: all("img, svg, canvas, video, iframe, object, embed").length,
      sameId: ids.filter((id, i) => ids.indexOf(id) !== i),
      nameless: all("a, button, input, summary").filter((node) => !name(node)).map((node) => node.outerHTML),
      dangling: all("[aria-labelledby], [aria-describedby], [aria-controls]").flatMap((node) =>
        ["aria-labelledby", "aria-describedby", "aria-controls"].map((attribute) => node.getAttribute(attribute)).filter((id) => id && !document.getElementById(id))),
      broken: all("a[href^='#']").map((link) => decodeURIComponent(link.hash.slice(1))).filter((id) => !document.getElementById(id)),
    };
  });
  assert.deepEqual(found, { lang: "en", headings: 1, skipped: 0, landmarks: [1, 1, 1], images: 0, sameId: [], nameless: [], dangling: [], broken: [] });
});

test("Tab reaches everything that can be used", async () => {
  await open();
  const interactive = await page.evaluate(() => {
    const list = [...document.querySelectorAll("a[href], button, input, summary")].filter((node) => node.checkVisibility({ visibilityProperty: true }));
    addEventListener("focusin", (event) => { event.target.reached = true; });
    window.unreached = () => list.filter((node) => !node.reached).map((node) => node.outerHTML.slice(0, 120));
    return list.length;
  });
  for (let press = 0; press < interactive; press++) await page.keyboard.press("Tab");
  assert.deepEqual(await page.evaluate(() => window.unreached()), []);
});

for (const colorScheme of ["light", "dark"]) {
  test(`text stands out from its background: ${colorScheme}`, async () => {
    await open({ colorScheme });
    await openAll();
    const { faint, paper } = await page.evaluate(() => {
      const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
      const brightness = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
      const background = (node) => {
        const own = getComputedStyle(node).backgroundColor;
        return channels(own)[3] === 0 && node.parentElement ? background(node.parentElement) : own;
      };
      const contrast = (node) => {
        const [low, high] = [getComputedStyle(node).color, background(node)].map(brightness).sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      };
      const withText = [...document.body.querySelectorAll("*")].filter((node) => node.checkVisibility()
        && [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()));
      return {
        faint: [...new Set(withText.filter((node) => contrast(node) < 4.5).map((node) => `${node.tagName}.${node.className} ${contrast(node).toFixed(2)}`))],
        paper: brightness(getComputedStyle(document.body).backgroundColor),
      };
    });
    assert.deepEqual(faint, []);
    assert.ok(colorScheme === "dark" ? paper < 0.1 : paper > 0.9, `the paper has a brightness of ${paper}`);
  });

  test(`nothing is wider than the screen: ${colorScheme}`, async () => {
    await open({ colorScheme });
    await openAll();
    for (const width of [320, 375, 639, 641, 800, 960, 1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await assertFitsWidth(`${width}px`);
    }
    assert.deepEqual(faults, []);
  });
}

test("a phone has a menu", async () => {
  await open({ viewport: PHONE });
  const menu = page.getByRole("button", { name: "Menu" });
  const nav = page.locator("nav");
  assert.ok(await nav.isHidden());
  await menu.click();
  assert.ok(await nav.isVisible());
  assert.equal(await menu.getAttribute("aria-expanded"), "true");
  await page.keyboard.press("Escape");
  assert.ok(await nav.isHidden());
  await menu.click();
  await nav.getByRole("link", { name: operations.at(-1).summary }).click();
  assert.ok(await nav.isHidden());
  await page.waitForFunction((id) => document.getElementById(id).getBoundingClientRect().top < innerHeight, operations.at(-1).operationId);
});

const HOSTILE = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>"'\`$(touch ran)\`\${ran} javascript:window.ran=1`;

// hostile puts markup and shell commands into every text and name. What the page has to find its way by stays.
function hostile(value, key) {
  const structure = ["$ref", "type", "in", "openapi", "operationId", "scheme"];
  if (typeof value === "string") return structure.includes(key) ? value : value + HOSTILE;
  if (Array.isArray(value)) return value.map((item) => (key === "required" ? item + HOSTILE : hostile(item, key)));
  if (value === null || typeof value !== "object") return value;
  const named = ["paths", "properties", "content", "headers"].includes(key);
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [named ? name + HOSTILE : name, hostile(child, key === "properties" ? "" : name)]));
}

test("a hostile document stays text", async () => {
  const document = hostile(spec);
  document.servers[0].url = spec.servers[0].url + "/$(touch ran)`touch ran`\"";
  await open({ document });
  await openAll();
  for (const link of await page.locator("#docs-groups a").all()) await link.click();
  await page.locator(".copy").first().click();
  const found = await page.evaluate(() => ({
    ran: window.ran,
    elements: document.querySelectorAll("body img, body script, body iframe, body style, body [style]").length,
    handlers: [...document.querySelectorAll("*")].flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith("on")),
    links: [...document.querySelectorAll("a")].map((link) => link.getAttribute("href")).filter((href) => !/^(#|\/openapi\.json$)/.test(href)),
  }));
  assert.deepEqual(found, { ran: undefined, elements: 0, handlers: [], links: [] });
  for (const part of ["h1", ".lead", "h3", ".endpoint", ".fields .name", "td", ".code code"]) {
    assert.ok((await page.locator(part).allTextContents()).some((text) => text.includes("<img src=x")), `${part} does not show the text`);
  }
  await page.setViewportSize(PHONE);
  await assertFitsWidth("hostile");
  assert.deepEqual(faults, []);
});

test("a pasted example runs nothing but curl", async () => {
  const document = hostile(spec);
  document.servers[0].url = spec.servers[0].url;
  await open({ document });
  for (const text of await page.locator(".examples > :nth-child(2) code").allTextContents()) {
    // Everything the shell could start is missing except a curl that only shows its arguments.
    const script = `PATH=; command_not_found_handle() { echo "ran: $*" >&2; }; curl() { printf '%s\\n' "$@"; }; ${text}`;
    const { stdout, stderr } = await run("bash", ["--norc", "-c", script], { env: {} });
    assert.equal(stderr, "", text);
    assert.ok(stdout.includes("$(touch ran)"), text);
  }
});

test("odd documents are shown too", async () => {
  const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
  const response = (schema) => ({ 200: { description: "OK", content: { "application/json": { schema } } } });
  const document = {
    openapi: "3.1.0",
    paths: {
      "/tree": { get: { operationId: "content", responses: response(ref("Tree")) }, put: { operationId: "content", responses: response(ref("List")) } },
      "/loop": { get: { responses: response(ref("Loop")) } },
      "/choice": { post: { summary: "Choose", requestBody: { content: { "application/json": { schema: ref("Choice") } } } } },
      "/text": { get: { summary: "Text", tags: ["__proto__"], responses: { default: { content: { "text/plain": { schema: true } } } } } },
      "/nothing": { delete: { summary: "Nothing", deprecated: true, parameters: [{ $ref: "#/nowhere" }] } },
    },
    components: { schemas: {
      Tree: { type: "object", required: ["value"], properties: { value: { type: ["string", "null"] }, children: { type: "array", items: ref("Tree") } } },
      List: { type: "array", items: ref("List") },
      Loop: ref("Loop"),
      Choice: { oneOf: [ref("Tree"), { allOf: [ref("Tree"), { properties: { leaf: { const: 0 } } }, ref("Choice")] }, { type: "null" }] },
    } },
  };
  await open({ document });
  await openAll();
  assert.equal(await page.locator("article.operation").count(), 6);
  assert.ok(await page.getByText("The same fields again.").count() > 0);
  const ids = await page.locator("article.operation").evaluateAll((all) => all.map((node) => node.id));
  assert.equal(new Set([...ids, "content"]).size, 7);
  assert.deepEqual(faults, []);
});

test("a document that cannot be read is reported", async () => {
  const cases = {
    "The server answered 503": (route) => route.fulfill({ status: 503, body: "{}" }),
    "The server does not answer": (route) => route.abort(),
    "not an OpenAPI document": (route) => route.fulfill({ json: { hello: "world" } }),
    "JSON": (route) => route.fulfill({ body: "<html>" }),
  };
  for (const [message, answer] of Object.entries(cases)) {
    await open({ answer });
    assert.match(await page.getByRole("alert").innerText(), new RegExp(message));
    await page.unroute("**/openapi.json");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.waitForSelector(".operation");
    await page.close();
  }
});
