// Makes the reference from /openapi.json. Every text of the document reaches the page as a text node or as the value of
// an attribute that cannot run, never as markup: whatever is written in it, it stays text.

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];

// The document, set once before anything is shown.
let spec = {};

// --- Elements

// el makes an element. Children are elements or text, in lists of any depth; what is absent is left out.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity).filter(Boolean));
  return node;
}

const byId = (id) => document.getElementById(id);
const span = (kind, text) => el("span", { class: kind }, text);
// code shows text as it is and other values as JSON; an empty text could not be seen without its quotes.
const code = (value, kind = "") => el("code", { class: kind }, typeof value === "string" ? value || '""' : JSON.stringify(value));
const codes = (list) => join(list.map((text) => code(text)), " ");
const join = (list, between) => list.flatMap((item, i) => (i ? [between, item] : [item]));

// prose shows paragraphs, with `code` between backticks: as much Markdown as descriptions use.
function prose(text = "") {
  return text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) =>
    el("p", {}, part.split(/`([^`]+)`/).map((piece, i) => (i % 2 ? code(piece) : piece))));
}

// table has explicit roles because the phone layout, which changes how rows and cells are displayed, takes them away.
function table(caption, heads, rows) {
  const cell = (content, i) => (i
    ? el("td", { role: "cell", "data-label": heads[i] }, content)
    : el("th", { role: "rowheader", scope: "row" }, content));
  return el("table", { role: "table" },
    el("caption", { class: "hidden" }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" },
      heads.map((head) => el("th", { role: "columnheader", scope: "col" }, head)))),
    el("tbody", { role: "rowgroup" }, rows.map((row) => el("tr", { role: "row" }, row.map(cell)))));
}

// codeBlock wraps long lines instead of scrolling: a box that scrolls needs a tab stop of its own, and prints badly.
function codeBlock(title, text, about) {
  const copy = el("button", { type: "button", class: "copy", "aria-label": `Copy ${title}: ${about}` }, "Copy");
  const shown = code(text);
  copy.addEventListener("click", async () => {
    copy.textContent = (await copyText(text, shown)) ? "Copied" : "Press Ctrl+C";
    copy.addEventListener("blur", () => { copy.textContent = "Copy"; }, { once: true });
  });
  return el("figure", { class: "code" }, el("figcaption", {}, title), copy, el("pre", {}, shown));
}

// copyText falls back to a selection, because browsers offer the clipboard only over HTTPS and on localhost.
async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(shown);
    return document.execCommand("copy");
  }
}

// Closed parts are made when they are opened: most never are, and a large document has very many.
const unopened = new Map();

function closed(summary, make) {
  const details = el("details", {}, el("summary", {}, summary));
  unopened.set(details, make);
  details.addEventListener("toggle", () => fill(details));
  return details;
}

function fill(details) {
  const make = unopened.get(details);
  unopened.delete(details);
  if (make) details.append(make());
}

// --- Reading the document

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// lookup follows a reference within the document. Only own properties count, so that no name reaches a prototype.
function lookup(reference) {
  return reference.replace(/^#\//, "").split("/").map((part) => decode(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((node, key) => (Object.hasOwn(Object(node), key) ? node[key] : undefined), spec);
}

// resolve gives a schema, parameter or response without references and with allOf folded in. What refers to itself ends.
function resolve(raw, seen = []) {
  if (raw === null || typeof raw !== "object") return {};
  if (typeof raw.$ref === "string") {
    if (seen.includes(raw.$ref)) return {};
    const { $ref, ...beside } = raw;
    return { ...resolve(lookup($ref), [...seen, $ref]), ...beside };
  }
  if (!raw.allOf) return raw;
  const { allOf, ...own } = raw;
  return [...allOf.map((part) => resolve(part, seen)), own].reduce((whole, part) => ({
    ...whole, ...part,
    properties: { ...whole.properties, ...part.properties },
    required: [...(whole.required ?? []), ...(part.required ?? [])],
  }), {});
}

const nameOf = (raw) => typeof raw?.$ref === "string" && decode(raw.$ref.split("/").pop());
const fieldsOf = (schema) => Object.entries(schema.properties ?? {});
const choicesOf = (schema) => schema.oneOf ?? schema.anyOf ?? [];
const isMap = (schema) => typeof schema.additionalProperties === "object";

function typesOf(schema) {
  if (schema.type) return [schema.type].flat();
  if (schema.properties || isMap(schema)) return ["object"];
  return schema.items ? ["array"] : [];
}

// typeName says in words what a value is. The depth ends lists of lists of themselves.
function typeName(raw, depth = 0) {
  if (depth > 4) return "…";
  const schema = resolve(raw);
  const names = typesOf(schema).map((type) => {
    if (type === "array") return `array of ${typeName(schema.items, depth + 1)}`;
    if (type !== "object") return schema.format ? `${type} (${schema.format})` : type;
    return isMap(schema) ? `map of ${typeName(schema.additionalProperties, depth + 1)}` : nameOf(raw) || "object";
  });
  if (!names.length) names.push(...choicesOf(schema).map((choice) => typeName(choice, depth + 1)));
  return names.join(" or ") || "any JSON";
}

function range(min, max, unit = "") {
  if (min === undefined) return max !== undefined && `at most ${max}${unit}`;
  if (max === undefined) return `at least ${min}${unit}`;
  return min === max ? `exactly ${min}${unit}` : `${min} to ${max}${unit}`;
}

// limitsOf lists what a value must keep to, and what each item of a list must; no deeper, for lists of themselves.
function limitsOf(schema, isItem = false) {
  return [
    schema.enum && ["one of ", codes(schema.enum)],
    schema.const !== undefined && ["always ", code(schema.const)],
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minimum, schema.maximum),
    schema.exclusiveMinimum !== undefined && `more than ${schema.exclusiveMinimum}`,
    schema.exclusiveMaximum !== undefined && `less than ${schema.exclusiveMaximum}`,
    schema.multipleOf && `a multiple of ${schema.multipleOf}`,
    range(schema.minItems, schema.maxItems, " items"),
    schema.uniqueItems && "no item twice",
    range(schema.minProperties, schema.maxProperties, " entries"),
    schema.pattern && ["matches ", code(schema.pattern), schema.patternDescription && ` (${schema.patternDescription})`],
    schema.additionalProperties === true && "other fields allowed",
    schema.readOnly && "read only",
    schema.writeOnly && "write only",
    ...(schema.items && !isItem ? limitsOf(resolve(schema.items), true).map((limit) => ["each: ", limit]) : []),
  ].filter(Boolean);
}

function limits(schema) {
  const list = limitsOf(schema);
  if (schema.default !== undefined) list.push(["default ", code(schema.default)]);
  return list.length > 0 && el("p", { class: "limits" }, join(list, " · "));
}

const marks = (required, deprecated) => [required && [" ", span("required", "required")], deprecated && [" ", span("deprecated", "deprecated")]];

// --- Schemas as trees

// inside gives what can be opened in a value: the fields of an object, or of the objects in a list or map, or choices.
// The names on the way there tell when a schema contains itself.
function inside(raw, above = []) {
  const schema = resolve(raw);
  const names = [...above, nameOf(raw)].filter(Boolean);
  if (names.length > new Set(names).size) return undefined;
  if (fieldsOf(schema).length || choicesOf(schema).some((choice) => inside(choice, names))) return { schema, names };
  if (schema.items) return inside(schema.items, names);
  return isMap(schema) ? inside(schema.additionalProperties, names) : undefined;
}

// fieldList puts what is required first.
function fieldList({ schema, names }) {
  const required = new Set(schema.required);
  const fields = fieldsOf(schema).sort(([a], [b]) => required.has(b) - required.has(a));
  if (!fields.length) return el("ul", { class: "fields" }, choicesOf(schema).map((raw, i) => field(`choice ${i + 1}`, raw, false, names)));
  return el("ul", { class: "fields" }, fields.map(([name, raw]) => field(name, raw, required.has(name), names)));
}

function field(name, raw, required, above) {
  const schema = resolve(raw);
  return el("li", {},
    el("p", { class: "signature" }, code(name, "name"), " ", span("type", typeName(raw)), marks(required, schema.deprecated)),
    prose(schema.description), limits(schema), nested(raw, name, above));
}

function nested(raw, name, above = []) {
  const found = inside(raw, above);
  if (!found) return inside(raw) && el("p", { class: "limits" }, "The same fields again.");
  const count = fieldsOf(found.schema).length;
  const summary = count ? `${count} field${count === 1 ? "" : "s"}` : `${choicesOf(found.schema).length} choices`;
  return closed([summary, span("hidden", ` of ${name}`)], () => fieldList(found));
}

function bodyView([mediaType, { schema }], name, open) {
  const found = inside(schema);
  return [
    el("p", { class: "signature" }, span("type", [typeName(schema), " · ", mediaType])),
    limits(resolve(schema)),
    open && found ? fieldList(found) : nested(schema, name),
  ];
}

// contentOf gives the JSON of a body, or else whatever comes first.
function contentOf(body) {
  const all = Object.entries(body?.content ?? {});
  return all.find(([type]) => /\bjson\b/.test(type)) ?? all[0];
}

// --- Examples

const EXAMPLES = {
  "date-time": "2026-01-31T09:30:00Z", date: "2026-01-31", time: "09:30:00Z", email: "ada@example.com", uri: "https://example.com",
  hostname: "example.com", uuid: "0197c2f4-6a3e-7c11-9d2b-3f5e8a1c4d70", ipv4: "192.0.2.1", ipv6: "2001:db8::1", byte: "QXRlbGllcg==",
};

// example makes a value of the right type and size; undefined where a schema contains itself.
function example(raw, requiredOnly = false, above = []) {
  const name = nameOf(raw);
  if (above.length > 8 || (name && above.includes(name))) return undefined;
  const schema = resolve(raw);
  const given = [schema.example, schema.examples?.[0], schema.const, schema.default, schema.enum?.[0]].find((value) => value !== undefined);
  if (given !== undefined) return given;
  const below = (part) => example(part, requiredOnly, [...above, name]);
  switch (typesOf(schema).find((type) => type !== "null")) {
    case "object": return exampleObject(schema, requiredOnly, below);
    case "array": return [below(schema.items)].filter((value) => value !== undefined);
    case "string": return EXAMPLES[schema.format] ?? "string".padEnd(Math.min(schema.minLength ?? 0, 64), "string").slice(0, schema.maxLength);
    case "integer": case "number": return Math.min(Math.max(1, schema.minimum ?? 1), schema.maximum ?? Infinity);
    case "boolean": return true;
  }
  return choicesOf(schema).length ? below(choicesOf(schema)[0]) : {};
}

function exampleObject(schema, requiredOnly, below) {
  const fields = fieldsOf(schema).filter(([name]) => !requiredOnly || schema.required?.includes(name));
  if (isMap(schema)) fields.push(["key", schema.additionalProperties]);
  return Object.fromEntries(fields.map(([name, raw]) => [name, below(raw)]).filter(([, value]) => value !== undefined));
}

const pretty = (value) => JSON.stringify(value, null, 2) ?? "";

function serverURL() {
  const given = spec.servers?.[0]?.url ?? "";
  return (URL.canParse(given, location.origin) ? new URL(given, location.origin).href : location.origin).replace(/\/+$/, "");
}

// Quoting keeps what the document says from becoming a command in the shell of whoever pastes the example.
const inDouble = (text) => String(text).replace(/["$`\\]/g, "\\$&");
const inSingle = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const variable = (name) => "$" + name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/\W/g, "_").toUpperCase();

