// One topic: its messages, partitions and settings.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { badge, empty, listing, place, shown, tabs } from "../parts.js";
import { groupColumns } from "./groups.js";
import { drawMessages } from "./messages.js";
import { inSync } from "./topics.js";

const TABS = { messages: ["Messages", drawMessages], partitions: ["Partitions", drawPartitions], readers: ["Readers", drawReaders], settings: ["Settings", drawSettings] };

export function title(query) {
  return query.get("topic") ?? "Topic";
}

export function draw(main, query, signal) {
  const topic = query.get("topic") ?? "";
  const chosen = TABS[query.get("tab")] ? query.get("tab") : "messages";
  const summary = h("div", { class: "actions muted" });
  const body = h("div", { class: "detail-grid" });
  put(main,
    h("div", { class: "head" }, h("div", {}, h("div", { class: "crumb" }, h("a", { href: "#/topics" }, "Topics")), h("h1", {}, topic), summary)),
    tabs("Views of this topic", chosen, Object.entries(TABS).map(([key, [text]]) => [key, text, place("topic", { topic, tab: key === "messages" ? "" : key })])),
    body);
  const asked = shown(summary, signal, () => get("topic", { topic }, signal), (found) => [
    inSync(found), found.is_internal && badge("internal"),
    h("span", {}, plural(found.partitions, "partition")), h("span", {}, plural(found.replicas, "replica")),
    h("span", {}, bytes(found.bytes)), h("span", { class: "mono wide" }, found.topic_id),
  ]);
  TABS[chosen][1](body, topic, query, signal, asked);
}

function drawPartitions(body, topic, query, signal) {
  const nodes = (ids, all) => ids.map((id, index) => [index > 0 ? ", " : "", all && !all.includes(id) ? h("span", { class: "badge warn" }, String(id)) : String(id)]);
  put(body, listing({
    name: "Partitions", query, signal, placeholder: "Filter by number", size: 100,
    load: (state) => get("partitions", { topic, ...state }, signal),
    nothing: empty("There are no partitions"),
    columns: [
      { key: "partition", title: "Partition", cell: (each) => h("a", { href: place("topic", { topic, partition: each.partition }) }, String(each.partition)) },
      { key: "leader", title: "Leader", number: true, cell: (each) => each.leader === null ? badge("none", "bad") : String(each.leader) },
      { title: "Epoch", number: true, wide: true, cell: (each) => count(each.leader_epoch) },
      { title: "Replicas", cell: (each) => nodes(each.replicas, each.isr) },
      { key: "isr", title: "Replicas are", wide: true, cell: (each) => each.isr.length === each.replicas.length ? badge("in sync", "good") : badge(`${each.isr.length} of ${each.replicas.length}`, "warn") },
      { title: "First", number: true, wide: true, cell: (each) => count(each.first_offset) },
      { title: "End", number: true, cell: (each) => count(each.end_offset) },
      { title: "Size", number: true, cell: (each) => bytes(each.bytes) },
    ],
  }));
}

function drawReaders(body, topic, query, signal) {
  put(body, listing({
    name: "Readers", query, signal, placeholder: "Filter groups",
    load: (state) => get("readers", { topic, ...state }, signal),
    nothing: empty("No group has committed in this topic", "Looked at every ten seconds"),
    columns: groupColumns().filter((each) => each.key !== "type" && each.title !== "Topics").map((each) => ({ ...each, key: ["group", "lag"].includes(each.key) ? each.key : undefined })),
  }));
}

function drawSettings(body, topic, query, signal, asked) {
  const holder = h("section", { class: "card" });
  let all = query.get("all") === "true";
  put(body, holder);
  shown(holder, signal, async () => (await asked) ?? get("topic", { topic }, signal), (found) => {
    const rows = found.configs.filter((each) => all || each.is_set);
    return [
      h("header", {}, h("h2", {}, all ? "All settings" : "Set for this topic"), h("label", { class: "check" },
        h("input", { type: "checkbox", checked: all, onchange: (event) => {
          all = event.target.checked;
          body.replaceChildren();
          drawSettings(body, topic, new URLSearchParams(all ? "all=true" : ""), signal, asked);
        } }), "Defaults too")),
      rows.length === 0 ? empty("Nothing is set for this topic", "Everything is as the cluster has it by default") : settingsTable(rows),
    ];
  });
}

function settingsTable(rows) {
  return h("div", { class: "scroll" }, h("table", {}, h("caption", { class: "sr" }, "Settings"),
    h("thead", {}, h("tr", {}, ["Setting", "Value", "From"].map((each, index) => h("th", { scope: "col", class: index === 2 ? "wide" : null }, each)))),
    h("tbody", {}, rows.map((each) => h("tr", {},
      h("td", { class: "name" }, h("span", { class: "mono" }, each.name), each.documentation && h("div", { class: "muted wide" }, each.documentation)),
      h("td", { class: "mono name" }, each.is_sensitive ? "hidden" : each.value === null || each.value === "" ? "–" : each.value),
      h("td", { class: "wide" }, each.is_set ? badge("topic", "accent") : badge(each.source.replace(/_CONFIG$/, "").replaceAll("_", " ").toLowerCase())))))));
}

