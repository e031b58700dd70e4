// The frame around every page: navigation, theme, keys, login; and which page an address means.

import { loadSession, onLoggedOut, post, session } from "./api.js";
import { h, replace, svg } from "./dom.js";
import { icons } from "./icons.js";
import { head, notice, titleOf } from "./parts.js";

// name: title in the navigation, its icon, the letter after g, the module that draws it
const PAGES = {
  overview: ["Overview", "overview", "o", () => import("./pages/overview.js")],
  topics: ["Topics", "topics", "t", () => import("./pages/topics.js")],
  groups: ["Groups", "groups", "r", () => import("./pages/groups.js")],
  transactions: ["Transactions", "transactions", "x", () => import("./pages/transactions.js")],
  brokers: ["Brokers", "brokers", "b", () => import("./pages/brokers.js")],
  happened: ["What happened", "happened", "h", () => import("./pages/happened.js")],
  rights: ["Access", "rights", "a", () => import("./pages/rights.js")],
};
// Pages of one thing, under the entry of all of them.
const BELOW = {
  topic: ["topics", () => import("./pages/topic.js")],
  group: ["groups", () => import("./pages/group.js")],
  transaction: ["transactions", () => import("./pages/transaction.js")],
  broker: ["brokers", () => import("./pages/broker.js")],
};

const main = document.getElementById("main");
const side = document.getElementById("side");
let leaving = new AbortController();

// ---- theme ----

const THEMES = ["system", "light", "dark"];

function theme() {
  const kept = localStorage.getItem("theme");
  return THEMES.includes(kept) ? kept : "system";
}

function applyTheme() {
  if (theme() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}

function nextTheme() {
  localStorage.setItem("theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  applyTheme();
  drawSide();
}

applyTheme();

// ---- navigation ----

function here() {
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  return [path || "overview", new URLSearchParams(text ?? "")];
}

function drawSide() {
  const [name] = here();
  const current = BELOW[name]?.[0] ?? name;
  side.hidden = false;
  replace(side,
    h("a", { class: "brand", href: "#/overview" }, mark(), "Millstream"),
    h("nav", { "aria-label": "Pages" }, Object.entries(PAGES).map(([key, [title, image]]) =>
      h("a", { href: `#/${key}`, "aria-current": key === current ? "page" : null }, icons[image](), title))),
    h("div", { class: "foot" },
      h("div", { class: "place" }, session.bootstrap.replaceAll(",", ", ")),
      session.read_only && h("div", {}, "read only"),
      h("div", { class: "row" },
        h("button", { class: "button small", onclick: nextTheme, title: "Light, dark, or as the system is" }, h("span", { class: "wide" }, "Theme: "), theme()),
        h("button", { class: "button small", onclick: showKeys, "aria-label": "Keyboard" }, "?")),
      session.user && h("div", { class: "row" }, h("span", { class: "user" }, session.user),
        h("button", { class: "button small", onclick: logOut }, "Log out"))));
  side.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function mark() {
  const line = (d, opacity) => svg("path", { d, opacity, fill: "none", "stroke-width": "2.6", "stroke-linecap": "round" });
  return svg("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" }, svg("rect", { width: 32, height: 32, rx: 7 }),
    line("M6 11c3.3-3.4 6.7-3.4 10 0s6.7 3.4 10 0", 1), line("M6 17c3.3-3.4 6.7-3.4 10 0s6.7 3.4 10 0", 0.75),
    line("M6 23c3.3-3.4 6.7-3.4 10 0s6.7 3.4 10 0", 0.5));
}

async function draw() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [name, query] = here();
  drawSide();
  const load = PAGES[name]?.[3] ?? BELOW[name]?.[1];
  if (!load) {
    document.title = "Not found · Millstream";
    replace(main, head("There is no such page"), h("p", {}, h("a", { href: "#/overview" }, "Overview")));
    return;
  }
  const page = await load();
  if (signal.aborted) return;
  replace(main);
  window.scrollTo(0, 0);
  document.title = `${page.title(query)} · Millstream`;
  page.draw(main, query, signal);
}

// ---- keys ----

let before = "";

function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const go = Object.entries(PAGES).find(([, [, , letter]]) => letter === event.key);
  if (before === "g" && go) location.hash = `#/${go[0]}`;
  else if (event.key === "/") {
    const field = document.querySelector("[data-filter]");
    if (field) {
      event.preventDefault();
      field.focus();
    }
  } else if (event.key === "?") showKeys();
  else if (event.key === "t" && before !== "g") nextTheme();
  before = event.key;
}

function showKeys() {
  const keys = [[["/"], "filter this list"], [["t"], "theme"], [["?"], "these keys"],
    ...Object.values(PAGES).map(([title, , letter]) => [["g", letter], title])];
  const element = h("dialog", { "aria-label": "Keyboard", onclose: () => element.remove() },
    h("form", { method: "dialog" }, h("h2", {}, "Keyboard"),
      h("dl", { class: "keys" }, keys.map(([letters, what]) => [
        h("dt", {}, letters.map((each, index) => [index > 0 ? " " : "", h("kbd", {}, each)])), h("dd", {}, what)])),
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Close"))));
  document.body.append(element);
  element.showModal();
}

// ---- login ----

function drawLogin() {
  leaving.abort();
  side.hidden = true;
  document.body.classList.add("alone");
  document.title = "Log in · Millstream";
  const user = h("input", { name: "user", autocomplete: "username", required: true });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const mechanism = h("select", { name: "mechanism" }, session.mechanisms.map((each) => h("option", { value: each }, each)));
  const trouble = h("div", {});
  const going = h("button", { class: "button primary", type: "submit" }, "Log in");
  replace(main, h("section", { class: "card login" }, h("form", { onsubmit: async (event) => {
    event.preventDefault();
    going.disabled = true;
    try {
      Object.assign(session, await post("login", { user: user.value, password: password.value, mechanism: mechanism.value }));
      start();
    } catch (error) {
      replace(trouble, notice("bad", error.status === 401 ? "User or password is wrong" : titleOf(error), error.status === 401 ? "" : error.message));
    } finally {
      going.disabled = false;
    }
  } },
  h("div", { class: "brand" }, mark(), "Millstream"), h("h1", {}, "Log in"), h("p", { class: "muted" }, `As a user of the cluster at ${session.bootstrap}`), trouble,
  h("label", {}, "User", user), h("label", {}, "Password", password),
  session.mechanisms.length > 1 && h("label", {}, "Mechanism", mechanism), going)));
  user.focus();
}

async function logOut() {
  Object.assign(session, await post("logout"));
  drawLogin();
}

// ---- start ----

function start() {
  if (session.needs_login) {
    drawLogin();
    return;
  }
  document.body.classList.remove("alone");
  draw();
}

onLoggedOut(async () => {
  await loadSession();
  if (session.needs_login) drawLogin();
});
window.addEventListener("hashchange", () => { if (!session.needs_login) draw(); });
document.addEventListener("keydown", onKey);
try {
  await loadSession();
  start();
} catch (error) {
  replace(main, notice("bad", "The console does not answer", error.message));
}
