// Making an account.
import { $, call, data, form, forget, go, query, start, step, t } from "./common.js";

form("signup", async ({ firstName, lastName, email, password }) => {
  const made = await call("POST", "/v2/signup", { firstName, lastName, email, password, language: data.lang });
  if (made.validation !== "auto") {
    $("done-lead").textContent = t(made.validation === "manual" ? "signup.manual" : "signup.mailed", { email });
    return step("done");
  }
  if (query.has("interaction")) return go(`/signin${location.search}`);
  const answer = await call("POST", "/v2/login", { email, password });
  forget();
  return go(answer.mfaRequired ? `/signin${location.search}` : data.return);
});

const ways = await call("GET", "/v2/login/providers");
$("signup").hidden = !ways.localSignup;
$("closed").hidden = ways.localSignup;
if (ways.localSignup) start("first");
