// Who may log in, who may do what, and how much.

import { get, post, session } from "../api.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";
import { badge, button, dialog, empty, head, listing, note, place, tabs } from "../parts.js";

const TABS = { users: ["Users", drawUsers], acls: ["ACLs", drawAcls], quotas: ["Quotas", drawQuotas] };
const MECHANISMS = ["SCRAM-SHA-512", "SCRAM-SHA-256"];
const RESOURCES = ["topic", "group", "cluster", "transactional-id", "delegation-token", "user"];
const OPERATIONS = ["all", "read", "write", "create", "delete", "alter", "describe", "cluster-action", "describe-configs", "alter-configs", "idempotent-write", "create-tokens", "describe-tokens", "two-phase-commit"];
const QUOTAS = ["producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate"];
const KINDS = ["user", "client-id", "ip"];

export function title() {
  return "Access";
}

export function draw(main, query, signal) {
  const chosen = TABS[query.get("tab")] ? query.get("tab") : "users";
  const actions = h("div", { class: "actions" });
  const body = h("div", { class: "detail-grid" });
  put(main, h("div", { class: "head" }, h("div", {}, h("h1", {}, "Access")), actions),
    tabs("Views of access", chosen, Object.entries(TABS).map(([key, [text]]) => [key, text, place("rights", { tab: key === "users" ? "" : key })])), body);
  TABS[chosen][1](body, query, signal, session.read_only ? null : actions);
}

const options = (words, chosen) => words.map((each) => h("option", { value: each, selected: each === chosen }, each));

function remover(title, about, work, list) {
  return session.read_only ? "" : button("Remove", () => dialog(title, [], { action: "Remove", kind: "danger", about, submit: async () => {
    await work();
    note("Removed");
    list().refresh();
  } }), { kind: "small", "aria-label": title.replace("?", "") });
}

// ---- users ----

function drawUsers(body, query, signal, actions) {
  const list = listing({
    name: "Users", query, signal, placeholder: "Filter users",
    load: (state) => get("users", state, signal),
    nothing: empty("No user has a password here", "Certificates, tokens and PLAIN's users are not in this list"),
    columns: [
      { key: "user", title: "User", name: true, cell: (each) => h("strong", {}, each.user) },
      { title: "Mechanism", cell: (each) => badge(each.mechanism) },
      { title: "Iterations", number: true, wide: true, cell: (each) => count(each.iterations) },
      { title: "", number: true, cell: (each) => remover(`Remove ${each.user} (${each.mechanism})?`, "Who is connected stays so until the next login.", () => post("user/delete", each), () => list) },
    ],
  });
  put(body, list);
  if (!actions) return;
  put(actions, button("Set a password", () => {
    const user = h("input", { required: true, autocomplete: "off" });
    const password = h("input", { required: true, type: "password", autocomplete: "new-password" });
    const mechanism = h("select", {}, options(MECHANISMS));
    dialog("Set a password", [h("label", {}, "User, known or new", user), h("label", {}, "Password", password), h("label", {}, "Mechanism", mechanism)], { action: "Set", submit: async () => {
      await post("user/password", { user: user.value, password: password.value, mechanism: mechanism.value });
      note(`${user.value} can log in with it`);
      list.refresh();
    } });
  }, { kind: "primary" }));
}

// ---- ACLs ----

