// Signing in: password or passkey or another provider, then a second factor where one is owed, then consent where a client
// asks for it.
import { $, Failure, call, data, explain, form, forget, go, local, problem, query, start, step, t } from "./common.js";
import * as passkey from "./passkey.js";
import { enrol } from "./totp.js";

const uid = query.get("interaction") ?? "";
const interaction = (path) => `/oidc/interaction/${encodeURIComponent(uid)}/${path}`;
let details; // of the client that asks, when one does
let bearer; // of a session that owes its second factor: it may not ask who it is yet
let waiting; // the browser's suggestion of passkeys, to be called off

// finish goes where the sign-in was wanted.
function finish() {
  return go(details ? local(details.resume) : data.return);
}

// wrong says what is the matter with a sign-in; not validated yet, and the like, have words of their own.
const wrong = (failure) => failure.code === "invalid_credentials" && !failure.type ? t("signin.wrong") : explain(failure);
const wrongCode = (failure) => failure.code === "invalid_credentials" && !failure.type ? t("signin.wrongCode") : explain(failure);

form("password", async ({ email, password }) => {
  waiting?.abort();
  const answer = await call("POST", "/v2/login", { email, password });
  forget();
  bearer = answer.token;
  if (answer.mfaRequired) return owes(answer.mfa, password);
  return finish();
}, wrong);

// owes asks for the second factor, or for setting one up where the installation wants one.
async function owes(method, password) {
  if (method) return step("factor");
  const offer = await call("POST", "/v2/user/mfa", { method: "totp", currentPassword: password }, { bearer });
  step("setup");
  enrol(offer, { bearer }).then(finish);
}

form("factor", async ({ totp }) => {
  await call("POST", "/v2/login/mfa", { totp }, { bearer });
  return finish();
}, wrongCode);

form("recovery", async ({ recoveryCode }) => {
  await call("POST", "/v2/login/mfa", { recoveryCode }, { bearer });
  return finish();
}, wrongCode);

for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => step(button.dataset.go));

// usePasskey signs in with a passkey. Closing the browser's dialog is no error.
async function usePasskey(options = {}) {
  const asked = await call("POST", "/v2/login/passkey/options");
  let credential;
  try {
    credential = await passkey.get(asked.options, options);
  } catch (failure) {
    if (passkey.declined(failure)) return;
    throw failure;
  }
  await call("POST", "/v2/login/passkey", { challenge: asked.challenge, credential });
  forget();
  return finish();
}

$("passkey").addEventListener("click", async ({ currentTarget: button }) => {
  waiting?.abort();
  problem($("problem"));
  button.setAttribute("aria-busy", "true");
  try {
    await usePasskey();
  } catch (failure) {
    problem($("problem"), failure instanceof Failure ? wrongPasskey(failure) : t("signin.passkeyFailed"));
  } finally {
    button.setAttribute("aria-busy", "false");
  }
});

const wrongPasskey = (failure) => failure.code === "invalid_credentials" ? t("signin.passkeyFailed") : explain(failure);

// suggest lets the browser offer passkeys in the e-mail field.
async function suggest() {
  if (!await passkey.suggests()) return;
  waiting = new AbortController();
  try {
    await usePasskey({ mediation: "conditional", signal: waiting.signal });
  } catch (failure) {
    if (failure instanceof Failure) problem($("problem"), wrongPasskey(failure));
  }
}

// offer shows the ways in that the installation has.
async function offer() {
  const ways = await call("GET", "/v2/login/providers");
  $("password").hidden = !ways.localSignin;
  $("join").hidden = !ways.localSignup;
  $("passkey").hidden = !passkey.supported() || !data.passkeys;
  for (const provider of ways.providers) $("others").append(button(provider));
  const others = [...$("others").children].some((node) => !node.hidden);
  $("or").hidden = !others || !ways.localSignin;
  if (!$("passkey").hidden) suggest();
  if (ways.localSignin) start(details?.loginHint ? "secret" : "email");
}

function button(provider) {
  const target = new URLSearchParams({ provider: provider.slug });
  if (uid) target.set("interaction", uid);
  else {
    target.set("return_to", data.return);
    target.set("here", "1"); // not where the console is
  }
  const link = document.createElement("a");
  link.className = "button";
  link.href = `/v2/login?${target}`;
  link.textContent = t("signin.with", { provider: provider.name || provider.slug });
  return link;
}

// consent asks whether a client may do what it wants.
function consent() {
  $("asks").textContent = t("signin.asks", { client: details.client.name || details.client.id });
  $("scopes").replaceChildren(...(details.scopes ?? []).map((scope) => {
    const known = t(`scope.${scope}`);
    return Object.assign(document.createElement("li"), { textContent: known === `scope.${scope}` ? scope : known });
  }));
  $("leads").textContent = t("signin.leads", { place: details.redirect });
  step("consent");
  $("h-consent").focus();
  for (const [id, allow] of [["allow", true], ["deny", false]]) $(id).addEventListener("click", () => decide(allow));
}

async function decide(allow) {
  try {
    const { redirect } = await call("POST", interaction("consent"), { allow }, { session: true });
    location.assign(redirect);
  } catch (failure) {
    problem($("consent-problem"), explain(failure));
  }
}

async function open() {
  if (uid) {
    try {
      details = await call("GET", interaction("details"));
    } catch (failure) {
      if (failure.status !== 404) $("gone-why").textContent = explain(failure);
      return step("gone");
    }
    if (details.prompt === "consent") return consent();
    if (details.prompt !== "login") return finish();
    $("client").textContent = t("signin.to", { client: details.client.name || details.client.id });
    $("client").hidden = false;
    if (details.loginHint) $("email").value ||= details.loginHint;
  } else if (data.signed && await signedIn()) {
    return finish();
  }
  const wrong = `error.${query.get("error") ?? ""}`;
  if (data.words[wrong]) problem($("problem"), t(wrong));
  return offer();
}

// signedIn tells whether the browser is signed in already. One that owes its second factor begins again.
async function signedIn() {
  let me;
  try {
    me = await call("GET", "/v2/me");
  } catch {
    return false;
  }
  return !me.anonymous && !me.mfaRequired;
}

open().catch((failure) => problem($("problem"), explain(failure)));
