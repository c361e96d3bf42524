// Signs up and in the way people do: with a password, a passkey, an authenticator app, a keyboard, a phone, in three languages.
// signin_test.go starts the server and this file.
import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { chromium } from "playwright-core";

const { SIGNIN_SERVER: server, SIGNIN_BROWSER: executablePath, SIGNIN_REGISTRATION: registration, SIGNIN_SHOTS: shots } = process.env;
const { SIGNIN_STRICT: strict, SIGNIN_STRICT_EMAIL: strictEmail, SIGNIN_STRICT_PASSWORD: strictPassword } = process.env;
const PASSWORD = "correct horse battery staple";
const PHONE = { width: 320, height: 640 };
const DESKTOP = { width: 1280, height: 900 };

let browser, context, page, faults, expected;

before(async () => {
  browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"] });
});

after(() => browser?.close());

afterEach(async () => {
  await context?.close();
  context = undefined;
  assert.deepEqual(faults ?? [], []);
});

// open starts a fresh browser and notes everything its pages should not do. Refusals that a test provokes are expected.
async function open({ viewport = DESKTOP, colorScheme = "light", locale = "en-GB" } = {}) {
  context = await browser.newContext({ viewport, colorScheme, locale, permissions: ["clipboard-read", "clipboard-write"] });
  faults = [];
  expected = [];
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
  page = await context.newPage();
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !expected.some((status) => text.includes(`status of ${status} `))) faults.push(`console: ${text}`);
  });
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (![server, strict].some((known) => request.url().startsWith(`${known}/`)) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
  });
}

const shot = (name) => shots && page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
const at = (path) => page.waitForURL((url) => url.pathname === path);
const heading = (name) => page.getByRole("heading", { name, level: 1 });
let people = 0;

// signUp makes an account and leaves its owner on the account page.
async function signUp() {
  const email = `person-${Date.now()}-${people++}@example.test`;
  await page.goto(`${server}/signup`);
  await page.getByLabel("First name").fill("Ada");
  await page.getByLabel("Last name").fill("Lovelace");
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await at("/account");
  await page.getByText(`Signed in as ${email}`).waitFor();
  return email;
}

async function signOut() {
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await heading("You are signed out").waitFor();
}

async function signIn(email, path = "/signin") {
  await page.goto(server + path);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

// passkeys gives the page a security key of software that always says yes.
async function passkeys() {
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", { options: {
    protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
  } });
}