// curl is the shortest request that can work: what is required and a credential.
function curl(op) {
  const required = (where) => op.parameters.filter((parameter) => parameter.in === where && parameter.required);
  const path = op.path.split(/\{([^}]+)\}/).map((part, i) => (i % 2 ? variable(part) : inDouble(part))).join("");
  const query = required("query").map(({ name, schema }) => `${encodeURIComponent(name)}=${encodeURIComponent(example(schema))}`).join("&");
  const content = contentOf(op.body);
  const method = op.method === (content ? "POST" : "GET") ? "" : `--request ${op.method} `; // the others are what curl does anyway
  return [
    `curl ${method}"${inDouble(serverURL())}${path}${query && "?"}${query}"`,
    credential(op),
    ...required("header").map(({ name, schema }) => `--header "${inDouble(name)}: ${inDouble(example(schema))}"`),
    content && `--header "Content-Type: ${inDouble(content[0])}"`,
    content && `--data ${inSingle(pretty(smallest(content)).replaceAll("\n", "\n  "))}`,
  ].filter(Boolean).join(" \\\n  ");
}

// smallest is a body with the required fields; with none of them required it would show nothing, so then with all.
function smallest([, { schema }]) {
  const value = example(schema, true);
  return Object.keys(Object(value)).length ? value : example(schema);
}

