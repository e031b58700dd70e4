// Messages of a topic: the newest, from an offset or a time, filtered, or as they come; one opened, copied, written.

import { address, get, post, session } from "../api.js";
import { h, put, replace } from "../dom.js";
import { bytes, clock, count, day, duration, moment, plural } from "../format.js";
import { layout } from "../json_text.js";
import { badge, button, copy, dialog, empty, note, notice, remember, scroller, shown } from "../parts.js";
import { command } from "../shell.js";

const ROWS_MAX = 500;
const PREVIEW = 300;
const FORMATS = ["string", "json", "int", "long", "float", "double", "hex", "base64", "null"];

export function drawMessages(body, topic, query, signal) {
  const asked = {
    partition: query.get("partition") ?? "", from: query.get("from") ?? "newest", at: query.get("at") ?? "",
    key: query.get("key") ?? "", value: query.get("value") ?? "", header: query.get("header") ?? "",
  };
  const view = { rows: [], goOn: null, scanned: 0, busy: false, stream: null, leftOut: 0 };
  const holder = h("div", {});
  const status = h("p", { class: "muted", role: "status" });
  const live = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: () => (view.stream ? stop() : follow()) }, h("span", { class: "live" }), "Live");
  const at = h("input", { value: asked.at, class: "mono", autocomplete: "off", onchange: (event) => choose({ at: event.target.value }) });
  const atLabel = h("label", {}, "Offset", at);
  const more = button("Search on", () => search(true));
  const foot = h("div", { class: "pager" }, h("span", {}, status), more);

  const input = (key, text) => h("label", { class: "grow" }, text,
    h("input", { type: "search", value: asked[key], autocomplete: "off", spellcheck: "false", "data-filter": key === "value" ? "" : null,
      onchange: (event) => choose({ [key]: event.target.value }) }));
  const from = h("select", { onchange: (event) => choose({ from: event.target.value, at: "" }) },
    [["newest", "Newest"], ["oldest", "Oldest"], ["offset", "From offset"], ["time", "From time"]].map(([key, text]) =>
      h("option", { value: key, selected: key === asked.from }, text)));
  put(body,
    h("section", { class: "card" },
      h("div", { class: "body tools" },
        h("label", {}, "Show", from), atLabel,
        h("label", {}, "Partition", h("input", { value: asked.partition, size: 5, inputmode: "numeric", placeholder: "all", autocomplete: "off", onchange: (event) => choose({ partition: event.target.value.trim() }) })),
        input("key", "Key contains"), input("value", "Value contains"), input("header", "Header contains"),
        h("div", { class: "actions" }, live, button("Refresh", () => search(false)),
          !session.read_only && button("Produce", () => produce(topic, asked.partition, () => { if (!view.stream) search(false); }), { kind: "primary" })))),
    h("section", { class: "card" }, holder, foot));
  signal.addEventListener("abort", () => view.stream?.close());

  function choose(changes) {
    Object.assign(asked, changes);
    remember(asked.from === "newest" ? { ...asked, from: "", at: "" } : asked);
    showAt();
    if (view.stream) follow();
    else if (!needsPlace()) search(false);
  }

  function showAt() {
    atLabel.hidden = asked.from !== "offset" && asked.from !== "time";
    atLabel.firstChild.textContent = asked.from === "time" ? "Time (local)" : "Offset";
    at.type = asked.from === "time" ? "datetime-local" : "text";
    at.step = "1";
    at.value = asked.at;
  }

  function needsPlace() {
    return (asked.from === "offset" || asked.from === "time") && asked.at === "";
  }

  function request() {
    const document = { topic, from: asked.from, key: asked.key, value: asked.value, header: asked.header };
    if (asked.partition !== "") document.partitions = [Number(asked.partition)];
    if (asked.from === "offset") document.at = Number(asked.at);
    if (asked.from === "time") document.at = new Date(asked.at).getTime();
    return document;
  }

  async function search(goOn) {
    if (view.busy) return;
    stop();
    view.busy = true;
    more.disabled = true;
    status.textContent = "Searching…";
    await shown(goOn ? h("div") : holder, signal, () => post("messages", { ...request(), go_on: goOn ? view.goOn : null }, signal), (answer) => {
      view.rows = goOn ? [...view.rows, ...answer.rows].slice(-ROWS_MAX) : answer.rows;
      view.scanned = goOn ? view.scanned + answer.scanned : answer.scanned;
      view.goOn = answer.go_on;
      replace(holder, list(answer.left_out_partitions));
      status.textContent = summary(answer);
      return [...holder.childNodes];
    });
    if (status.textContent === "Searching…") status.textContent = "";
    view.busy = false;
    more.disabled = false;
    more.hidden = view.goOn === null;
    more.textContent = asked.from === "newest" ? "Older" : "Newer";
  }

  function summary(answer) {
    const failed = Object.keys(answer.failed).length;
    return `${plural(view.rows.length, "message")}${view.scanned > view.rows.length ? ` of ${count(view.scanned)} looked at` : ""}`
      + `${view.goOn === null ? ", no more" : ""}${failed ? `; ${plural(failed, "partition")} did not answer` : ""}`;
  }

  function follow() {
    stop();
    view.rows = [];
    view.leftOut = 0;
    more.hidden = true;
    live.setAttribute("aria-pressed", "true");
    view.stream = new EventSource(address("messages/follow", { topic, partition: asked.partition, key: asked.key, value: asked.value, header: asked.header }));
    replace(holder, empty("Waiting for messages…", "What is written from now on comes here"));
    status.textContent = "Live";
    view.stream.onmessage = (event) => {
      const told = JSON.parse(event.data);
      if (told.error) {
        stop();
        replace(holder, notice("bad", "The topic can no longer be followed", told.error.message));
        return;
      }
      view.leftOut += told.left_out;
      if (told.rows.length > 0) {
        view.rows = [...told.rows.reverse(), ...view.rows].slice(0, ROWS_MAX);
        replace(holder, list(0));
      }
      status.textContent = `Live: ${plural(view.rows.length, "message")}${view.leftOut > 0 ? `, ${count(view.leftOut)} more came too fast to show` : ""}`;
    };
    view.stream.onerror = () => {
      if (view.stream?.readyState === EventSource.CLOSED) {
        stop();
        replace(holder, notice("bad", "The topic cannot be followed now", "Too many pages follow topics already, or the cluster does not answer"));
      } else status.textContent = "Connecting…";
    };
  }

  function stop() {
    view.stream?.close();
    view.stream = null;
    live.setAttribute("aria-pressed", "false");
  }

  // ---- the list ----

  const opened = new Set();

  function list(leftOut) {
    if (view.rows.length === 0) {
      const filtered = asked.key || asked.value || asked.header;
      return empty(filtered && view.goOn !== null ? "Nothing found so far" : filtered ? "No message has that in it" : "There are no messages here", filtered && view.goOn !== null ? `${count(view.scanned)} looked at: search on below` : "");
    }
    return [
      leftOut > 0 && notice("warn", `${plural(leftOut, "partition")} left out`, "Choose a partition to look into it"),
      scroller(h("table", { class: "messages" }, h("caption", { class: "sr" }, "Messages"),
        h("thead", {}, h("tr", {}, [["Time", ""], ["Partition", "num wide"], ["Offset", "num"], ["Key", "key"], ["Value", ""], ["Size", "num wide"]].map(([text, kind]) => h("th", { scope: "col", class: kind || null }, text)))),
        h("tbody", {}, view.rows.map(drawnRow)))),
    ];
  }

  function drawnRow(row) {
    const mark = `${row.partition}-${row.offset}`;
    const opener = h("button", { class: "open", "aria-expanded": String(opened.has(mark)), "data-focus": mark, onclick: toggle }, count(row.offset));
    const line = h("tr", { class: `${row.control ? "control" : ""} ${opened.has(mark) ? "opened" : ""}`, onclick: (event) => { if (!event.target.closest("button, a") && !String(getSelection())) toggle(); } },
      h("td", { class: "when", title: moment(row.timestamp) }, h("span", { class: "wide" }, row.timestamp === null ? "" : `${day(row.timestamp)} `), clock(row.timestamp)),
      h("td", { class: "num wide" }, String(row.partition)),
      h("td", { class: "num" }, opener),
      h("td", { class: "key" }, row.control ? "" : preview(row.key)),
      h("td", { class: "line" }, row.control ? badge(row.control === "control" ? "control record" : `transaction ${row.control === "commit" ? "committed" : "aborted"}`) : preview(row.value)),
      h("td", { class: "num wide" }, row.control ? "" : bytes(row.value.size)));
    const pair = [line];
    if (opened.has(mark)) pair.push(detail(row));
    function toggle() {
      if (opened.delete(mark)) {
        line.nextSibling.remove();
        line.classList.remove("opened");
      } else {
        if (opened.size >= 20) opened.delete(opened.values().next().value);
        opened.add(mark);
        line.after(detail(row));
        line.classList.add("opened");
      }
      opener.setAttribute("aria-expanded", String(opened.has(mark)));
    }
    return pair;
  }

  function detail(row) {
    return h("tr", { class: "detail" }, h("td", { colspan: 6 }, drawnMessage(topic, row, signal)));
  }

  showAt();
  more.hidden = true;
  if (needsPlace()) replace(holder, empty("From where?", "Give an offset or a time above"));
  else search(false);
}

