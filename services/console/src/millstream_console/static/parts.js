// What pages are made of: heads, tiles, tables in pages, tabs, dialogs, notes.

import { Failure } from "./api.js";
import { h, replace, svg } from "./dom.js";
import { count } from "./format.js";

// ---- places ----

// The address of a page: its name and what it is about.
export function place(name, query) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") parameters.set(key, value);
  }
  const text = parameters.toString();
  return `#/${name}${text ? `?${text}` : ""}`;
}

// Keeps what was chosen in the address, so that a reload or a bookmark finds it again; nothing is drawn anew.
export function remember(changes) {
  const [path, text] = location.hash.split("?");
  const parameters = new URLSearchParams(text ?? "");
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "" || value === 0) parameters.delete(key);
    else parameters.set(key, value);
  }
  const query = parameters.toString();
  history.replaceState(null, "", `${path || "#/"}${query ? `?${query}` : ""}`);
}

// ---- small parts ----

export function head(title, { crumb, badges, actions } = {}) {
  return h("div", { class: "head" },
    h("div", {}, crumb && h("div", { class: "crumb" }, crumb), h("h1", {}, title), badges && h("div", { class: "actions" }, badges)),
    actions && h("div", { class: "actions" }, actions));
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

export function tile(name, value, { note, kind = "" } = {}) {
  return h("div", { class: `tile ${kind}` }, h("dt", {}, name), h("dd", {}, value, note && h("small", {}, note)));
}

export function notice(kind, title, ...more) {
  return h("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : null },
    h("p", {}, h("strong", {}, title)), more.map((each) => h("p", { class: "muted" }, each)));
}

export function card(title, { tools, body, plain } = {}) {
  return h("section", { class: "card" }, h("header", {}, h("h2", {}, title), tools), plain ?? h("div", { class: "body" }, body));
}

export function empty(title, ...more) {
  return h("div", { class: "empty" }, h("p", {}, title), more.map((each) => h("p", {}, each)));
}

export function button(text, onclick, { kind = "", ...more } = {}) {
  return h("button", { type: "button", class: `button ${kind}`, onclick, ...more }, text);
}

export function tabs(label, chosen, items) {
  const element = h("nav", { class: "tabs", "aria-label": label },
    items.map(([key, text, target]) => h("a", { href: target, "aria-current": key === chosen ? "page" : null }, text)));
  requestAnimationFrame(() => element.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }));
  return element;
}

// full: whether much of it is a reason to worry.
export function bar(part, whole, label, full = false) {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  const inner = h("i", {});
  inner.style.width = `${(share * 100).toFixed(1)}%`;
  const kind = full && share > 0.95 ? "bad" : full && share > 0.85 ? "warn" : "";
  return h("div", { class: `bar ${kind}`, role: "img", "aria-label": label ?? `${Math.round(share * 100)} percent used` }, inner);
}

export function icon(...paths) {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, paths.map((d) => svg("path", { d })));
}

// ---- what happens over time ----

