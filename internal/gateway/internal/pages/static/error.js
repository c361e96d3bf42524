// Saying what went wrong, in words of ours: what stands in the address was written by somebody else.
import { $, query, t } from "./common.js";

const key = `error.${query.get("error") ?? ""}`;
if (t(key) !== key) $("why").textContent = t(key);
const id = query.get("correlation_id") ?? "";
if (/^[A-Za-z0-9-]{8,64}$/.test(id)) {
  $("reference").textContent = t("error.reference", { id });
  $("reference").hidden = false;
}
