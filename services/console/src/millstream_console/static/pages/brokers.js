// Brokers: what each holds and leads, and how full its disks are.

import { get, post, session } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { badge, bar, button, card, dialog, empty, head, note, place, repeat, shown, table } from "../parts.js";
import { state } from "./overview.js";

export function title() {
  return "Brokers";
}

export function draw(main, query, signal) {
  const holder = h("div", { class: "detail-grid" });
  const refresh = () => shown(holder, signal, () => get("brokers", {}, signal), (answer) => drawn(answer, refresh));
  put(main, head("Brokers"), holder);
  repeat(refresh, 6000, signal);
}

function drawn(answer, refresh) {
  const most = Math.max(1, ...answer.rows.map((each) => each.leaders));
  return [
    card("Brokers", { plain: answer.rows.length === 0 ? empty("There is no broker") : table([
      { title: "Broker", cell: (each) => h("a", { href: place("broker", { broker: each.node_id }) }, `Broker ${each.node_id}`) },
      { title: "Address", name: true, wide: true, cell: (each) => [h("span", { class: "mono" }, each.address), each.is_controller && [" ", badge("controller", "accent")]] },
      { title: "Rack", wide: true, cell: (each) => each.rack ?? "–" },
      { title: "State", cell: state },
      { title: "Leads", cell: (each) => h("div", { class: "share" }, h("span", {}, count(each.leaders)), bar(each.leaders, most, `leads ${each.leaders}`)) },
      { title: "Replicas", number: true, wide: true, cell: (each) => count(each.replicas) },
      { title: "Behind", number: true, wide: true, cell: (each) => each.behind > 0 ? badge(count(each.behind), "warn") : "0" },
      { title: "Holds", number: true, cell: (each) => bytes(each.bytes) },
    ], answer.rows, "Brokers"), tools: [
      h("span", { class: "muted" }, answer.led_by_others === 0 ? "each partition is led by its preferred replica" : `${plural(answer.led_by_others, "partition")} led by another than the preferred replica`),
      answer.led_by_others > 0 && !session.read_only && button("Elect preferred leaders", () => elect(answer.led_by_others, refresh), { kind: "small" })] }),
    card("Disks", { plain: disks(answer.rows.flatMap((each) => each.directories)) }),
  ];
}

function disks(rows) {
  if (rows.length === 0) return empty("No broker says anything of its disks", "Whoever may not describe the cluster is not told");
  return table([
    { title: "Broker", cell: (each) => String(each.broker) },
    { title: "Directory", name: true, cell: (each) => h("span", { class: "mono" }, each.path) },
    { title: "State", wide: true, cell: (each) => each.is_failed ? badge("failed", "bad") : each.is_cordoned ? badge("cordoned", "warn") : badge("online", "good") },
    { title: "Replicas", number: true, wide: true, cell: (each) => count(each.replicas) },
    { title: "Holds", number: true, wide: true, cell: (each) => bytes(each.used_bytes) },
    { title: "Disk", cell: (each) => each.total_bytes === null ? "–" : h("div", { class: "share" },
      h("span", {}, `${bytes(each.usable_bytes)} free of ${bytes(each.total_bytes)}`), bar(each.total_bytes - each.usable_bytes, each.total_bytes, null, true)) },
  ], rows, "Disks");
}

function elect(number, refresh) {
  dialog("Elect preferred leaders?", [], { action: "Elect", about: `${plural(number, "partition")} would be led by the first of its replicas again, where that one is in sync. Clients find the new leaders by themselves.`, submit: async () => {
    const { elected } = await post("brokers/elect");
    note(`${plural(elected, "partition")} changed hands`);
    refresh();
  } });
}
