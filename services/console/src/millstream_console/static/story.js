// What happened to one thing, and why: asked for when somebody looks, since all that the cluster remembers is read for it.

import { get } from "./api.js";
import { h } from "./dom.js";
import { clock, count, day, moment } from "./format.js";
import { button, empty, shown } from "./parts.js";

const HOUR_MS = 3600000;
const SINCE = [[HOUR_MS, "Last hour"], [24 * HOUR_MS, "Last day"], [7 * 24 * HOUR_MS, "Last week"]];

// about: topic, group, broker or cluster; name: which one.
export function storyCard(about, name, signal, title = "What happened") {
  let since_ms = 24 * HOUR_MS;
  const holder = h("div", { "aria-live": "polite" }, empty("Reading what the cluster remembers …"));
  const again = button("Look again", () => look(), { kind: "small" });
  async function look() {
    again.disabled = true;
    await shown(holder, signal, () => get("story", { about, name, since_ms }, signal), told);
    again.disabled = false;
  }
  const chosen = h("select", { onchange: (event) => { since_ms = Number(event.target.value); look(); } },
    SINCE.map(([ms, text]) => h("option", { value: ms, selected: ms === since_ms }, text)));
  look();
  return h("section", { class: "card story" },
    h("header", {}, h("h2", {}, title), h("label", {}, h("span", { class: "sr" }, "Since"), chosen), again), holder);
}

function told(answer) {
  const forgotten = answer.kept_since_ms && `The cluster remembers nothing of what was before ${moment(answer.kept_since_ms)}`;
  if (answer.rows.length === 0) {
    return answer.reason ? empty("That is not told here", answer.reason) : empty("Nothing happened", forgotten || "Look further back, if you expected something");
  }
  let last = "";
  return [
    h("ol", { class: "events" }, answer.rows.map((each) => {
      const today = day(each.time_ms);
      const heading = today === last ? null : h("li", { class: "day" }, h("h3", {}, today));
      last = today;
      return [heading, h("li", {},
        h("time", { class: "mono", datetime: new Date(each.time_ms).toISOString() }, clock(each.time_ms)),
        h("div", {}, h("p", {}, h("strong", {}, each.about), " ", each.what), each.why && h("p", { class: "muted" }, each.why)))];
    })),
    (answer.total > answer.rows.length || forgotten) && h("div", { class: "pager" }, h("span", {},
      [answer.total > answer.rows.length && `The newest ${count(answer.rows.length)} of ${count(answer.total)}`, forgotten].filter(Boolean).join(". "))),
  ];
}
