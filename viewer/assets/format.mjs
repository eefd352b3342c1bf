// Numbers and times as people read them. No access to the page.

const units = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** duration writes nanoseconds with three significant digits: "12.3 ms". */
export function duration(ns) {
  if (!Number.isFinite(ns)) return "–";
  if (ns < 0) return "−" + duration(-ns);
  if (ns === 0) return "0";
  if (ns >= 119.5e9) {
    const s = Math.round(ns / 1e9);
    if (s >= 7200) return `${Math.floor(s / 3600)} h ${pad(Math.floor(s / 60) % 60)} m`;
    return `${Math.floor(s / 60)} m ${pad(s % 60)} s`;
  }
  for (const [size, unit] of units) {
    // 999.6 µs would be written as 1000 µs: it goes to the next unit.
    if (ns >= size * 0.9995 || unit === "ns") return `${significant(ns / size)} ${unit}`;
  }
}

function significant(v) {
  if (v >= 99.95) return String(Math.round(v));
  if (Number.isInteger(v)) return String(v);
  return v.toFixed(v >= 9.995 ? 1 : 2);
}

const pad = (n) => String(n).padStart(2, "0");

/** count writes a whole number with separators, from ten million on in millions. */
export function count(n) {
  if (n >= 1e10) return `${significant(n / 1e9)} G`;
  if (n >= 1e7) return `${significant(n / 1e6)} M`;
  return n.toLocaleString("en-US");
}

/** amount writes a mean in a unit of UCUM: "1.23 ms" for ns, and for "{cycle}" the number. */
export function amount(mean, unit) {
  if (unit === "ns") return duration(mean);
  return mean >= 1000 ? count(Math.round(mean)) : significant(mean);
}

/** percent writes a part of one: "41 %", "4.2 %", "<0.1 %", "0 %". */
export function percent(part) {
  const p = 100 * part;
  if (!Number.isFinite(p)) return "–";
  if (p === 0) return "0 %";
  if (p < 0.1) return "<0.1 %";
  if (p > 99.9 && p < 100) return ">99.9 %";
  return `${p >= 9.95 && !(p >= 99.5 && p < 100) ? Math.round(p) : p.toFixed(1)} %`;
}

/** change writes a part of one with its sign and one digit: "+11.2 %", "−3.0 %". */
export function change(part) {
  if (part === null || !Number.isFinite(part)) return "unbounded";
  const p = Math.round(1000 * part) / 10;
  return `${p > 0 ? "+" : p < 0 ? "−" : "±"}${Math.abs(p).toFixed(1)} %`;
}

/** points writes a standard error of a part of one: "±0.4 points", and a dash where there is none. */
export function points(part) {
  return part === null || !Number.isFinite(part) ? "–" : `±${(100 * part).toFixed(1)} points`;
}

/** plural writes a number with its noun: "1 span", "37 spans". */
export function plural(n, one, many = one + "s") {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** clock writes the local time of day; millis adds the milliseconds. */
export function clock(date, millis = false) {
  const d = new Date(date);
  if (Number.isNaN(d.getTime())) return "–";
  const text = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return millis ? `${text}.${String(d.getMilliseconds()).padStart(3, "0")}` : text;
}

/** dateTime writes a local date and time of day. */
export function dateTime(date) {
  const d = new Date(date);
  if (Number.isNaN(d.getTime())) return "–";
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(d, true)}`;
}

/** ago writes how long ago something was, in whole units: "4 s ago". */
export function ago(date, now = Date.now()) {
  const s = Math.max(0, Math.floor((now - new Date(date).getTime()) / 1000));
  if (s < 2) return "just now";
  return `${span(s)} ago`;
}

/** until writes how long it is until a time: "in 12 min", "over" if it has passed. */
export function until(date, now = Date.now()) {
  const s = Math.ceil((new Date(date).getTime() - now) / 1000);
  return s > 0 ? `in ${span(s)}` : "over";
}

function span(s) {
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

/** attributeText writes an attribute's value as one line of text. */
export function attributeText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** parseDuration reads what Go's time.Duration writes, in nanoseconds; NaN if it cannot. */
export function parseDuration(text) {
  const sizes = { ns: 1, "µs": 1e3, "μs": 1e3, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
  if (text === "0") return 0;
  let sum = 0;
  const rest = String(text ?? "x").replace(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g, (_, n, unit) => {
    sum += Number(n) * sizes[unit];
    return "";
  });
  return rest === "" && sum >= 0 && text ? sum : NaN;
}
