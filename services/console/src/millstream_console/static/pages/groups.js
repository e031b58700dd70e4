// All groups: classic, consumer and share.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";
import { badge, empty, head, listing, place, remember } from "../parts.js";

export const KINDS = { classic: "", consumer: "accent", share: "warn" };

export function title() {
  return "Groups";
}

export function draw(main, query, signal) {
  let type = query.get("type") ?? "";
  const list = listing({
    name: "Groups", query, signal, placeholder: "Filter groups", every: 5000,
    tools: [h("label", {}, h("span", { class: "sr" }, "Type"), h("select", { onchange: (event) => {
      type = event.target.value;
      remember({ type });
      list.refresh();
    } }, [["", "All types"], ["classic", "Classic"], ["consumer", "Consumer"], ["share", "Share"]].map(([key, text]) => h("option", { value: key, selected: key === type }, text))))],
    load: (state) => get("groups", { ...state, type }, signal),
    nothing: empty("There are no groups", "One is there as soon as a consumer joins it"),
    columns: groupColumns(),
  });
  put(main, head("Groups"), list);
}

export function groupColumns() {
  return [
    { key: "group", title: "Group", name: true, cell: (each) => h("a", { href: place("group", { group: each.group }) }, each.group) },
    { key: "type", title: "Type", wide: true, cell: (each) => badge(each.type, KINDS[each.type] ?? "") },
    { key: "state", title: "State", cell: stateOf },
    { title: "Topics", number: true, wide: true, cell: (each) => count(each.topics) },
    { title: "Coordinator", number: true, wide: true, cell: (each) => String(each.coordinator) },
    { key: "lag", title: "Lag", number: true, cell: (each) => count(each.lag) },
  ];
}

export function stateOf(group) {
  const kind = group.state === "Stable" ? "good" : group.state === "Empty" || group.state === "Dead" ? "" : "warn";
  return badge(group.state.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(), kind);
}
