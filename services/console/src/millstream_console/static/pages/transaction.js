// One transactional id: what its transaction has written to, how long it is open, and its end by force.

import { get, post, session } from "../api.js";
import { h, put } from "../dom.js";
import { count, duration, moment } from "../format.js";
import { badge, button, card, dialog, empty, note, place, repeat, shown, tile } from "../parts.js";
import { transactionState } from "./transactions.js";

export function title(query) {
  return query.get("id") ?? "Transaction";
}

export function draw(main, query, signal) {
  const id = query.get("id") ?? "";
  const actions = h("div", { class: "actions" });
  const holder = h("div", { class: "detail-grid" });
  const refresh = () => shown(holder, signal, () => get("transaction", { transactional_id: id }, signal), drawn);
  put(main, h("div", { class: "head" }, h("div", {}, h("div", { class: "crumb" }, h("a", { href: "#/transactions" }, "Transactions")), h("h1", {}, id)), actions), holder);
  if (!session.read_only) put(actions, button("Abort", () => abort(id, refresh), { kind: "danger" }));
  repeat(refresh, 4000, signal);
}

function drawn(found) {
  const late = found.open_ms !== null && found.open_ms > found.timeout_ms;
  return [
    h("dl", { class: "tiles" },
      tile("State", transactionState(found.state)),
      tile("Open for", found.started_ms === null ? "–" : duration(Math.max(0, found.open_ms)), { note: found.started_ms === null ? "no transaction is open" : `since ${moment(found.started_ms)}`, kind: late ? "warn" : "" }),
      tile("May be open for", duration(found.timeout_ms), { note: "then it is aborted" }),
      tile("Producer", count(found.producer_id), { note: `epoch ${found.producer_epoch}, coordinator ${found.coordinator}` })),
    card("Partitions that it has written to", { plain: found.partitions.length === 0 ? empty("None now") : h("div", { class: "body actions" },
      found.partitions.map((each) => h("a", { class: "badge", href: place("topic", { topic: each.replace(/-\d+$/, ""), partition: each.match(/\d+$/)[0] }) }, each)),
      found.partitions_total > found.partitions.length && badge(`and ${count(found.partitions_total - found.partitions.length)} more`)) }),
  ];
}

function abort(id, refresh) {
  dialog(`Abort the transaction of ${id}?`, [], { action: "Abort", kind: "danger", about: "What it has written stays unseen by readers of committed records. Its producer is fenced: it cannot go on and has to be started anew.", submit: async () => {
    await post("transaction/abort", { transactional_id: id });
    note(`Aborted ${id}`);
    refresh();
  } });
}
