// Confirming an address with the link of the mail. A click does it, because some mail programs visit every link.
import { $, call, data, form, query, step } from "./common.js";

const token = query.get("token");

form("confirm", async ({ password }) => {
  try {
    await call("POST", "/v2/user/validate", { token, password: password || undefined });
  } catch (failure) {
    if (failure.type === "PasswordRequired" && $("prove").hidden) { // several people may have chosen one for this address
      $("prove").hidden = false;
      $("chosen").required = true;
      return $("chosen").focus();
    }
    if (failure.type !== "InvalidOrExpiredToken") throw failure;
    return step("again");
  }
  step("done");
});

form("again", async ({ email }) => {
  await call("POST", "/v2/user/validate", { email, language: data.lang });
  step("sent");
  $("h-sent").focus();
});

if (!token) step("again");
