// All topics.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count } from "../format.js";
import { badge, empty, head, listing, place, remember } from "../parts.js";

export function title() {
  return "Topics";
}

export function draw(main, query, signal) {
  let internal = query.get("internal") === "true";
  const list = listing({
    name: "Topics", query, signal, placeholder: "Filter topics",
    tools: [h("label", { class: "check" }, h("input", { type: "checkbox", checked: internal, onchange: (event) => {
      internal = event.target.checked;
      remember({ internal: internal || "" });
      list.refresh();
    } }), "Internal topics")],
    load: (state) => get("topics", { ...state, internal }, signal),
    nothing: empty("There are no topics yet", "A client that writes makes one, or: millstream topic create NAME"),
    columns: [
      { key: "topic", title: "Topic", name: true, cell: (each) => [h("a", { href: place("topic", { topic: each.topic }) }, each.topic), each.is_internal && [" ", badge("internal")]] },
      { key: "partitions", title: "Partitions", number: true, wide: true, cell: (each) => count(each.partitions) },
      { key: "replicas", title: "Replicas", number: true, wide: true, cell: (each) => count(each.replicas) },
      { key: "thin", title: "Replicas are", cell: inSync },
      { key: "bytes", title: "Size", number: true, cell: (each) => bytes(each.bytes) },
    ],
  });
  put(main, head("Topics"), list);
}

export function inSync(topic) {
  if (topic.offline > 0) return badge(`${count(topic.offline)} offline`, "bad");
  if (topic.thin > 0) return badge(`${count(topic.thin)} behind`, "warn");
  return badge("in sync", "good");
}
