// Settings of a topic or a broker: those of its own, or all.

import { h } from "./dom.js";
import { badge, empty, scroller } from "./parts.js";

// all: whether the defaults are shown too; toggle(all) is called when somebody wants it the other way.
export function settingsCard(title, configs, { all, toggle, own, nothing }) {
  const rows = configs.filter((each) => all || each.is_set);
  return [
    h("header", {}, h("h2", {}, title), h("label", { class: "check" },
      h("input", { type: "checkbox", checked: all, onchange: (event) => toggle(event.target.checked) }), "Defaults too")),
    rows.length === 0 ? empty(...nothing) : scroller(h("table", {}, h("caption", { class: "sr" }, title),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), h("th", { scope: "col" }, "Value"), h("th", { scope: "col", class: "wide" }, "From"))),
      h("tbody", {}, rows.map((each) => h("tr", {},
        h("td", { class: "name" }, h("span", { class: "mono" }, each.name), each.documentation && h("div", { class: "muted wide" }, each.documentation)),
        h("td", { class: "mono name" }, each.is_sensitive ? "hidden" : each.value === null || each.value === "" ? "–" : each.value),
        h("td", { class: "wide" }, each.is_set ? badge(own, "accent") : badge(sourceOf(each.source)))))))),
  ];
}

function sourceOf(source) {
  return source.replace(/_CONFIG$/, "").replaceAll("_", " ").toLowerCase();
}
