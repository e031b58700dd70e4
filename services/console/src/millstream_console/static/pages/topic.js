// One topic: its messages, partitions and settings.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { badge, empty, listing, place, shown, tabs } from "../parts.js";
import { settingsCard } from "../settings.js";
import { storyCard } from "../story.js";
import { groupColumns } from "./groups.js";
import { drawMessages } from "./messages.js";
import { inSync } from "./topics.js";

const TABS = { messages: ["Messages", drawMessages], partitions: ["Partitions", drawPartitions], readers: ["Readers", drawReaders], settings: ["Settings", drawSettings], happened: ["What happened", drawStory] };

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

function drawStory(body, topic, query, signal) {
  put(body, storyCard("topic", topic, signal));
}

function drawSettings(body, topic, query, signal, asked) {
  const holder = h("section", { class: "card" });
  put(body, holder);
  const drawn = (all) => shown(holder, signal, async () => (await asked) ?? get("topic", { topic }, signal), (found) => settingsCard(
    all ? "All settings" : "Set for this topic", found.configs,
    { all, toggle: drawn, own: "topic", nothing: ["Nothing is set for this topic", "Everything is as the cluster has it by default"] }));
  drawn(false);
}
