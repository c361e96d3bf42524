// The second factor and the passkeys of an account.
import { $, Failure, call, data, explain, problem, t } from "./common.js";
import { ask, button, confirmed, row, tell, when, withPassword } from "./dialog.js";
import * as passkey from "./passkey.js";
import { enrol, reveal } from "./totp.js";

const change = (body) => call("POST", "/v2/user/mfa", body, { session: true });

// fresh does something that needs the password; an account without one is asked for nothing.
async function fresh(me, title, ok, action) {
  if (me.authData?.svc) return withPassword(title, ok, (currentPassword) => action(currentPassword));
  try {
    await action(undefined);
    return true;
  } catch (failure) {
    tell(explain(failure));
    return false;
  }
}

async function show() {
  const { method, required, recoveryCodesLeft } = await call("GET", "/v2/user/mfa");
  const on = method !== "";
  $("factor-state").textContent = t(on ? "account.on" : "account.off");
  $("factor-state").classList.toggle("on", on);
  $("codes-left").textContent = t("account.codesLeft", { count: recoveryCodesLeft });
  $("codes-left").hidden = $("factor-renew").hidden = !on;
  $("factor-stop").hidden = !on || required;
  $("factor-start").textContent = t(on ? "account.factorReplace" : "account.factorStart");
  $("factor-start").className = on ? "" : "primary";
  $("factor-actions").hidden = false;
  $("factor-setup").hidden = true;
}

export async function factor(me) {
  await show();
  const open = (shown) => {
    $("factor-actions").hidden = true;
    $("factor-setup").hidden = false;
    return shown();
  };
  $("factor-start").addEventListener("click", async () => {
    let offer;
    const sure = await fresh(me, t("account.factorStart"), t("common.continue"), async (currentPassword) => {
      offer = await change({ method: "totp", currentPassword });
    });
    if (!sure) return;
    await open(() => enrol(offer));
    tell(t("account.factorStarted"));
    await show();
  });
  $("factor-renew").addEventListener("click", async () => {
    let codes;
    const sure = await fresh(me, t("account.factorRenew"), t("common.continue"), async (currentPassword) => {
      codes = (await call("POST", "/v2/user/mfa/recovery-codes", { currentPassword }, { session: true })).recoveryCodes;
    });
    if (!sure) return;
    await open(() => reveal(codes));
    await show();
  });
  $("factor-stop").addEventListener("click", async () => {
    const sure = await fresh(me, t("account.factorStop"), t("account.factorStop"), (currentPassword) => change({ method: "none", currentPassword }));
    if (sure) tell(t("account.factorStopped"));
    await show();
  });
}

export async function passkeys() {
  const possible = passkey.supported() && data.passkeys;
  $("passkey-add").hidden = !possible;
  $("passkey-impossible").hidden = possible;
  $("passkey-add").addEventListener("click", add);
  await list();
}

async function list() {
  const all = await call("GET", "/v2/user/passkeys");
  $("passkey-list").replaceChildren(...all.map((key) => row(
    key.name,
    [key.lastUsedAt ? t("account.used", { when: when(key.lastUsedAt) }) : t("account.added", { when: when(key.createdAt) }),
      key.synced ? t("account.synced") : ""].filter(Boolean).join(" · "),
    button(t("account.rename"), t("account.renameOne", { name: key.name }), () => rename(key)),
    button(t("account.removeKey"), t("account.removeOne", { name: key.name }), () => drop(key), "small danger"),
  )));
}

const one = (key) => `/v2/user/passkeys/${encodeURIComponent(key.id)}`;

async function rename(key) {
  const done = await ask({ title: t("account.rename"), label: t("account.passkeyName"), value: key.name, ok: t("common.save") },
    (name) => call("PATCH", one(key), { name }, { session: true }));
  if (done) await list();
}

async function drop(key) {
  const sure = await ask({ title: t("account.removeOne", { name: key.name }), text: t("account.removeSure"), ok: t("account.removeKey"), danger: true }, () => {});
  if (!sure) return;
  await confirmed(async () => {
    await call("DELETE", one(key), undefined, { session: true });
    tell(t("account.removed"));
  });
  await list();
}

async function add() {
  problem($("passkey-problem"));
  try {
    await confirmed(async () => {
      const asked = await call("POST", "/v2/user/passkeys/options", {}, { session: true });
      const credential = await passkey.create(asked.options);
      await call("POST", "/v2/user/passkeys", { challenge: asked.challenge, credential, name: device() }, { session: true });
      tell(t("account.passkeyAdded"));
    });
  } catch (failure) {
    if (!passkey.declined(failure)) problem($("passkey-problem"), says(failure));
  }
  await list();
}

function says(failure) {
  if (failure instanceof DOMException && failure.name === "InvalidStateError") return t("account.passkeyKnown");
  return failure instanceof Failure ? explain(failure) : t("account.passkeyFailed");
}

// device names the browser and its system, as a first name for a passkey.
function device() {
  const agent = navigator.userAgent;
  const find = (...names) => names.find(([part]) => agent.includes(part))?.[1];
  const browser = find(["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]) ?? t("account.browser");
  const system = find(["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["Mac OS", "macOS"], ["Windows", "Windows"], ["Linux", "Linux"]);
  return system ? `${browser} · ${system}` : browser;
}