// Calls `work` now and then again after each `ms`, while the page is shown; failures are shown and do not end it.
export function repeat(work, ms, signal) {
  let timer;
  const round = async () => {
    if (!document.hidden) await work();
    if (!signal.aborted) timer = setTimeout(round, ms);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  return round();
}

// Fills `target` with what `draw` makes of an answer; says what went wrong instead.
export async function shown(target, signal, ask, draw) {
  try {
    const answer = await ask();
    if (!signal.aborted) replace(target, draw(answer));
    return answer;
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return undefined;
    if (!(error instanceof Failure)) throw error;
    replace(target, notice("bad", titleOf(error), error.message));
    return undefined;
  }
}

export function titleOf(error) {
  if (error.code === "UNREACHABLE") return "The cluster does not answer";
  if (error.status === 403) return "You may not see this";
  if (error.status === 404) return "There is no such thing";
  return "That did not work";
}

// ---- lists in pages ----

// columns: { key?, title, cell(row), number?, wide? }; with a key a column can be sorted by.
export function listing({ load, columns, query, signal, placeholder, tools = [], nothing, every = 10000, name = "list", size }) {
  const state = {
    filter: query.get("filter") ?? "", sort: query.get("sort") ?? "", page: Number(query.get("page") ?? 0) || 0, size,
  };
  const holder = h("div", {});
  const field = placeholder && h("label", { class: "grow" }, h("span", { class: "sr" }, placeholder),
    h("input", { type: "search", placeholder, value: state.filter, "data-filter": "", autocomplete: "off", spellcheck: "false",
      oninput: (event) => { state.filter = event.target.value; state.page = 0; later(); } }));
  let waiting;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 180); };
  const move = (changes) => { Object.assign(state, changes); return refresh(); };
  let asked = 0;

  async function refresh() {
    remember({ filter: state.filter, sort: state.sort, page: state.page });
    asked += 1;
    const mine = asked;
    const keep = focused(holder);
    await shown(holder, signal, () => load(state), (answer) => mine === asked ? drawn(answer) : [...holder.childNodes]);
    keep();
  }

  function drawn(answer) {
    state.page = answer.page;
    if (answer.rows.length === 0) {
      return answer.total > 0 && state.filter ? empty(`Nothing has “${state.filter}” in it`, `of ${count(answer.total)}`) : nothing;
    }
    return [
      scroller(h("table", {},
        h("caption", { class: "sr" }, name),
        h("thead", {}, h("tr", {}, columns.map(heading))),
        h("tbody", {}, answer.rows.map((row) => h("tr", { class: "link" },
          columns.map((column) => h("td", { class: classOf(column) }, column.cell(row)))))))),
      pager(answer),
    ];
  }

  function heading(column) {
    const current = state.sort.replace(/^-/, "") || columns.find((each) => each.key)?.key;
    const descending = state.sort.startsWith("-");
    const sort = column.key && column.key === current ? (descending ? "descending" : "ascending") : null;
    const flip = () => move({ page: 0, sort: sort === "ascending" ? `-${column.key}` : sort ? column.key : column.number ? `-${column.key}` : column.key });
    return h("th", { scope: "col", class: classOf(column), "aria-sort": sort },
      column.key ? h("button", { onclick: flip, "data-focus": `sort-${column.key}` }, column.title, sort ? (descending ? " ↓" : " ↑") : "") : column.title || h("span", { class: "sr" }, "actions"));
  }

  function pager(answer) {
    const first = answer.page * answer.size;
    const pages = Math.max(1, Math.ceil(answer.matching / answer.size));
    if (pages === 1) return answer.matching > 8 && h("div", { class: "pager" }, h("span", {}, count(answer.matching)));
    return h("div", { class: "pager" },
      h("span", {}, `${count(first + 1)}–${count(first + answer.rows.length)} of ${count(answer.matching)}`),
      button("Previous", () => move({ page: answer.page - 1 }), { kind: "small", disabled: answer.page === 0, "data-focus": "previous" }),
      button("Next", () => move({ page: answer.page + 1 }), { kind: "small", disabled: answer.page + 1 >= pages, "data-focus": "next" }));
  }

  const element = h("section", { class: "card" }, (field || tools.length > 0) && h("header", {}, field, tools), holder);
  element.refresh = refresh;
  repeat(refresh, every, signal);
  return element;
}

function classOf(column) {
  return [column.number && "num", column.wide && "wide", column.name && "name"].filter(Boolean).join(" ") || null;
}

// A table is drawn anew under whoever is in it: they keep their place.
function focused(holder) {
  const mark = holder.contains(document.activeElement) ? document.activeElement.dataset.focus ?? document.activeElement.getAttribute("href") : null;
  return () => {
    if (!mark || document.activeElement !== document.body) return;
    const again = [...holder.querySelectorAll("[data-focus], a[href]")].find((each) => each.dataset.focus === mark || each.getAttribute("href") === mark);
    again?.focus();
  };
}

// What is wider than its place is scrolled, by keys too.
export function scroller(element) {
  const holder = h("div", { class: "scroll" }, element);
  const look = () => {
    if (holder.scrollWidth > holder.clientWidth) holder.tabIndex = 0;
    else holder.removeAttribute("tabindex");
  };
  new ResizeObserver(look).observe(holder);
  return holder;
}

export function table(columns, rows, name) {
  return scroller(h("table", {}, h("caption", { class: "sr" }, name),
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: classOf(column) }, column.title)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((column) => h("td", { class: classOf(column) }, column.cell(row))))))));
}

// ---- notes and dialogs ----

export function note(text, kind = "") {
  const element = h("div", { class: `note ${kind}` }, text);
  document.getElementById("notes").append(element);
  setTimeout(() => element.remove(), kind === "bad" ? 9000 : 4000);
}

export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    note(what);
  } catch {
    note("This browser lets no page copy here: mark the text instead", "bad");
  }
}

// A form in a dialog; `submit` may throw a Failure, which is shown in it, or return true to stay.
export function dialog(title, fields, { action, kind = "primary", submit, about }) {
  const trouble = h("div", {});
  const going = h("button", { class: `button ${kind}`, type: "submit" }, action);
  const form = h("form", { method: "dialog", onsubmit: async (event) => {
    event.preventDefault();
    going.disabled = true;
    try {
      const stays = await submit();
      if (!stays) element.close();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      replace(trouble, notice("bad", titleOf(error), error.message));
    } finally {
      going.disabled = false;
    }
  } },
  h("h2", {}, title), about && h("p", { class: "muted" }, about), fields, trouble,
  h("div", { class: "actions" }, button("Cancel", () => element.close()), going));
  const element = h("dialog", { "aria-label": title, onclose: () => element.remove() }, form);
  document.body.append(element);
  element.showModal();
  return element;
}