function credential(op) {
  const [name] = Object.keys(op.security[0] ?? {});
  const scheme = schemeOf(name);
  if (scheme.type === "apiKey") {
    return scheme.in === "cookie" ? `--cookie "${inDouble(scheme.name)}=$TOKEN"` : `--header "${inDouble(scheme.name)}: $API_KEY"`;
  }
  return name && '--header "Authorization: Bearer $TOKEN"';
}

// --- Operations

function listOperations() {
  const taken = new Set();
  return Object.entries(spec.paths ?? {}).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => {
    const op = item[method];
    return {
      ...op, path, method: method.toUpperCase(),
      id: uniqueId(op.operationId || `${method}${path}`, taken),
      title: op.summary || op.operationId || path,
      tag: op.tags?.[0] ?? "Other",
      parameters: [...(item.parameters ?? []), ...(op.parameters ?? [])].map((parameter) => resolve(parameter)),
      body: resolve(op.requestBody),
      responses: Object.entries(op.responses ?? {}).map(([status, response]) => ({ ...resolve(response), status })),
      security: op.security ?? spec.security ?? [],
    };
  }));
}

// uniqueId keeps deep links apart when an operation is called like another one or like a part of this page.
function uniqueId(wanted, taken) {
  let id = wanted;
  for (let n = 2; taken.has(id) || byId(id); n++) id = `${wanted}-${n}`;
  taken.add(id);
  return id;
}

