// What the cluster is made of, how much is in it, and what is not well.

import { get, session } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { badge, card, empty, head, notice, place, repeat, shown, table, tile } from "../parts.js";

const EVERY_MS = 4000;
const NAMED = 6;

export function title() {
  return "Overview";
}

export function draw(main, query, signal) {
  const holder = h("div", { class: "detail-grid" });
  put(main, head("Overview"), holder);
  repeat(() => shown(holder, signal, () => get("overview", {}, signal), drawn), EVERY_MS, signal);
}

function drawn(answer) {
  const live = answer.brokers.filter((each) => !each.is_fenced).length;
  const troubled = answer.offline_partitions > 0 ? "bad" : answer.thin_partitions > 0 ? "warn" : "";
  return [
    answer.findings.length === 0
      ? notice("good", "Everything is well", `Cluster ${answer.cluster_id}, reached at ${session.bootstrap}`)
      : answer.findings.map(finding),
    h("dl", { class: "tiles" },
      tile("Brokers", `${live}`, { note: live === answer.brokers.length ? "all live" : `of ${answer.brokers.length}`, kind: live < answer.brokers.length ? "bad" : "" }),
      tile("Topics", count(answer.topics), { note: `and ${plural(answer.internal_topics, "internal one")}` }),
      tile("Partitions", count(answer.partitions), { note: plural(answer.replicas, "replica") }),
      tile("In sync", answer.thin_partitions === 0 ? "all" : count(answer.partitions - answer.thin_partitions),
        { note: answer.thin_partitions === 0 ? "partitions" : `${count(answer.thin_partitions)} are not, ${count(answer.offline_partitions)} without a leader`, kind: troubled }),
      tile("Stored", bytes(answer.stored_bytes), { note: `${bytes(answer.replicated_bytes)} with all copies` })),
    card("Brokers", { plain: brokers(answer.brokers) }),
  ];
}

function finding(each) {
  const named = each.where.slice(0, NAMED);
  const others = each.count - named.length;
  return notice("warn", `${sentence(each.what)}: ${count(each.count)}`,
    `${named.join(", ")}${others > 0 ? ` and ${count(others)} more` : ""}`, sentence(each.fix));
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}`;
}

export function state(broker) {
  if (broker.is_fenced) return badge("fenced", "bad");
  if (broker.is_silent) return badge("silent", "warn");
  return badge("live", "good");
}

function brokers(rows) {
  if (rows.length === 0) return empty("There is no broker");
  return table([
    { title: "Broker", cell: (each) => [h("a", { href: place("broker", { broker: each.node_id }) }, `Broker ${each.node_id}`), each.is_controller && [" ", badge("controller", "accent")]] },
    { title: "Address", name: true, wide: true, cell: (each) => h("span", { class: "mono" }, each.address) },
    { title: "Rack", wide: true, cell: (each) => each.rack ?? "–" },
    { title: "State", cell: state },
    { title: "Leads", number: true, cell: (each) => count(each.leaders) },
    { title: "Replicas", number: true, wide: true, cell: (each) => count(each.replicas) },
    { title: "Behind", number: true, wide: true, cell: (each) => count(each.behind) },
    { title: "Holds", number: true, cell: (each) => bytes(each.bytes) },
  ], rows, "Brokers");
}

