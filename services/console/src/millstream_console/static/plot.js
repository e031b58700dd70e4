// A line over time, drawn as SVG: axes in round numbers, and under the pointer what it was then.

import { h, replace, svg } from "./dom.js";
import { clock, count } from "./format.js";

const HEIGHT = 190;
const LEFT = 56;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24;

// points: [[time, value], …], the oldest first.
export function plot(points, { name, unit }) {
  const holder = h("div", { class: "plot" });
  const readout = h("p", { class: "muted plot-now", "aria-live": "off" });
  const wide = h("div", { class: "plot-area" });
  holder.append(wide, readout);
  const draw = () => { if (wide.clientWidth > 0) replace(wide, drawn(points, wide.clientWidth, name, unit, readout)); };
  new ResizeObserver(draw).observe(wide);
  requestAnimationFrame(draw);
  return holder;
}

function drawn(points, width, name, unit, readout) {
  const values = points.map(([, value]) => value);
  const most = roundUp(Math.max(1, ...values));
  const [from, to] = [points[0][0], Math.max(points.at(-1)[0], points[0][0] + 60000)];
  const x = (time) => LEFT + ((time - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const line = points.map(([time, value], index) => `${index > 0 ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const area = `${line}L${x(points.at(-1)[0]).toFixed(1)} ${y(0)}L${x(from)} ${y(0)}Z`;
  const cursor = svg("line", { class: "plot-cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const dot = svg("circle", { class: "plot-dot", r: 3.5, cx: x(points.at(-1)[0]), cy: y(values.at(-1)) });
  const say = (point) => replace(readout, `${clock(point[0], false)} · `, h("strong", {}, count(point[1])), ` ${unit}`);
  say(points.at(-1));
  const ticks = Math.max(2, Math.min(6, Math.floor(width / 130)));
  return svg("svg", {
    width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
    "aria-label": `${name}: now ${count(values.at(-1))}, at most ${count(Math.max(...values))} since ${clock(from, false)}`,
    onpointermove: (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const time = from + ((event.clientX - box.left - LEFT) / (width - LEFT - RIGHT)) * (to - from);
      const nearest = points.reduce((best, each) => (Math.abs(each[0] - time) < Math.abs(best[0] - time) ? each : best));
      for (const key of ["x1", "x2"]) cursor.setAttribute(key, x(nearest[0]));
      cursor.setAttribute("visibility", "visible");
      dot.setAttribute("cx", x(nearest[0]));
      dot.setAttribute("cy", y(nearest[1]));
      say(nearest);
    },
    onpointerleave: () => {
      cursor.setAttribute("visibility", "hidden");
      dot.setAttribute("cx", x(points.at(-1)[0]));
      dot.setAttribute("cy", y(values.at(-1)));
      say(points.at(-1));
    },
  },
  [0, 0.5, 1].map((part) => [
    svg("line", { class: "plot-grid", x1: LEFT, x2: width - RIGHT, y1: y(most * part), y2: y(most * part) }),
    svg("text", { class: "plot-text", x: LEFT - 8, y: y(most * part) + 4, "text-anchor": "end" }, short(most * part)),
  ]),
  Array.from({ length: ticks }, (_, index) => {
    const time = from + ((to - from) * index) / (ticks - 1);
    return svg("text", { class: "plot-text", x: x(time), y: HEIGHT - 6, "text-anchor": index === 0 ? "start" : index === ticks - 1 ? "end" : "middle" }, clock(time, false));
  }),
  svg("path", { class: "plot-area-fill", d: area }), svg("path", { class: "plot-line", d: line }), cursor, dot);
}

function roundUp(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((each) => each * step).find((each) => each >= value);
}

function short(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${+(value / size).toFixed(1)}${letter}`;
  }
  return String(+value.toFixed(1));
}
