// Where the account is signed in, and its access tokens.
import { $, call, form, go, t } from "./common.js";
import { ask, button, row, tell, when } from "./dialog.js";

const DAY = 24 * 60 * 60 * 1000;

export async function sessions() {
  const refresh = async () => {
    const all = await call("GET", "/v2/user/sessions");
    $("session-list").replaceChildren(...all.map((session) => {
      const name = session.agent ? brief(session.agent) : t("account.unknown");
      const here = session.current;
      const note = [here ? t("account.here") : t("account.seen", { when: when(session.seenAt) }), session.address].filter(Boolean).join(" · ");
      return here ? row(name, note) : row(name, note, button(t("account.end"), t("account.endOne", { name }), async () => {
        await call("DELETE", `/v2/user/sessions/${encodeURIComponent(session.id)}`, undefined, { session: true });
        tell(t("account.ended"));
        await refresh();
      }));
    }));
  };
  $("sessions-end").addEventListener("click", async () => {
    const sure = await ask({ title: t("account.sessionsEnd"), text: t("account.sessionsSure"), ok: t("account.sessionsEnd"), danger: true },
      () => call("DELETE", "/v2/user/sessions", undefined, { session: true }));
    if (sure) await go("/signedout");
  });
  await refresh();
}

// brief is what people call a browser and its system.
function brief(agent) {
  const find = (...names) => names.find(([part]) => agent.includes(part))?.[1];
  const browser = find(["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]);
  const system = find(["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["Mac OS", "macOS"], ["Windows", "Windows"], ["Linux", "Linux"]);
  return [browser, system].filter(Boolean).join(" · ") || agent.slice(0, 60);
}

export async function tokens() {
  const refresh = async () => {
    const list = await call("GET", "/v2/user/accessTokens");
    $("token-list").replaceChildren(...list.map((token) => row(token.name, `${token.token} · ${t("account.until", { when: when(token.expiresAt) })}`,
      button(t("account.removeKey"), t("account.removeOne", { name: token.name }), () => drop(token), "small danger"))));
  };
  const drop = async (token) => {
    const sure = await ask({ title: t("account.removeOne", { name: token.name }), text: t("account.tokenSure"), ok: t("account.removeKey"), danger: true },
      () => call("DELETE", `/v2/user/accessTokens/${encodeURIComponent(token.id)}`, undefined, { session: true }));
    if (sure) await refresh();
  };
  const node = form("token-form", async ({ name, days }) => {
    const made = await call("POST", "/v2/user/accessTokens", { name, expiresAt: new Date(Date.now() + days * DAY - 60_000).toISOString() }, { session: true });
    $("token-value").textContent = made.token;
    $("token-made").hidden = false;
    node.reset();
    await refresh();
  });
  $("token-copy").addEventListener("click", async ({ currentTarget }) => {
    await navigator.clipboard.writeText($("token-value").textContent);
    currentTarget.textContent = t("common.copied");
  });
  await refresh();
}
