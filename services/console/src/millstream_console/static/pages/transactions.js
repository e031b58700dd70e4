// All transactional ids.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { badge, empty, head, listing, place } from "../parts.js";

export function title() {
  return "Transactions";
}

export function draw(main, query, signal) {
  put(main, head("Transactions"), listing({
    name: "Transactions", query, signal, placeholder: "Filter by id or state", every: 5000,
    load: (state) => get("transactions", state, signal),
    nothing: empty("There are no transactions", "A producer with a transactional.id has one"),
    columns: [
      { key: "transactional_id", title: "Transactional id", name: true, cell: (each) => h("a", { href: place("transaction", { id: each.transactional_id }) }, each.transactional_id) },
      { key: "state", title: "State", cell: (each) => transactionState(each.state) },
      { key: "producer_id", title: "Producer id", number: true, wide: true, cell: (each) => String(each.producer_id) },
      { title: "Coordinator", number: true, wide: true, cell: (each) => String(each.coordinator) },
    ],
  }));
}

export function transactionState(state) {
  const kind = state === "Ongoing" ? "accent" : state.startsWith("Prepare") ? "warn" : state === "CompleteCommit" ? "good" : "";
  return badge(state.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(), kind);
}
