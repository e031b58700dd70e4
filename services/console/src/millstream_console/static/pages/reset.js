// Offsets moved: first what would happen, then, if that is what was wanted, done; and taken back.

import { Failure, post } from "../api.js";
import { h, replace } from "../dom.js";
import { count, plural } from "../format.js";
import { dialog, empty, note, notice, table, titleOf } from "../parts.js";

const MOVES = { earliest: "the beginning", latest: "the end", time: "a time", offset: "an offset", shift: "by so many records" };

export function resetDialog(group, done) {
  const kind = h("select", { onchange: changed }, Object.entries(MOVES).map(([key, text]) => h("option", { value: key }, text)));
  const at = h("input", { oninput: stale });
  const atLabel = h("label", { hidden: true }, "", at);
  const topic = h("input", { placeholder: "all that it has read", autocomplete: "off", oninput: stale });
  const plan = h("div", {});
  let seen = false;
  const asked = (execute) => ({ group, to: kind.value, at: value(), topic: topic.value.trim() || null, execute });

  function value() {
    if (kind.value === "time") return new Date(at.value).getTime();
    return kind.value === "offset" || kind.value === "shift" ? Number(at.value) : null;
  }

  function changed() {
    atLabel.hidden = kind.value === "earliest" || kind.value === "latest";
    atLabel.firstChild.textContent = { time: "Time (local)", offset: "Offset", shift: "Records, negative to read again" }[kind.value] ?? "";
    at.type = kind.value === "time" ? "datetime-local" : "number";
    at.step = "1";
    at.value = "";
    stale();
  }

  function stale() {
    seen = false;
    replace(plan);
    label();
  }

  function label() {
    const going = kind.form?.querySelector("[type=submit]");
    if (going) going.textContent = seen ? "Move the offsets" : "Show what would happen";
  }

  const element = dialog(`Reset ${group}`, [h("div", { class: "pair" }, h("label", {}, "To", kind), atLabel), h("label", {}, "Topic", topic), plan], {
    action: "Show what would happen",
    submit: async () => {
      const answer = await post("group/reset", asked(seen));
      if (answer.executed) {
        note(`Moved ${plural(answer.changed, "partition")}`);
        done();
        return;
      }
      replace(plan, planned(answer));
      seen = answer.blocked_by.length === 0 && answer.changed > 0;
      label();
      return true;
    },
  });
  changed();
  return element;
}


function planned(answer) {
  return h("div", { class: "detail-grid" },
    answer.blocked_by.length > 0 && notice("warn", "It has members", `${answer.blocked_by.join(", ")} would commit where they are: stop them first`),
    h("p", { class: "muted" }, `${plural(answer.repeated, "record")} would be read again, ${count(answer.skipped)} skipped`),
    answer.rows.length === 0 ? empty("Nothing would change") : h("div", { class: "card plan" }, table([
      { title: "Topic", name: true, cell: (each) => each.topic },
      { title: "Partition", number: true, cell: (each) => String(each.partition) },
      { title: "From", number: true, cell: (each) => count(each.from) },
      { title: "To", number: true, cell: (each) => count(each.to) },
    ], answer.rows.slice(0, 200), "Plan")));
}

export async function undoDialog(group, done) {
  try {
    const answer = await post("group/undo", { group, execute: false });
    dialog(`Undo the reset of ${group}`, planned(answer), { action: "Move them back", submit: async () => {
      const undone = await post("group/undo", { group, execute: true });
      note(`Moved ${plural(undone.changed, "partition")} back`);
      done();
    } });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    note(`${titleOf(error)}: ${error.message}`, "bad");
  }
}

