// Setting up an authenticator app: show its secret, take the first code, show the recovery codes.
import { $, call, form, t } from "./common.js";

let kept = () => {};
let credential;

// enrol shows an offer and resolves when its owner has kept the recovery codes. The first code is sent with the credential.
export function enrol(offer, by = { session: true }) {
  credential = by;
  $("qr").src = offer.qrImage;
  $("totp-secret").textContent = offer.secret.replace(/(.{4})(?=.)/g, "$1 ");
  $("authenticator").hidden = false;
  $("authenticator").reset();
  $("recovery-codes").hidden = true;
  $("first-code").focus();
  return new Promise((resolve) => { kept = resolve; });
}

// reveal shows recovery codes, which nobody will see again.
export function reveal(codes) {
  $("authenticator").hidden = true;
  $("code-list").replaceChildren(...codes.map((code) => Object.assign(document.createElement("li"), { textContent: code })));
  $("recovery-codes").hidden = false;
  $("recovery-codes").querySelector("h2").focus();
  return new Promise((resolve) => { kept = resolve; });
}

form("authenticator", async ({ totp }) => {
  const done = kept;
  const { recoveryCodes } = await call("POST", "/v2/login/mfa", { totp }, credential);
  reveal(recoveryCodes ?? []);
  kept = done;
});

$("copy-codes").addEventListener("click", async ({ currentTarget }) => {
  await navigator.clipboard.writeText([...$("code-list").children].map((item) => item.textContent).join("\n"));
  currentTarget.textContent = t("common.copied");
});

$("codes-kept").addEventListener("click", () => kept());
