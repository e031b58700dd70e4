// Numbers, sizes and times for people.

const whole = new Intl.NumberFormat("en");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function count(value) {
  return value === null || value === undefined ? "–" : whole.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined || value < 0) return "–";
  let unit = 0;
  let left = value;
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${UNITS[unit]}`;
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function two(value) {
  return String(value).padStart(2, "0");
}

export function clock(milliseconds, withMilliseconds = true) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return String(milliseconds);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMilliseconds ? `${time}.${String(date.getMilliseconds()).padStart(3, "0")}` : time;
}

export function day(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function moment(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  return `${day(milliseconds)} ${clock(milliseconds)}`;
}

export function duration(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}
