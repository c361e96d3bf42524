// What every page does: say things in the reader's language, call the API, send forms, change between steps.
export const data = JSON.parse(document.getElementById("data").textContent);
export const query = new URLSearchParams(location.search);
export const $ = (id) => document.getElementById(id);

// t is a text in the reader's language; {name} is replaced by its value.
export function t(key, values = {}) {
  return (data.words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

// Failure is an answer of the API that is an error.
export class Failure extends Error {
  constructor(status, body) {
    super(body?.message ?? "");
    this.status = status;
    this.code = body?.error ?? "";
    this.type = body?.details?.type ?? "";
    this.fields = body?.details?.errors ?? [];
  }
}

let csrf;

// call asks the API. A write in a session carries the token that GET /v2/me answers with; with a bearer it is that one's.
export async function call(method, path, body, { session = false, bearer } = {}) {
  const headers = {};
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (session && method !== "GET") headers["X-Svc-Csrf-Token"] = csrf ??= await token();
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Failure(0, { error: "offline" });
  }
  const seen = response.headers.get("x-svc-csrf-token");
  if (seen) csrf = seen;
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    throw new Failure(response.status, { error: "internal_error" });
  }
  if (!response.ok) throw new Failure(response.status, answer);
  return answer;
}

async function token() {
  const response = await fetch("/v2/me");
  return response.headers.get("x-svc-csrf-token") ?? "";
}

// forget makes the next write ask for its token anew, after the session has changed.
export function forget() {
  csrf = undefined;
}

// explain says in the reader's language what went wrong; where there are no words of ours, in those of the API.
export function explain(failure) {
  if (!(failure instanceof Failure)) throw failure;
  for (const key of [`error.${failure.type}`, `error.${failure.code}`]) {
    if (data.words[key]) return t(key);
  }
  return failure.message || t("error.internal_error");
}

// problem shows an error, or takes it away.
export function problem(node, text) {
  node.textContent = text ?? "";
  node.hidden = !text;
}

// form sends a form with send(values, button) instead of the browser. While it runs the form cannot be sent again; what is
// wrong is said at the field or above the form, and focus goes there.
export function form(id, send, says = explain) {
  const node = $(id);
  const above = node.querySelector("[data-problem]") ?? $("problem");
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (node.dataset.busy) return;
    clear(node);
    problem(above);
    if (!filled(node)) return;
    const button = event.submitter ?? node.querySelector("button:not([type=button])");
    busy(node, button, true);
    try {
      await send(Object.fromEntries(new FormData(node)), button);
    } catch (failure) {
      show(node, above, failure, says);
    } finally {
      busy(node, button, false);
    }
  });
  return node;
}

function busy(node, button, on) {
  if (on) node.dataset.busy = "yes";
  else delete node.dataset.busy;
  button?.setAttribute("aria-busy", String(on));
}

function clear(node) {
  for (const field of node.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    const hint = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((part) => part && part !== `${field.id}-wrong`).join(" ");
    if (hint) field.setAttribute("aria-describedby", hint);
    else field.removeAttribute("aria-describedby");
  }
  for (const message of node.querySelectorAll(".wrong")) message.remove();
}

function mark(field, text) {
  const message = document.createElement("p");
  message.className = "wrong";
  message.id = `${field.id}-wrong`;
  message.textContent = text;
  (field.closest(".reveal") ?? field).after(message);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${message.id} ${field.getAttribute("aria-describedby") ?? ""}`.trim());
}

// filled marks what the browser finds missing or malformed, and puts the focus on the first of it.
function filled(node) {
  const bad = [...node.elements].filter((field) => field.willValidate && !field.checkValidity());
  for (const field of bad) {
    const { valueMissing, typeMismatch, tooShort } = field.validity;
    mark(field, t(valueMissing ? "common.missing" : typeMismatch ? "common.notEmail" : tooShort ? "common.tooShort" : "common.malformed"));
  }
  bad[0]?.focus();
  return bad.length === 0;
}

function show(node, above, failure, says) {
  const text = says(failure);
  let first;
  for (const { field, message } of failure.fields ?? []) {
    const input = node.elements.namedItem(field.replace(/^body\./, ""));
    if (!(input instanceof HTMLElement)) continue;
    mark(input, failure.type === "InvalidPassword" ? text : message);
    first ??= input;
  }
  if (first) return first.focus();
  problem(above, text);
  const field = node.querySelector("input[name=totp], input[name=password], input[name=recoveryCode]");
  field?.focus();
  field?.select();
}

// step shows one of the page's sections and tells screen readers by moving the focus.
export function step(name) {
  for (const section of document.querySelectorAll("[id^=step-]")) section.hidden = section.id !== `step-${name}`;
  const section = $(`step-${name}`);
  (section.querySelector("input:not([hidden])") ?? section.querySelector("h1"))?.focus();
}

// start puts the focus into the field that is filled first, unless somebody is in a field already: what they type stays theirs.
export function start(id) {
  if (document.activeElement === document.body) $(id).focus();
}

// go leaves for another page; the form stays busy meanwhile.
export function go(path) {
  location.assign(path);
  return new Promise(() => {});
}

// local gives an address of this host only.
export function local(path, otherwise = "/account") {
  try {
    const url = new URL(path, location.origin);
    return url.origin === location.origin ? url.href : otherwise;
  } catch {
    return otherwise;
  }
}

for (const button of document.querySelectorAll("[data-reveal]")) {
  button.addEventListener("click", () => {
    const field = $(button.dataset.reveal);
    const shown = field.type === "password";
    field.type = shown ? "text" : "password";
    button.textContent = t(shown ? "common.hide" : "common.show");
    button.setAttribute("aria-pressed", String(shown));
    field.focus();
  });
}
