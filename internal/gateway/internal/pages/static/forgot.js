// A new password: asked for with an address, chosen with the link of the mail.
import { $, call, data, form, query, start, step } from "./common.js";

const token = query.get("token");

form("ask", async ({ email }) => {
  await call("POST", "/v2/user/password", { email, language: data.lang });
  step("sent");
  $("h-sent").focus();
});

form("new", async ({ password }) => {
  await call("POST", "/v2/user/password", { token, password });
  step("done");
});

if (token) step("new");
else start("email");
