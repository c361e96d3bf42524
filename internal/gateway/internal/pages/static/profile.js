// Names, password, and the end of an account.
import { $, call, explain, form, t } from "./common.js";
import { ask, tell } from "./dialog.js";

export function profile(me) {
  $("who").textContent = me.email ? t("account.signedInAs", { email: me.email }) : "";
  $("first").value = me.firstName ?? "";
  $("last").value = me.lastName ?? "";
  if (me.language && $("language").querySelector(`[value="${CSS.escape(me.language)}"]`)) $("language").value = me.language;
  form("profile-form", async ({ firstName, lastName, language }) => {
    await call("PATCH", "/v2/user", { firstName, lastName, language }, { session: true });
    tell(t("account.saved"));
  });
}

export function password(me) {
  const has = Boolean(me.authData?.svc);
  $("password-form").hidden = !has;
  $("no-password").hidden = has;
  $("pw-user").value = me.email ?? "";
  const node = form("password-form", async ({ currentPassword, password }) => {
    await call("POST", "/v2/user/password", { currentPassword, password }, { session: true });
    node.reset();
    tell(t("account.passwordChanged"));
  }, (failure) => failure.code === "invalid_credentials" ? t("account.wrongPassword") : explain(failure));
}

export function remove() {
  $("delete-ask").addEventListener("click", async () => {
    const sure = await ask({ title: t("account.delete"), text: t("account.deleteSure"), ok: t("account.deleteAsk"), danger: true },
      () => call("DELETE", "/v2/user", undefined, { session: true }));
    if (sure) tell(t("account.deleteMailed"));
  });
}