function drawAcls(body, query, signal, actions) {
  const named = (each) => each.resource === "cluster" ? "the cluster" : `${each.resource} ${each.name}${each.pattern === "prefixed" ? "…" : ""}`;
  const list = listing({
    name: "ACLs", query, signal, placeholder: "Filter ACLs",
    load: (state) => get("acls", state, signal),
    nothing: empty("There are no ACLs"),
    columns: [
      { key: "principal", title: "Who", name: true, cell: (each) => h("strong", {}, each.principal) },
      { key: "operation", title: "May", cell: (each) => [badge(each.permission === "allow" ? "may" : "must not", each.permission === "allow" ? "good" : "bad"), " ", each.operation] },
      { key: "resource", title: "With", name: true, cell: (each) => [h("span", { class: "muted" }, each.resource), " ", each.resource !== "cluster" && h("span", { class: "mono" }, each.name), each.pattern === "prefixed" && [" ", badge("prefix")]] },
      { title: "From", wide: true, cell: (each) => each.host === "*" ? "anywhere" : h("span", { class: "mono" }, each.host) },
      { title: "", number: true, cell: (each) => remover(`Remove this ACL of ${each.principal}?`, `${each.permission} ${each.operation} on ${named(each)}`, () => post("acl/delete", each), () => list) },
    ],
  });
  put(body, list);
  if (!actions) return;
  put(actions, button("Add an ACL", () => {
    const principal = h("input", { required: true, value: "User:", autocomplete: "off" });
    const permission = h("select", {}, options(["allow", "deny"]));
    const operation = h("select", {}, options(OPERATIONS, "read"));
    const resource = h("select", {}, options(RESOURCES));
    const name = h("input", { autocomplete: "off", placeholder: "* for all" });
    const pattern = h("select", {}, options(["literal", "prefixed"]));
    const host = h("input", { value: "*", required: true, autocomplete: "off" });
    dialog("Add an ACL", [h("label", {}, "Principal", principal),
      h("div", { class: "pair" }, h("label", {}, "Permission", permission), h("label", {}, "Operation", operation)),
      h("div", { class: "pair" }, h("label", {}, "Resource", resource), h("label", {}, "Its name", name)),
      h("div", { class: "pair" }, h("label", {}, "The name is", pattern), h("label", {}, "From host", host))], { action: "Add", submit: async () => {
      await post("acl/create", { principal: principal.value, permission: permission.value, operation: operation.value, resource: resource.value, name: name.value, pattern: pattern.value, host: host.value });
      note("Added");
      list.refresh();
    } });
  }, { kind: "primary" }));
}

// ---- quotas ----

function drawQuotas(body, query, signal, actions) {
  const list = listing({
    name: "Quotas", query, signal, placeholder: "Filter quotas",
    load: (state) => get("quotas", state, signal),
    nothing: empty("There are no quotas", "Everybody may take what there is"),
    columns: [
      { key: "of", title: "Whose", name: true, cell: (each) => Object.entries(each.entity).map(([kind, name], index) => [index > 0 ? " " : "", h("span", { class: "muted" }, kind), " ", name === null ? badge("default") : h("strong", {}, name)]) },
      { title: "Quotas", name: true, cell: (each) => Object.entries(each.values).sort().map(([key, value]) => h("div", {}, h("span", { class: "mono" }, key), " ", h("strong", {}, count(value)))) },
      { title: "", number: true, cell: (each) => remover("Remove these quotas?", Object.keys(each.values).join(", "), () => post("quota", { entity: each.entity, values: Object.fromEntries(Object.keys(each.values).map((key) => [key, null])) }), () => list) },
    ],
  });
  put(body, list);
  if (!actions) return;
  put(actions, button("Set a quota", () => {
    const kind = h("select", {}, options(KINDS));
    const name = h("input", { autocomplete: "off", placeholder: "nothing: the default" });
    const key = h("select", {}, options(QUOTAS));
    const value = h("input", { required: true, type: "number", min: 0, step: "any" });
    dialog("Set a quota", [h("div", { class: "pair" }, h("label", {}, "Of", kind), h("label", {}, "Its name", name)),
      h("label", {}, "Quota", key), h("label", {}, "Value (bytes a second, percent, or so many a second)", value)], { action: "Set", submit: async () => {
      await post("quota", { entity: { [kind.value]: name.value || null }, values: { [key.value]: Number(value.value) } });
      note("Set");
      list.refresh();
    } });
  }, { kind: "primary" }));
}
