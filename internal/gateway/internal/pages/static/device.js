// Letting a device in: the code it shows, who asks for what, and yes or no.
import { $, call, data, form, go, query, start, step, t } from "./common.js";

const again = () => go(`/signin?return_to=${encodeURIComponent(location.pathname + location.search)}`);
let code; // of the device, as the server spells it

// signedIn does something that needs a signed-in browser.
async function signedIn(something) {
  try {
    return await something();
  } catch (failure) {
    if (failure.status === 401) return again();
    throw failure;
  }
}

form("code", ({ user_code }) => signedIn(async () => {
  const details = await call("GET", `/oidc/device/details?${new URLSearchParams({ user_code: user_code.trim() })}`);
  code = details.userCode;
  $("h-ask").textContent = t("signin.asks", { client: details.client.name || details.client.id });
  $("scopes").replaceChildren(...(details.scopes ?? []).map((scope) => {
    const known = t(`scope.${scope}`);
    return Object.assign(document.createElement("li"), { textContent: known === `scope.${scope}` ? scope : known });
  }));
  step("ask");
  $("h-ask").focus();
}));

form("decide", (_, button) => signedIn(async () => {
  const allow = button.value === "yes";
  await call("POST", "/oidc/device/verify", { user_code: code, allow }, { session: true });
  $("h-done").textContent = t(allow ? "device.allowed" : "device.denied");
  step("done");
}));

if (!data.signed) await again();
$("user_code").value ||= query.get("user_code") ?? "";
start("user_code");
