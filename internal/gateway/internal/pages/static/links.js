// The accounts elsewhere that open this one.
import { $, call, data, explain, problem, query, t } from "./common.js";
import { ask, button, row, tell, when } from "./dialog.js";

export async function links() {
  const { providers } = await call("GET", "/v2/login/providers");
  $("links").hidden = $("nav-links").hidden = providers.length === 0;
  if (providers.length === 0) return;
  const name = (slug) => providers.find((provider) => provider.slug === slug)?.name || slug;
  const refresh = async () => {
    const linked = await call("GET", "/v2/user/links");
    $("link-list").replaceChildren(...providers.map(({ slug }) => {
      const link = linked.find((one) => one.provider === slug);
      return link ? row(name(slug), t("account.since", { when: when(link.createdAt) }),
        button(t("account.removeKey"), t("account.removeOne", { name: name(slug) }), () => drop(slug), "small danger")) :
        row(name(slug), t("account.notLinked"), button(t("account.linkAdd"), t("account.linkAddOne", { name: name(slug) }), () => add(slug)));
    }));
  };
  const add = async (provider) => {
    try {
      const { redirect } = await call("POST", "/v2/user/links", { provider }, { session: true });
      location.assign(redirect);
    } catch (failure) {
      problem($("link-problem"), explain(failure));
    }
  };
  const drop = async (slug) => {
    const sure = await ask({ title: t("account.removeOne", { name: name(slug) }), text: t("account.linkSure"), ok: t("account.removeKey"), danger: true },
      () => call("DELETE", `/v2/user/links/${encodeURIComponent(slug)}`, undefined, { session: true }));
    if (sure) await refresh();
  };
  const wrong = `error.${query.get("error") ?? ""}`;
  if (data.words[wrong]) problem($("link-problem"), t(wrong));
  if (query.get("linked")) tell(t("account.linked", { name: name(query.get("linked")) }));
  await refresh();
}
