// One group: its members, how far behind it is in each partition and over time, and its offsets moved.

import { get, post, session } from "../api.js";
import { h, put } from "../dom.js";
import { count, duration, plural } from "../format.js";
import { badge, button, card, dialog, empty, note, place, repeat, shown, table, tile } from "../parts.js";
import { plot } from "../plot.js";
import { storyCard } from "../story.js";
import { KINDS, stateOf } from "./groups.js";
import { resetDialog, undoDialog } from "./reset.js";

const EVERY_MS = 5000;

export function title(query) {
  return query.get("group") ?? "Group";
}

export function draw(main, query, signal) {
  const group = query.get("group") ?? "";
  const badges = h("div", { class: "actions" });
  const actions = h("div", { class: "actions" });
  const facts = h("div", { class: "detail-grid" });
  const history = h("div", {});
  put(main,
    h("div", { class: "head" }, h("div", {}, h("div", { class: "crumb" }, h("a", { href: "#/groups" }, "Groups")), h("h1", {}, group), badges), actions),
    card("Lag over time", { body: history }), facts, storyCard("group", group, signal));
  if (!session.read_only) {
    put(actions, button("Reset offsets", () => resetDialog(group, refresh)), button("Undo reset", () => undoDialog(group, refresh)),
      button("Delete", () => deleteDialog(group), { kind: "danger" }));
  }

  async function refresh() {
    await shown(facts, signal, () => get("group", { group }, signal), (found) => {
      badges.replaceChildren();
      put(badges, badge(found.type, KINDS[found.type] ?? ""), stateOf(found), found.assignor && h("span", { class: "muted" }, found.assignor),
        h("span", { class: "muted" }, `coordinator ${found.coordinator}`));
      return drawn(found);
    });
    await shown(history, signal, () => get("group/history", { group }, signal), (found) => lagOf(found.points, group));
  }
  repeat(refresh, EVERY_MS, signal);
}

let kept = { group: null, last: 0, element: null };

// The plot is drawn anew only when a point came: who reads it with a pointer is not disturbed.
function lagOf(points, group) {
  if (points.length < 2) return empty("The plot begins with the next look", "Every ten seconds, for the last hour");
  const last = points.at(-1)[0];
  if (kept.group === group && kept.last === last) return kept.element;
  kept = { group, last, element: h("div", {}, plot(points.map(([time, lag]) => [time, lag]), { name: "Lag", unit: "records behind" }), rates(points)) };
  return kept.element;
}

function rates(points) {
  const [last, before] = [points.at(-1), points[Math.max(0, points.length - 7)]];
  const seconds = (last[0] - before[0]) / 1000;
  if (seconds <= 0) return null;
  const reads = (last[2] - before[2]) / seconds;
  const writes = (last[3] - before[3]) / seconds;
  const gains = reads - writes;
  const text = `Reads ${rate(reads)}, written ${rate(writes)}`;
  return h("p", { class: "muted" }, text, last[1] > 0 && gains > 0 ? `: caught up in about ${duration((last[1] / gains) * 1000)}` : last[1] > 0 && gains < -0.05 ? ": falling behind" : "");
}

function rate(value) {
  return `${Math.abs(value) < 10 ? value.toFixed(1) : count(Math.round(value))} a second`;
}

function drawn(found) {
  return [
    h("dl", { class: "tiles" },
      tile("Lag", count(found.lag), { note: found.lag === null ? "nothing was committed" : "records", kind: "" }),
      tile("Members", count(found.members_total), { note: found.is_empty ? "nobody reads now" : "read now" }),
      tile("Partitions", count(found.partitions_total), { note: plural(new Set(found.partitions.map((each) => each.topic)).size, "topic") })),
    card("Members", { plain: found.members.length === 0 ? empty("It has no members") : table([
      { title: "Client", name: true, cell: (each) => [h("strong", {}, each.client || "–"), h("div", { class: "muted mono wide" }, each.member)] },
      { title: "Instance", wide: true, cell: (each) => each.instance ?? "–" },
      { title: "Host", wide: true, cell: (each) => h("span", { class: "mono host" }, each.host) },
      { title: "Partitions", cell: (each) => [h("span", { class: "mono" }, each.partitions.slice(0, 12).join(", ") || "–"), each.partitions_total > 12 && ` and ${count(each.partitions_total - 12)} more`] },
    ], found.members, "Members"), tools: found.members_total > found.members.length && h("span", { class: "muted" }, `the first ${count(found.members.length)} of ${count(found.members_total)}`) }),
    card("Partitions", { plain: found.partitions.length === 0 ? empty("It has read nothing yet") : table([
      { title: "Topic", name: true, cell: (each) => h("a", { href: place("topic", { topic: each.topic }) }, each.topic) },
      { title: "Partition", number: true, cell: (each) => String(each.partition) },
      { title: found.type === "share" ? "Start" : "Committed", number: true, wide: true, cell: (each) => count(each.committed) },
      { title: "End", number: true, wide: true, cell: (each) => count(each.end) },
      { title: "Lag", number: true, cell: (each) => count(each.lag) },
      { title: "Read by", name: true, wide: true, cell: (each) => each.client ?? "–" },
    ], found.partitions, "Partitions"), tools: found.partitions_total > found.partitions.length && h("span", { class: "muted" }, `the ${count(found.partitions.length)} furthest behind of ${count(found.partitions_total)}`) }),
  ];
}

function deleteDialog(group) {
  const typed = h("input", { autocomplete: "off", required: true });
  dialog(`Delete ${group}?`, h("label", {}, "Type its name to delete it", typed), {
    action: "Delete", kind: "danger", about: "What it has read is forgotten. It cannot be undone.",
    submit: async () => {
      await post("group/delete", { group });
      note(`Deleted ${group}`);
      location.hash = "#/groups";
    },
  });
  const going = typed.form.querySelector("[type=submit]");
  going.disabled = true;
  typed.addEventListener("input", () => { going.disabled = typed.value !== group; });
}

