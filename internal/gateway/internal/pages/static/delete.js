// Deleting an account with the link of the mail.
import { call, form, query, step } from "./common.js";

form("confirm", async () => {
  await call("POST", "/v2/user/delete", { token: query.get("token") ?? "" });
  step("done");
});
