// Parts that all views are made of. Text from the server only ever becomes text nodes.

export function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === false || v === null || v === undefined) continue;
    if (k === "value" || k === "checked" || k === "selected" || k === "disabled") el[k] = v;
    else el.setAttribute(k, v === true ? "" : v);
  }
  el.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

export async function api(path, params, body) {
  const query = params && new URLSearchParams(Object.entries(params).filter(([, v]) => v !== "" && v !== undefined && v !== null));
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json", "X-Rocketd-Console": "1" }, body: JSON.stringify(body) };
  let answer;
  try { answer = await fetch(`/api/v1/${path}${query && String(query) ? `?${query}` : ""}`, options); } catch { throw new Error("rocketd does not answer."); }
  const data = await answer.json();
  if (answer.ok) return data;
  const e = new Error(data.error);
  e.status = answer.status;
  throw e;
}

// One view is refreshed at a time.
let timer = 0, current = null, tell = () => {};
export function refreshes(fn) { tell = fn; }
export function setRefresh(seconds, round) {
  clearTimeout(timer);
  tell(true);
  const mine = current = {};
  if (!seconds) return;
  const run = async () => {
    if (!document.hidden) {
      try { await round(); tell(true); } catch { tell(false); }
    }
    if (current === mine) timer = setTimeout(run, seconds * 1000);
  };
  timer = setTimeout(run, seconds * 1000);
}

export function failure(e) { return h("p", { class: "error", role: "alert" }, e.message); }
export function text(s) { return h("span", { class: "dim" }, s); }
export function link(href, label) { return h("a", { href }, label); }

// table makes a table; a heading that begins with # is of numbers.
export function table(heads, rows, empty) {
  if (!rows.length && empty) return h("p", { class: "note" }, empty);
  const isNumber = heads.map((t) => t.startsWith("#"));
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((t, i) => h("th", { scope: "col", class: isNumber[i] ? "num" : "" }, t.replace(/^#/, ""))))),
    h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c, i) => h("td", { class: isNumber[i] ? "num" : "" }, c)))))));
}

export function panel(rows) { return h("div", { class: "panel" }, h("dl", {}, rows.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]))); }

const whole = new Intl.NumberFormat("en");
export function num(n) { return Math.abs(n) < 10 && n % 1 ? n.toFixed(1) : whole.format(Math.round(n)); }
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${i ? n.toFixed(1) : n} ${units[i]}`;
}
export function time(ms) {
  const d = new Date(ms), p = (n, w = 2) => String(n).padStart(w, "0");
  return `${d.getFullYear()}-${p(d.getMonth() + 1)}-${p(d.getDate())} ${p(d.getHours())}:${p(d.getMinutes())}:${p(d.getSeconds())}.${p(d.getMilliseconds(), 3)}`;
}
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}
export function ago(ms) { return ms >= 0 ? `in ${span(ms)}` : `${span(-ms)} ago`; }

function colour(name) {
  const probe = h("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const c = getComputedStyle(probe).color;
  probe.remove();
  return c;
}

// plot is a chart of one or more series over time, as lines or, with bars, as bars; "classes": over named classes.
export function plot(title, series, bars) {
  const target = h("div"), box = h("div", { class: "panel plot", role: "img", "aria-label": title }, h("h2", {}, title), target);
  let chart = null, names = [], raw = [];
  const make = (data) => {
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const x = bars === "classes"
      ? { ...axis, splits: () => names.map((_, i) => i), values: (_, s) => s.map((v) => (v % 3 ? "" : names[v] ?? "")), grid: { show: false } }
      : { ...axis, space: 76, values: (_, s, i, room, step) => s.map((v) => clock(v, step)) };
    const paths = bars ? uPlot.paths.bars({ size: [0.7, 40] }) : undefined;
    chart = new uPlot({
      width: Math.max(280, target.clientWidth), height: 190, cursor: { y: false }, legend: { live: !bars || bars === true },
      scales: { x: { time: bars !== "classes", range: bars === "classes" ? () => [-0.7, names.length - 0.3] : (_, lo, hi) => (bars ? pad(lo, hi) : [Math.min(lo, hi - 60), hi]) }, y: { range: (_, lo, hi) => [0, Math.max(1, (hi || 0) * 1.1)] } },
      axes: [x, { ...axis, size: 56, values: (_, s) => s.map((v) => short(v)) }],
      series: [{ label: "time", value: bars === "classes" ? () => "" : (_, v) => (v === null ? "--" : time(v * 1000).slice(0, 19)) }, ...series.map(([label, c], s) => ({
        label, stroke: colour(c), width: bars ? 0 : 1.6, fill: bars ? colour(c) : undefined, points: { show: false }, paths,
        value: (_, v, __, i) => (i === null || i === undefined || v === null ? "--" : num(raw[s + 1][i])),
      }))],
    }, data, target);
    new ResizeObserver(() => chart.setSize({ width: Math.max(280, target.clientWidth), height: 190 })).observe(target);
  };
  return {
    box,
    draw(values, classes) {
      names = classes || [];
      raw = values;
      // Bars stand on each other: the first series is drawn behind, as high as the sum.
      const data = bars ? [values[0], values[1].map((v, i) => v + values[2][i]), values[2]] : values;
      if (chart) { chart.setData(data); return; }
      if (box.isConnected) make(data); else requestAnimationFrame(() => { if (box.isConnected && !chart) make(data); });
    },
  };
}

function clock(seconds, step) {
  const t = time(seconds * 1000);
  return step >= 86400 ? t.slice(5, 10) : step >= 60 ? (t.slice(11, 16) === "00:00" ? t.slice(5, 10) : t.slice(11, 16)) : t.slice(11, 19);
}
function pad(lo, hi) { const by = Math.max((hi - lo) * 0.03, 1); return [lo - by, hi + by]; }
function short(v) { return v >= 1e6 ? `${v / 1e6}M` : v >= 1e4 ? `${v / 1e3}k` : v % 1 ? v.toFixed(1) : String(v); }