// ---- one message ----

function preview(part) {
  if (part.kind === "null") return h("span", { class: "muted" }, "null");
  if (part.size === 0) return h("span", { class: "muted" }, "empty");
  if (part.kind === "binary") return part.number ? [part.number, " ", h("span", { class: "muted" }, `0x${part.text}`)] : h("span", { class: "muted" }, `0x${part.text.slice(0, PREVIEW)}`);
  return part.text.slice(0, PREVIEW).replaceAll(/\s+/g, " ");
}

function drawnMessage(topic, row, signal) {
  const place = { topic, partition: row.partition, offset: row.offset };
  const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const millstream = command("millstream", "consume", topic, "--partition", row.partition, "--from", row.offset, "--max-messages", 1, "--bootstrap", session.bootstrap);
  const kcat = command("kcat", "-b", session.bootstrap, "-C", "-t", topic, "-p", row.partition, "-o", row.offset, "-c", 1);
  return h("div", { class: "detail-grid" },
    h("dl", { class: "facts" },
      fact("Time", row.timestamp === null ? "none" : `${moment(row.timestamp)} (${duration(Date.now() - row.timestamp)} ago)`),
      fact("Partition", String(row.partition)), fact("Offset", count(row.offset)),
      row.producer && fact("Producer", `${row.producer[0]}, epoch ${row.producer[1]}`),
      row.transactional && fact("Transaction", row.control ? (row.control === "commit" ? "its commit" : "its abort") : "part of one")),
    !row.control && [
      part("Key", "key", row.key), part("Value", "value", row.value),
      row.headers.length > 0 && h("div", {}, h("h3", {}, plural(row.headers.length + row.headers_left_out, "header")),
        h("pre", { class: "body", tabindex: "0" }, row.headers.map((each) => [h("span", { class: "t-key" }, each.name), ": ", textOf(each.value), each.value.cut ? "…" : "", "\n"]), row.headers_left_out > 0 && `and ${row.headers_left_out} more`)),
    ],
    h("div", { class: "actions" },
      !row.control && button("Copy value", () => copy(textOf(row.value), row.value.cut ? "Copied what is shown of it" : "Copied"), { kind: "small" }),
      button("Copy as millstream command", () => copy(millstream), { kind: "small" }),
      button("Copy as kcat command", () => copy(kcat), { kind: "small" })));

  function part(name, key, data) {
    const holder = h("div", {});
    const drawn = (found) => [
      h("div", { class: "actions" }, h("h3", {}, name), badge(found.kind === "null" ? "null" : `${found.kind}, ${bytes(found.size)}`),
        found.number && badge(`as a number ${found.number}`),
        found.cut && found === data && button("Show all", () => shown(holder, signal, () => get("message", place, signal), (whole) => drawn(whole[key])), { kind: "small" }),
        found.size > 0 && (found.cut || found.kind === "binary") && h("a", { class: "button small", href: address("message/body", { ...place, part: key }), download: "" }, "Save")),
      found.kind !== "null" && h("pre", { class: "body", tabindex: "0" }, pretty(found)),
      found.cut && found !== data && h("p", { class: "muted" }, "This is as much as a page shows: save it to see the rest"),
    ];
    return put(holder, drawn(data));
  }
}

