// Asking, confirming and telling, on the account page.
import { $, Failure, call, explain, problem, t } from "./common.js";

let timer;

// tell says briefly that something is done.
export function tell(text) {
  clearTimeout(timer);
  $("toast").textContent = text;
  $("toast").hidden = false;
  timer = setTimeout(() => { $("toast").hidden = true; }, 5000);
}

// ask shows a dialog. With a label it has a field, whose value is given to done; the dialog closes when done does not fail.
// It resolves to whether that happened.
export function ask({ title, text = "", label = "", type = "text", value = "", autocomplete = "off", ok, danger = false }, done) {
  const dialog = $("ask"), form = $("ask-form"), above = form.querySelector("[data-problem]"), input = $("ask-input");
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-field").hidden = !label;
  $("ask-field").querySelector("label").textContent = label;
  Object.assign(input, { type, value, autocomplete, required: Boolean(label) });
  $("ask-ok").textContent = ok;
  $("ask-ok").className = danger ? "danger" : "primary";
  problem(above);
  dialog.showModal();
  if (label) input.select();
  return new Promise((resolve) => {
    const close = (result) => {
      form.onsubmit = dialog.oncancel = $("ask-cancel").onclick = null;
      input.value = "";
      dialog.close();
      resolve(result);
    };
    $("ask-cancel").onclick = () => close(false);
    dialog.oncancel = () => close(false);
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (label && !input.value.trim()) return input.focus();
      try {
        await done(input.value);
        close(true);
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure;
        problem(above, failure.code === "invalid_credentials" ? t("account.wrongPassword") : explain(failure));
        input.select();
      }
    };
  });
}

// withPassword asks for the password and does something with it.
export const withPassword = (title, ok, done) =>
  ask({ title, text: t("account.confirmLead"), label: t("common.currentPassword"), type: "password", autocomplete: "current-password", ok }, done);

// confirmed does something; when the API wants to know that it is really you, it asks for the password and does it again.
export async function confirmed(action) {
  try {
    return await action();
  } catch (failure) {
    if (failure.type !== "ConfirmationRequired") throw failure;
  }
  const sure = await withPassword(t("account.confirm"), t("common.continue"),
    (currentPassword) => call("POST", "/v2/user/confirm", { currentPassword }, { session: true }));
  return sure ? action() : undefined;
}

// row is a line of a list: a name, a note, and buttons.
export function row(name, note, ...buttons) {
  const item = document.createElement("li"), what = document.createElement("div");
  what.className = "what";
  what.append(Object.assign(document.createElement("strong"), { textContent: name }), Object.assign(document.createElement("small"), { textContent: note }));
  item.append(what, ...buttons);
  return item;
}

export function button(text, label, action, kind = "small") {
  const node = Object.assign(document.createElement("button"), { type: "button", className: kind, textContent: text });
  node.setAttribute("aria-label", label);
  node.addEventListener("click", async () => {
    node.setAttribute("aria-busy", "true");
    try {
      await action();
    } catch (failure) {
      tell(explain(failure));
    } finally {
      node.setAttribute("aria-busy", "false");
    }
  });
  return node;
}

const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
export const when = (text) => format.format(new Date(text));
