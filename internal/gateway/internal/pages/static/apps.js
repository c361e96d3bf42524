// The applications of others that were let in.
import { $, call, t } from "./common.js";
import { ask, button, row, tell, when } from "./dialog.js";

export async function apps() {
  const refresh = async () => {
    const list = await call("GET", "/v2/user/consents");
    $("apps").hidden = $("nav-apps").hidden = list.length === 0;
    $("app-list").replaceChildren(...list.map((app) => row(app.name, `${app.scopes.map(can).join(" · ")} · ${t("account.appSince", { when: when(app.createdAt) })}`,
      button(t("account.removeKey"), t("account.removeOne", { name: app.name }), () => drop(app), "small danger"))));
  };
  const drop = async (app) => {
    const sure = await ask({ title: t("account.removeOne", { name: app.name }), text: t("account.appSure"), ok: t("account.removeKey"), danger: true },
      () => call("DELETE", `/v2/user/consents/${encodeURIComponent(app.clientId)}`, undefined, { session: true }));
    if (!sure) return;
    tell(t("account.appGone", { name: app.name }));
    await refresh();
  };
  await refresh();
}

// can says what a scope lets an application do.
function can(scope) {
  const known = t(`scope.${scope}`);
  return known === `scope.${scope}` ? scope : known;
}
