// One broker: what is set for it.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { shown } from "../parts.js";
import { settingsCard } from "../settings.js";
import { storyCard } from "../story.js";

export function title(query) {
  return `Broker ${query.get("broker") ?? ""}`;
}

export function draw(main, query, signal) {
  const broker = query.get("broker") ?? "";
  const holder = h("section", { class: "card" });
  put(main, h("div", { class: "head" }, h("div", {}, h("div", { class: "crumb" }, h("a", { href: "#/brokers" }, "Brokers")), h("h1", {}, `Broker ${broker}`))), holder, storyCard("broker", broker, signal));
  const asked = get("broker", { broker }, signal);
  const drawn = (all) => shown(holder, signal, () => asked, (found) => settingsCard(
    all ? "All settings" : "Set for this broker", found.configs, { all, toggle: drawn, own: "broker", nothing: ["Nothing is set for this broker", "Everything is as it is by default"] }));
  drawn(false);
}