// groupByTag keeps the order in which the document lists its tags, then that of the paths.
function groupByTag(operations) {
  const groups = new Map((spec.tags ?? []).map((tag) => [tag.name, { ...tag, operations: [] }]));
  for (const op of operations) {
    if (!groups.has(op.tag)) groups.set(op.tag, { name: op.tag, operations: [] });
    groups.get(op.tag).operations.push(op);
  }
  return [...groups.values()].filter((group) => group.operations.length);
}

const linkTo = (op) => `#${encodeURIComponent(op.id)}`;
const badge = (method) => el("span", { class: "method", "data-method": method }, method);

function operationView(op) {
  const heading = `docs-heading-${op.id}`;
  const path = op.path.split(/(\{[^}]+\})/).map((part, i) => (i % 2 ? span("variable", part) : part));
  return el("article", { id: op.id, class: "operation", "aria-labelledby": heading },
    el("header", {},
      el("h3", { id: heading }, el("a", { href: linkTo(op) }, op.title), marks(false, op.deprecated)),
      el("p", { class: "endpoint" }, badge(op.method), " ", el("code", {}, path)),
      accessView(op), prose(op.description)),
    el("div", { class: "columns" },
      el("div", {}, parametersView(op), requestView(op), responsesView(op)),
      el("div", { class: "examples" }, examplesView(op))));
}

const schemeOf = (name) => resolve(spec.components?.securitySchemes?.[name]);

// accessView says who may call: alternatives are joined by "or", what is needed together by "and".
function accessView(op) {
  const credentialName = (name) => {
    const scheme = schemeOf(name);
    return scheme.type === "apiKey" ? [code(scheme.name), ` ${scheme.in}`] : `${scheme.scheme ?? name} token`;
  };
  const ways = op.security.map((together) => join(Object.keys(together).map(credentialName), " and "));
  const open = ways.every((way) => !way.length);
  return el("p", { class: "access" },
    op["x-policy"] && [span("policy", op["x-policy"]), " "],
    open ? "No credential needed" : ["Needs a ", el("a", { href: "#authentication" }, join(ways, " or "))]);
}

function parametersView(op) {
  return op.parameters.length > 0 && [
    el("h4", {}, "Parameters"),
    table(`Parameters of ${op.title}`, ["Name", "In", "Type", "Description"], op.parameters.map((parameter) => {
      const schema = resolve(parameter.schema);
      return [
        [code(parameter.name, "name"), marks(parameter.required, parameter.deprecated)],
        parameter.in,
        [span("type", typeName(parameter.schema)), limits(schema)],
        prose(parameter.description ?? schema.description),
      ];
    })),
  ];
}

function requestView({ body }) {
  const content = contentOf(body);
  return content && [
    el("h4", {}, "Request body", body.required ? marks(true) : span("optional", " optional")),
    prose(body.description), bodyView(content, "the request body", true),
  ];
}