function textOf(part) {
  if (part.kind === "null") return "null";
  return part.kind === "binary" ? `0x${part.text}` : part.text;
}

function pretty(part) {
  const tokens = part.kind === "json" && !part.cut ? layout(part.text) : null;
  if (!tokens) return `${textOf(part)}${part.cut ? "…" : ""}`;
  return tokens.map(([kind, text]) => (kind ? h("span", { class: kind }, text) : text));
}

// ---- writing one ----

function produce(topic, partition, done) {
  const select = (label) => h("select", { "aria-label": label }, FORMATS.map((each) => h("option", { value: each }, each)));
  const keyFormat = select("Format of the key");
  const valueFormat = select("Format of the value");
  keyFormat.value = "null";
  const key = h("input", { class: "mono", autocomplete: "off" });
  const value = h("textarea", { spellcheck: "false" });
  const headers = h("textarea", { spellcheck: "false", placeholder: "name: value, one a line" });
  headers.rows = 2;
  const where = h("input", { value: partition, inputmode: "numeric", placeholder: "by the key, or any", autocomplete: "off" });
  const typed = (format, field) => (format.value === "null" ? null : { format: format.value, text: field.value });
  key.addEventListener("input", () => { if (keyFormat.value === "null" && key.value) keyFormat.value = "string"; });
  dialog(`Produce to ${topic}`, [
    h("div", { class: "pair" }, h("label", {}, "Key is", keyFormat), h("label", {}, "Key", key)),
    h("div", { class: "pair" }, h("label", {}, "Value is", valueFormat), h("label", {}, "Value", value)),
    h("label", {}, "Headers", headers), h("label", {}, "Partition", where),
  ], { action: "Produce", submit: async () => {
    const sent = await post("messages/send", {
      topic, partition: where.value.trim() === "" ? null : Number(where.value), key: typed(keyFormat, key), value: typed(valueFormat, value),
      headers: headers.value.split("\n").filter((each) => each.trim()).map((each) => {
        const [name, ...rest] = each.split(":");
        return { name: name.trim(), format: "string", text: rest.join(":").trim() };
      }),
    });
    note(`Written to partition ${sent.partition} at offset ${count(sent.offset)}`);
    done();
  } });
}