// totp is what an authenticator app shows (RFC 6238).
function totp(secret, time = Date.now()) {
  const bits = [...secret.replace(/\s/g, "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(time / 30_000)));
  const hash = createHmac("sha1", key).update(counter).digest();
  return String((hash.readUInt32BE(hash[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test("sign up, sign out, sign in with the password", async () => {
  await open();
  const email = await signUp();
  await shot("account");
  await signOut();
  await page.goto(`${server}/account`);
  await at("/signin");
  expected = [401];
  await signIn(email);
  await at("/account");
  await page.goto(`${server}/signin`);
  await at("/account");
});

test("a wrong password is said aloud, and the field is ready for the next try", async () => {
  await open();
  expected = [401];
  await page.goto(`${server}/signin`);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  assert.equal(await page.locator("[aria-invalid=true]").count(), 2);
  assert.ok(await page.getByLabel("E-mail address").evaluate((node) => node === document.activeElement));
  await signIn("nobody@example.test");
  await page.getByRole("alert").filter({ hasText: "The e-mail address or the password is wrong." }).waitFor();
  assert.ok(await page.getByLabel("Password", { exact: true }).evaluate((node) => node === document.activeElement));
  await shot("signin-wrong");
});

test("a page that becomes ready late leaves the focus to whoever has begun to type", async () => {
  for (const [path, field] of [["/signup", "E-mail address"], ["/signin", "Password"]]) {
    await open();
    const asked = new Promise((resolve) => context.route("**/v2/login/providers", (route) => resolve(route)));
    await page.goto(server + path, { waitUntil: "commit" });
    const route = await asked;
    await page.getByLabel(field, { exact: true }).focus();
    await page.keyboard.type("be");
    const answered = page.waitForResponse("**/v2/login/providers");
    await route.continue();
    await answered;
    await page.waitForLoadState("networkidle");
    await page.keyboard.type("gun");
    assert.equal(await page.getByLabel(field, { exact: true }).inputValue(), "begun");
    await context.close();
  }
});

test("a keyboard is enough", async () => {
  await open();
  const email = await signUp();
  await signOut();
  await page.goto(`${server}/signin`);
  await page.waitForFunction(() => document.activeElement.id === "email");
  await page.keyboard.type(email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await at("/account");
  await page.getByRole("heading", { name: "Profile" }).waitFor();
});

test("sign in ends where it was wanted, on this host only", async () => {
  await open();
  const email = await signUp();
  for (const [wanted, end] of [["/docs", "/docs"], ["//evil.example/", "/account"], ["/\\evil.example", "/account"], ["https://evil.example/", "/account"],
    ["javascript:alert(1)", "/account"], ["/%2f%2fevil.example", "/account"], ["/a%0d%0aSet-Cookie:x", "/account"]]) {
    await page.goto(`${server}/account`);
    await signOut();
    await signIn(email, `/signin?return_to=${encodeURIComponent(wanted)}`);
    await at(end);
  }
});

test("a passkey: add, rename, sign in, and through a client's code flow", async () => {
  await open();
  const email = await signUp();
  await passkeys();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  const rows = page.locator("#passkey-list li");
  await rows.waitFor();
  await rows.getByRole("button", { name: /^Rename/ }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("My laptop");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("My laptop", { exact: true }).waitFor();
  await shot("account-passkey");
  await signOut();

  await page.goto(`${server}/signin`); // the browser suggests the passkey in the e-mail field, and its key says yes at once
  await at("/account");
  await page.getByText(`Signed in as ${email}`).waitFor();
  await page.getByText("Last used").waitFor();
  await signOut();
  await page.addInitScript(() => { PublicKeyCredential.isConditionalMediationAvailable = async () => false; });

  const verifier = randomBytes(32).toString("base64url");
  const asked = new URLSearchParams({
    response_type: "code", client_id: "local-client-id", redirect_uri: `${server}/callback`, scope: "openid email", state: "the state",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256",
  });
  await page.goto(`${server}/oidc/auth?${asked}`);
  await page.getByText("to continue to Atelier").waitFor();
  expected = [404]; // nobody is at home there
  const arrived = page.waitForURL((url) => url.searchParams.has("code"));
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await arrived;
  const url = new URL(page.url());
  assert.equal(url.searchParams.get("state"), "the state");
  const answer = await fetch(`${server}/oidc/token`, { method: "POST", body: new URLSearchParams({
    grant_type: "authorization_code", code: url.searchParams.get("code"), code_verifier: verifier, client_id: "local-client-id", redirect_uri: `${server}/callback`,
  }) });
  const tokens = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(tokens));
  const me = await (await fetch(`${server}/oidc/me`, { headers: { Authorization: `Bearer ${tokens.access_token}` } })).json();
  assert.equal(me.email, email);
  await page.goto(`${server}/account`);
  await page.getByRole("button", { name: "Remove My laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await rows.waitFor({ state: "detached" });
});

test("another client's wishes are shown and can be refused", async () => {
  await open();
  await signUp();
  const made = await fetch(`${server}/oidc/reg`, {
    method: "POST", headers: { Authorization: `Bearer ${registration}`, "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Paint Shop", application_type: "native", redirect_uris: [`${server}/callback`], token_endpoint_auth_method: "none", scope: "openid email files:read" }),
  });
  const client = await made.json();
  assert.equal(made.status, 201, JSON.stringify(client));
  const asked = new URLSearchParams({
    response_type: "code", client_id: client.client_id, redirect_uri: `${server}/callback`, scope: "openid email files:read", state: "s",
    code_challenge: createHash("sha256").update("a verifier that is long enough for the rule").digest("base64url"), code_challenge_method: "S256",
  });
  for (const [button, ends] of [["Deny", "error"], ["Allow", "code"]]) {
    await page.goto(`${server}/oidc/auth?${asked}`);
    await heading("Allow access?").waitFor();
    await page.getByText("Paint Shop wants to:").waitFor();
    assert.deepEqual(await page.locator("#scopes li").allInnerTexts(), ["Know who you are", "See your e-mail address", "Read files"]);
    await shot("consent");
    expected = [404];
    const arrived = page.waitForURL((url) => url.searchParams.has(ends));
    await page.getByRole("button", { name: button }).click();
    await arrived;
  }
});

test("a sign-in that is over says so", async () => {
  await open();
  expected = [404];
  await page.goto(`${server}/signin?interaction=unknown`);
  await heading("This sign-in is over").waitFor();
});

test("two-step verification: set up, a code, a recovery code, off", async () => {
  await open();
  const email = await signUp();
  await page.getByRole("button", { name: "Set up" }).click();
  const dialog = page.getByRole("dialog");
  expected = [401];
  await dialog.getByLabel("Current password").fill("not the password");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("alert").filter({ hasText: "The current password is wrong." }).waitFor();
  await dialog.getByLabel("Current password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Cannot scan it?").click();
  const secret = await page.locator("#totp-secret").innerText();
  await page.waitForFunction(() => document.getElementById("qr").naturalWidth > 100);
  await page.locator("#factor").screenshot(shots ? { path: `${shots}/totp.png` } : {});
  await page.getByLabel("Enter the 6-digit code").fill("000000");
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.locator("#authenticator").getByRole("alert").waitFor();
  const first = Date.now();
  await page.getByLabel("Enter the 6-digit code").fill(totp(secret, first));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("heading", { name: "Keep your recovery codes" }).waitFor();
  const codes = await page.locator("#code-list li").allInnerTexts();
  assert.equal(codes.length, 10);
  await page.getByRole("button", { name: "Copy", exact: true }).first().click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), codes.join("\n"));
  await page.locator("#factor").screenshot(shots ? { path: `${shots}/codes.png` } : {});
  await page.getByRole("button", { name: "I have kept them" }).click();
  await page.getByText("Recovery codes left: 10").waitFor();
  await signOut();

  await signIn(email);
  await heading("Verify that it is you").waitFor();
  await shot("factor");
  await page.getByLabel("6-digit code", { exact: true }).fill("000000");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").filter({ hasText: "This code is not right" }).waitFor();
  await page.getByLabel("6-digit code", { exact: true }).fill(totp(secret, first + 30_000)); // the next one: codes count once
  await page.getByRole("button", { name: "Continue" }).click();
  await at("/account");
  await signOut();

  await signIn(email);
  await page.getByRole("button", { name: "Use a recovery code instead" }).click();
  await page.getByRole("textbox", { name: "Recovery code" }).fill(codes[0].toUpperCase());
  await page.getByRole("button", { name: "Continue" }).click();
  await at("/account");
  await page.getByText("Recovery codes left: 9").waitFor();
  await page.getByRole("button", { name: "Turn off" }).click();
  await dialog.getByLabel("Current password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Turn off" }).click();
  await page.locator("#factor-state", { hasText: "Off" }).waitFor();
});

test("where a second factor is wanted, the first sign-in sets it up", async () => {
  await open({ viewport: PHONE });
  await page.goto(`${strict}/signin`);
  await page.getByLabel("E-mail address").fill(strictEmail);
  await page.getByLabel("Password", { exact: true }).fill(strictPassword);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await heading("Set up two-step verification").waitFor();
  assert.equal((await context.request.get(`${strict}/v2/workspaces`)).status(), 401);
  await page.getByText("Cannot scan it?").click();
  await shot("setup");
  await assertSound("setup");
  await page.getByLabel("Enter the 6-digit code").fill(totp(await page.locator("#totp-secret").innerText()));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("button", { name: "I have kept them" }).click();
  await at("/account");
  await page.locator("#factor-state", { hasText: "On" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Turn off" }).isHidden());
  assert.equal((await context.request.get(`${strict}/v2/workspaces`)).status(), 200);
});

test("the account: profile, password, tokens, sessions", async () => {
  await open();
  await signUp();
  await page.getByLabel("First name").fill("Augusta");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByRole("status").filter({ hasText: "Saved" }).waitFor();
  await page.getByLabel("What is it for?").fill("a script");
  await page.getByRole("button", { name: "Create token" }).click();
  const token = await page.locator("#token-value").filter({ hasText: "at:" }).innerText();
  const me = await (await fetch(`${server}/v2/me`, { headers: { Authorization: `Bearer ${token}` } })).json();
  assert.equal(me.firstName, "Augusta");
  await page.getByRole("button", { name: "Remove a script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.locator("#token-list li").waitFor({ state: "detached" });
  assert.equal((await fetch(`${server}/v2/me`, { headers: { Authorization: `Bearer ${token}` } })).status, 401);
  await page.locator("#current").fill(PASSWORD);
  await page.locator("#fresh").fill("another horse battery");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("status").filter({ hasText: "Your password is changed." }).waitFor();
  await page.getByText("This session").waitFor();
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await heading("You are signed out").waitFor();
  assert.equal((await context.request.get(`${server}/v2/me`)).status(), 401);
});

test("the language is the reader's", async () => {
  await open({ locale: "fr-CA" });
  await page.goto(`${server}/signin`);
  await heading("Connexion").waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "fr");
  await page.getByRole("link", { name: "Deutsch" }).click();
  await heading("Anmelden").waitFor();
  await page.getByRole("link", { name: "Passwort vergessen?" }).click();
  await heading("Passwort vergessen?").waitFor();
  await page.getByLabel("E-Mail-Adresse").fill("nobody@example.test");
  await page.getByRole("button", { name: "Link senden" }).click();
  await heading("Sehen Sie in Ihre E-Mails").waitFor();
});

const PAGES = ["/signin", "/signup", "/forgot", "/forgot?token=x", "/validate?token=x", "/validate", "/delete-account?token=x", "/signedout", "/error?error=access_denied"];

for (const colorScheme of ["light", "dark"]) {
  test(`pages fit a small screen, stand out, and have names: ${colorScheme}`, async () => {
    await open({ viewport: PHONE, colorScheme });
    expected = [400];
    for (const path of PAGES) {
      await page.goto(server + path);
      await page.waitForLoadState("networkidle");
      await shot(`${colorScheme}${path.replace(/\W/g, "-")}`);
      await assertSound(path);
    }
    await signUp();
    await page.waitForLoadState("networkidle");
    await shot(`${colorScheme}-account`);
    await assertSound("/account");
    await page.goto(`${server}/device`);
    await page.waitForLoadState("networkidle");
    await shot(`${colorScheme}-device`);
    await assertSound("/device");
  });
}

// assertSound checks what people with small screens, weak eyes or screen readers need.
async function assertSound(path) {
  const found = await page.evaluate(() => {
    const all = (selector) => [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility());
    const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const brightness = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const background = (node) => {
      const own = getComputedStyle(node).backgroundColor;
      return channels(own)[3] === 0 && node.parentElement ? background(node.parentElement) : own;
    };
    const contrast = (a, b) => {
      const [low, high] = [a, b].map(brightness).sort((x, y) => x - y);
      return (high + 0.05) / (low + 0.05);
    };
    const texts = all("body *").filter((node) => [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()));
    const name = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.[0]?.textContent.trim();
    return {
      wide: document.documentElement.scrollWidth > innerWidth,
      headings: all("h1").length,
      faint: texts.filter((node) => contrast(getComputedStyle(node).color, background(node)) < 4.5).map((node) => node.outerHTML.slice(0, 80)),
      edges: all("input, select").filter((node) => contrast(getComputedStyle(node).borderTopColor, background(node.parentElement)) < 3).map((node) => node.outerHTML.slice(0, 80)),
      nameless: all("a, button, input, select").filter((node) => !name(node)).map((node) => node.outerHTML),
      small: all("button, input, select, .button").filter((node) => node.getBoundingClientRect().height < 24).map((node) => node.outerHTML.slice(0, 80)),
      raw: texts.filter((node) => /^(common|signin|signup|forgot|validate|delete|device|account|error|totp|scope)\.\w+/.test(node.textContent.trim())).map((node) => node.textContent),
    };
  });
  assert.deepEqual(found, { wide: false, headings: 1, faint: [], edges: [], nameless: [], small: [], raw: [] }, path);
}