// responsesView puts errors into one small table: they share a shape, and only their codes tell them apart.
function responsesView(op) {
  const errors = op.responses.filter((response) => response["x-error-codes"]);
  return [
    el("h4", {}, "Responses"),
    op.responses.filter((response) => !errors.includes(response)).map(responseView),
    errors.length > 0 && table(`Errors of ${op.title}`, ["Status", "Error codes"],
      errors.map((response) => [statusView(response), [codes(response["x-error-codes"]), unusualBody(response)]])),
  ];
}

// statusView leaves out of the description the codes that are shown beside it.
function statusView({ status, description = "", "x-error-codes": names }) {
  const text = names ? description.replace(`: ${names.join(", ")}.`, "") : description;
  return [el("span", { class: "status", "data-class": status[0] }, status), " ", text];
}

function responseView(response) {
  const content = contentOf(response);
  const headers = Object.entries(response.headers ?? {}).map(([name, raw]) => {
    const header = resolve(raw);
    const text = header.description ?? resolve(header.schema).description;
    return el("li", {}, "Header ", code(name), text && `: ${text}`);
  });
  return el("div", { class: "response" },
    el("p", {}, statusView(response), !content && " – without a body"),
    content && bodyView(content, `the ${response.status} response`),
    el("ul", { class: "headers" }, headers));
}

// unusualBody shows the schema of an error that does not have the shape described in the introduction.
function unusualBody(response) {
  const content = contentOf(response);
  return content && nameOf(content[1].schema) !== "Error" && bodyView(content, `the ${response.status} response`);
}

function examplesView(op) {
  const request = contentOf(op.body);
  const whole = request && pretty(example(request[1].schema));
  const success = op.responses.find(({ status }) => status.startsWith("2"));
  const response = contentOf(success);
  return [
    el("h4", {}, "Examples"),
    codeBlock("curl", curl(op), op.title),
    whole && whole !== pretty(smallest(request)) && codeBlock("Body with every field", whole, op.title),
    response && codeBlock(`Response ${success.status}`, pretty(example(response[1].schema)), op.title),
  ];
}

// --- The page

function slot(name, ...content) {
  for (const place of document.querySelectorAll(`[data-slot=${name}]`)) place.replaceChildren(...content.flat(Infinity).filter(Boolean));
}

function showIntroduction(operations) {
  const { title = "API", version = "", description, license } = spec.info ?? {};
  document.title = `${title} API reference`;
  slot("title", title);
  slot("facts", [`Version ${version}`, `OpenAPI ${spec.openapi}`, license?.name].filter(Boolean).join(" · "));
  slot("description", prose(description));
  slot("server", "Base address ", code(serverURL()), " · ", el("a", { href: "/openapi.json" }, "openapi.json"));
  slot("credentials", signInExamples(operations));
  slot("schemes", table("Credentials", ["Credential", "Sent as", "What it is"],
    Object.entries(spec.components?.securitySchemes ?? {}).map(([name, scheme]) => [name, sentAs(scheme), prose(scheme.description)])));
  const shape = inside(spec.components?.schemas?.Error);
  slot("error", shape && closed("Every field of an error", () => fieldList(shape)));
  slot("codes", codesTable(operations));
}

function sentAs({ type, name, in: place, scheme = "" }) {
  if (type === "apiKey") return place === "cookie" ? ["Cookie ", code(name)] : code(`${name}: …`);
  return code(`Authorization: ${scheme.replace("bearer", "Bearer")} …`);
}

function signInExamples(operations) {
  const [signIn, whoAmI] = ["signIn", "getMe"].map((id) => operations.find((op) => op.operationId === id));
  return [
    signIn && codeBlock("Sign in", `TOKEN=$(${curl(signIn).replace("curl", "curl --silent")} |\n  jq --raw-output .token)`, "with curl"),
    whoAmI && codeBlock("Use the token", curl(whoAmI), "with curl"),
  ];
}

function codesTable(operations) {
  const rows = new Map();
  for (const response of operations.flatMap((op) => op.responses)) {
    const names = response["x-error-codes"];
    if (!names) continue;
    const row = rows.get(response.status) ?? { view: statusView(response), names: new Set() };
    names.forEach((name) => row.names.add(name));
    rows.set(response.status, row);
  }
  return table("Error codes by status", ["Status", "Error codes"],
    [...rows].sort().map(([, { view, names }]) => [view, codes([...names].sort())]));
}

function showOperations(groups) {
  byId("docs-operations").replaceChildren(...groups.map(({ name, description, operations }, i) =>
    el("section", { class: "tag", "aria-labelledby": `docs-tag-${i}` },
      el("h2", { id: `docs-tag-${i}` }, name), prose(description), operations.map(operationView))));
}

// --- Navigation

function showNavigation(groups) {
  const lists = groups.map(({ name, operations }, i) => {
    const items = operations.map((op) => ({
      words: [op.method, op.path, op.title, op.operationId, op.tag].join(" ").toLowerCase(),
      node: el("li", {}, el("a", { href: linkTo(op) }, span("", op.title), " ", badge(op.method))),
    }));
    const node = el("div", {}, el("p", { class: "group", id: `docs-group-${i}` }, name),
      el("ul", { "aria-labelledby": `docs-group-${i}` }, items.map((item) => item.node)));
    return { node, items };
  });
  byId("docs-groups").replaceChildren(...lists.map(({ node }) => node));
  enableFilter(lists);
  markCurrent();
}

// enableFilter shows the operations that have every word somewhere.
function enableFilter(lists) {
  const filter = byId("docs-filter");
  const total = lists.flatMap(({ items }) => items).length;
  let matches = [];
  const apply = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/);
    matches = lists.flatMap(({ node, items }) => {
      for (const item of items) item.node.hidden = !wanted.every((word) => item.words.includes(word));
      node.hidden = items.every((item) => item.node.hidden);
      return items.filter((item) => !item.node.hidden);
    });
    byId("docs-count").textContent = matches.length === total ? `${total} operations` : `${matches.length} of ${total} operations`;
  };
  filter.addEventListener("input", apply);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") matches[0]?.node.querySelector("a").click();
    if (event.key !== "Escape" || !filter.value) return;
    event.stopPropagation(); // the first Escape clears, the next one closes the menu
    filter.value = "";
    apply();
  });
  apply();
}

// markCurrent follows the reader: the part at one line near the top of the window is marked in the navigation.
function markCurrent() {
  const links = new Map([...document.querySelectorAll("#docs-nav a")].map((link) => [decode(link.hash.slice(1)), link]));
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.id || "content");
      link.setAttribute("aria-current", isIntersecting ? "location" : "false");
      if (isIntersecting) link.scrollIntoView({ block: "nearest" });
    }
  }, { rootMargin: "-12% 0px -87%" });
  for (const part of document.querySelectorAll("main > header, main > section, .operation")) observer.observe(part);
}

// enableMenu opens and closes the navigation where there is no room for it beside the text.
function enableMenu() {
  const [menu, nav, filter] = ["docs-menu", "docs-nav", "docs-filter"].map(byId);
  const show = (open) => {
    menu.setAttribute("aria-expanded", open);
    nav.classList.toggle("open", open);
  };
  menu.addEventListener("click", () => show(!nav.classList.contains("open")));
  nav.addEventListener("click", (event) => event.target.closest("a") && show(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && nav.classList.contains("open")) {
      show(false);
      menu.focus();
    }
    if (event.key !== "/" || event.target === filter || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault(); // the slash itself is not what to filter for
    show(true);
    filter.focus();
  });
}

// enablePrinting opens everything on paper, where nobody can click, and closes it again.
function enablePrinting() {
  const opened = [];
  addEventListener("beforeprint", () => {
    for (let next; (next = document.querySelector("details:not([open])")); opened.push(next)) {
      next.open = true;
      fill(next);
    }
  });
  addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}

// --- Start

async function load() {
  const response = await fetch("/openapi.json").catch(() => { throw new Error("The server does not answer."); });
  if (!response.ok) throw new Error(`The server answered ${response.status} for /openapi.json.`);
  const loaded = await response.json();
  if (typeof loaded?.openapi !== "string") throw new Error("/openapi.json is not an OpenAPI document.");
  return loaded;
}

function showFailure(error) {
  const again = el("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => location.reload());
  byId("docs-state").replaceChildren(el("div", { class: "failure", role: "alert" },
    el("p", {}, el("strong", {}, "The API document could not be shown.")), el("p", {}, error.message), again));
}

async function start() {
  enableMenu();
  enablePrinting();
  try {
    spec = await load();
    const operations = listOperations();
    const groups = groupByTag(operations);
    showIntroduction(operations);
    showOperations(groups);
    showNavigation(groups);
    byId("docs-state").remove();
    // The browser looked for the linked part before it was made, so it is sent there again.
    if (location.hash) location.replace(location.hash);
  } catch (error) {
    showFailure(error);
  }
}

start();
