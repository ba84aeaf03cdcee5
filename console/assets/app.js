import { h, api, table, panel, text, num, bytes, time, ago, span, link, plot, failure, setRefresh, refreshes } from "./parts.js";
import { messages, message, send, deadLetters } from "./messages.js";

const views = [
  ["overview", "Overview", overview],
  ["topics", "Topics", topics],
  ["groups", "Groups", groups],
  ["messages", "Messages", messages],
  ["send", "Send", send],
  ["timers", "Timers", timers],
  ["transactions", "Transactions", transactions],
  ["dead-letters", "Dead letters", deadLetters],
  ["clients", "Clients", clients],
  ["config", "Configuration", config],
  ["warnings", "Warnings", warnings],
];
const inner = { topic, group, message };

const main = document.getElementById("main");
const state = document.getElementById("state");
let shown = 0;

// parse takes "#/topics/NAME?x=y" apart.
function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: name || "overview", arg: decodeURIComponent(rest.join("/")), query: new URLSearchParams(query || "") };
}

async function show(focus) {
  const mine = ++shown;
  setRefresh(0);
  const at = parse();
  const found = views.find((v) => v[0] === at.name);
  const view = found ? found[2] : inner[at.name];
  const section = found ? at.name : { topic: "topics", group: "groups", message: "messages" }[at.name];
  for (const a of document.querySelectorAll("#nav a")) {
    if (a.dataset.view === section) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  document.title = `${found ? found[1] : at.arg || at.name} · rocketd`;
  const box = h("div");
  try {
    if (!view) throw new Error(`There is no view "${at.name}".`);
    await view(box, at);
  } catch (e) {
    box.replaceChildren(failure(e));
  }
  if (mine !== shown) return;
  main.replaceChildren(box);
  if (focus) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
}

// live shows what draw makes of fresh data, again every few seconds.
async function live(box, seconds, load, draw) {
  const round = async () => draw(await load());
  await round();
  setRefresh(seconds, round);
}

async function overview(box) {
  let over;
  try { over = await api("overview"); } catch (e) {
    if (e.status !== 404) throw e;
    return brokers(box); // a name server alone
  }
  const cards = h("div", { class: "cards" });
  const rates = plot("Messages per second", [["in", "--accent"], ["out", "--accent2"]]);
  const timed = plot("Timers per second", [["set", "--accent"], ["delivered", "--accent2"]]);
  const rest = h("div");
  box.append(h("h1", {}, over.name), cards, h("div", { class: "plots" }, rates.box, timed.box), rest);
  await live(box, 2, () => Promise.all([api("overview"), api("rates")]), ([o, r]) => {
    const last = (list) => (list.length ? list.slice(-3).reduce((a, b) => a + b, 0) / Math.min(3, list.length) : 0);
    cards.replaceChildren(
      card("messages/s in", num(last(r.put))), card("messages/s out", num(last(r.got))),
      card("messages in, total", num(o.put)), card("messages out, total", num(o.got)),
      card("connections", num(o.connections), "#/clients"), card("topics", num(o.topics), "#/topics"), card("groups", num(o.groups), "#/groups"),
      card("timers pending", num(o.timers + o.timerBehind), "#/timers"), card("delayed", num(o.delayed), "#/timers"),
      card("next timer", o.nextTimerMs ? ago(o.nextTimerMs - o.nowMs) : "none", "#/timers"),
      card("half messages", num(o.halfMessages), "#/transactions"), card("dead letters", num(o.deadLetters), "#/dead-letters"),
      card("held pulls", num(o.heldPulls)), card("warnings", num(o.warnings), "#/warnings"),
      card("fsync, mean", o.fsyncCount ? `${(o.fsyncMeanUs / 1000).toFixed(1)} ms` : "none"),
      card("disk free", bytes(o.diskFree), "", o.notReady ? "bad" : ""),
    );
    rates.draw([r.seconds, r.put, r.got]);
    timed.draw([r.seconds, r.timersSet, r.timersDelivered]);
    rest.replaceChildren(
      ...(o.notReady ? [h("p", { class: "error" }, `Messages are refused: ${o.notReady}`)] : []),
      h("div", { class: "two" },
        h("section", {}, h("h2", {}, "Broker"), panel([
          ["name", `${o.name} (${o.brokerId}) in ${o.cluster}`], ["clients are told", o.address], ["name server", o.namesrv || "none in this process"],
          ["version", `${o.version}, protocol ${o.protocolVersion}`], ["running", span(o.nowMs - o.bootMs)], ["data", o.dataDir],
        ])),
        h("section", {}, h("h2", {}, "Store"), panel([
          ["commit log", `${bytes(o.logMax - o.logMin)} from ${num(o.logMin)} to ${num(o.logMax)}`], ["not flushed", bytes(o.flushBehindBytes)],
          ["oldest message", o.earliestMs > 0 ? time(o.earliestMs) : "none"],
          ["disk", `${bytes(o.diskFree)} free of ${bytes(o.diskTotal)} (${(o.diskRatio * 100).toFixed(0)} % used)`],
          ["bytes in", bytes(o.putBytes)], ["refused writes", num(o.putFailed)],
          ["latest timer", `${num(o.maxTimerLatenessMs)} ms late, delay level ${num(o.maxDelayLatenessMs)} ms`],
        ]))),
      h("h2", {}, "Lanes"),
      table(["lane", "#workers", "#running", "#waiting", "#done", "#rejected"],
        o.lanes.map((l) => [l.name, num(l.workers), num(l.running), num(l.queued), num(l.done), num(l.rejected)])),
    );
  });
}

function card(label, value, href, kind) {
  const b = h("b", { class: String(value).length > 14 ? "text" : "" }, String(value));
  return h("div", { class: `card ${kind || ""}` }, b, href ? h("a", { href }, label) : h("span", {}, label));
}

async function brokers(box) {
  const r = await api("brokers");
  box.append(h("h1", {}, "Name server"), h("p", { class: "note" }, `${r.topics} topics. This process has no broker.`),
    table(["broker", "cluster", "addresses"], r.brokers.map((b) => [b.name, b.cluster, Object.entries(b.addrs).map(([id, a]) => `${id}: ${a}`).join(", ")])));
}

// filter is the form above a list: a text and, with kinds, a choice.
function filter(at, kinds, hint) {
  const q = h("input", { name: "q", type: "search", value: at.query.get("q") || "", placeholder: hint || "part of the name" });
  const kind = kinds && h("select", { name: "kind" }, kinds.map(([v, label]) => h("option", { value: v, selected: (at.query.get("kind") ?? kinds[0][0]) === v }, label)));
  const form = h("form", { role: "search" }, h("label", {}, "Search", q), kind && h("label", {}, "Kind", kind), h("button", {}, "Show"));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    location.hash = `#/${at.name}?${new URLSearchParams(new FormData(form))}`;
  });
  if (kind) kind.addEventListener("change", () => form.requestSubmit());
  return form;
}

function cut(total, list) { return total > list.length ? h("p", { class: "note" }, `${num(total)} match, ${num(list.length)} are shown.`) : null; }

async function topics(box, at) {
  const kind = at.query.get("kind") ?? "normal";
  const list = h("div");
  box.append(h("h1", {}, "Topics"), filter(at, [["normal", "topics"], ["retry", "retry"], ["dead", "dead letters"], ["system", "system"], ["", "all"]]), list);
  await live(box, 5, () => api("topics", { q: at.query.get("q") || "", kind }), (r) => list.replaceChildren(
    table(["topic", "type", "#queues", "permission", "#messages", "#ever put", ""], r.topics.map((t) => [
      link(`#/topic/${encodeURIComponent(t.name)}`, t.name), t.type || (t.kind === "normal" ? "" : t.kind), num(t.writeQueues), perm(t.perm),
      num(t.messages), num(t.max), link(`#/messages?topic=${encodeURIComponent(t.name)}`, "messages")]), "No topics."),
    cut(r.total, r.topics) || ""));
}

function perm(p) { return [p & 4 && "read", p & 2 && "write"].filter(Boolean).join(", ") || "none"; }

async function topic(box, at) {
  const list = h("div");
  box.append(h("h1", {}, at.arg), h("p", {}, link(`#/messages?topic=${encodeURIComponent(at.arg)}`, "Messages"), " · ", link(`#/send?topic=${encodeURIComponent(at.arg)}`, "Send a message")), list);
  await live(box, 3, () => api(`topics/${encodeURIComponent(at.arg)}`), (t) => list.replaceChildren(
    panel([["kind", t.kind], ["type", t.type || "any"], ["permission", perm(t.perm)], ["ordered", t.order ? "yes" : "no"], ["messages", num(t.messages)],
      ["attributes", Object.entries(t.attributes || {}).map(([k, v]) => `${k}=${v}`).join(", ") || "none"]]),
    h("h2", {}, "Queues"),
    table(["#queue", "#first", "#next", "oldest", "newest", ""], t.queues.map((q) => [num(q.id), num(q.min), num(q.max), q.oldestMs > 0 ? time(q.oldestMs) : "", q.newestMs > 0 ? time(q.newestMs) : "",
      link(`#/messages?topic=${encodeURIComponent(t.name)}&queue=${q.id}&offset=${Math.max(q.min, q.max - 32)}`, "messages")])),
    h("h2", {}, "Groups"), lagTable(t.groups, true)));
}

function lagTable(list, byGroup) {
  return table([byGroup ? "group" : "topic", "", "#lag", "#in flight", "#behind"], list.map((g) => [
    byGroup ? link(`#/group/${encodeURIComponent(g.group)}`, g.group) : link(`#/topic/${encodeURIComponent(g.topic)}`, g.topic),
    online(g.online), num(g.lag), num(g.inFlight), g.lagMs ? span(g.lagMs) : ""]), "None.");
}

function online(yes) { return h("span", { class: yes ? "tag good" : "tag" }, yes ? "online" : "offline"); }

const many = (n, one, more) => `${num(n)} ${n === 1 ? one : more || `${one}s`}`;

async function groups(box, at) {
  const list = h("div");
  box.append(h("h1", {}, "Groups"), filter(at), list);
  await live(box, 5, () => api("groups", { q: at.query.get("q") || "" }), (r) => list.replaceChildren(
    table(["group", "", "kind", "#members", "#lag", "#behind", "#dead letters", "problems"],
      r.groups.filter((g) => !g.system || g.online || at.query.get("q")).map((g) => [
        link(`#/group/${encodeURIComponent(g.name)}`, g.name), online(g.online), mode(g), num(g.members), num(g.lag), g.lagMs ? span(g.lagMs) : "", num(g.deadLetters),
        problems(g.problems)]), "No groups."), cut(r.total, r.groups) || ""));
}

const modes = { CONSUME_PASSIVELY: "push", CONSUME_ACTIVELY: "pull", CONSUME_POP: "pop" };
function mode(g) { return g.online ? `${modes[g.consumeType] || g.consumeType}, ${g.messageModel.toLowerCase()}` : ""; }
function problems(list) { return h("div", {}, list.map((p) => h("div", { class: "dim" }, h("span", { class: "tag bad" }, "warning"), " ", p))); }

async function group(box, at) {
  const list = h("div");
  box.append(h("h1", {}, at.arg), list);
  await live(box, 3, () => api(`groups/${encodeURIComponent(at.arg)}`), (g) => list.replaceChildren(
    ...g.problems.map((p) => h("p", { class: "error" }, p)),
    panel([["state", online(g.online)], ["kind", mode(g) || "unknown while offline"], ["begins", g.fromWhere || "unknown while offline"],
      ["deliveries before dead", g.retryMaxTimes < 0 ? "not configured" : num(g.retryMaxTimes + 1)], ["consumes", `${g.consumeEnable ? "enabled" : "disabled"}${g.consumeMessageOrderly ? ", in order" : ""}${g.consumeBroadcastEnable ? ", may broadcast" : ""}`],
      ["retry queues", num(g.retryQueues)],
      ["dead letters", link(`#/dead-letters?group=${encodeURIComponent(g.name)}`, num(g.deadLetters))], ["lag", `${many(g.lag, "message")}${g.lagMs ? `, ${span(g.lagMs)} behind` : ""}`]]),
    h("h2", {}, "Topics"), lagTable(g.topics, false),
    h("h2", {}, "Members"), clientTable(g.clients.map((c) => ({ ...c, role: "", group: "", problems: [] })), false),
    h("h2", {}, "Queues"), table(["topic", "#queue", "#first", "#committed", "#read to", "#next", "#lag", "#behind", "locked by"], g.queues.map((q) => [
      q.topic, num(q.queue), num(q.min), q.committed < 0 ? "" : num(q.committed), q.pulled < 0 ? "" : num(q.pulled), num(q.max), num(q.lag), q.lagMs ? span(q.lagMs) : "", q.lockedBy]), "None.")));
}

function clientTable(list, all) {
  const heads = ["client", ...(all ? ["role", "group"] : []), "address", "language", "version", "heartbeat", "subscribes", ...(all ? ["problems"] : [])];
  return table(heads, list.map((c) => [
    c.id, ...(all ? [c.role, c.role === "consumer" ? link(`#/group/${encodeURIComponent(c.group)}`, c.group) : c.group] : []), c.address, c.language.toLowerCase(), c.version,
    `${span(Math.max(0, Date.now() - c.heartbeatMs))} ago`, c.subscriptions.join(", "), ...(all ? [problems(c.problems)] : [])]), "Nobody.");
}

async function clients(box, at) {
  const list = h("div");
  box.append(h("h1", {}, "Clients"), filter(at, null, "id, group or address"), list);
  await live(box, 5, () => api("clients", { q: at.query.get("q") || "" }), (r) => list.replaceChildren(clientTable(r.clients, true), cut(r.total, r.clients) || ""));
}

async function timers(box, at) {
  const bucket = at.query.get("bucket") || "minute", wanted = at.query.get("topic") || "";
  const by = h("select", { name: "bucket" }, ["second", "minute", "hour", "day"].map((b) => h("option", { value: b, selected: b === bucket }, b)));
  const form = h("form", {}, h("label", {}, "Count by", by), h("label", {}, "Topic", h("input", { name: "topic", value: wanted, placeholder: "all" })), h("button", {}, "Show"));
  form.addEventListener("submit", (e) => { e.preventDefault(); location.hash = `#/timers?${new URLSearchParams(new FormData(form))}`; });
  by.addEventListener("change", () => form.requestSubmit());
  const cards = h("div", { class: "cards" }), rest = h("div");
  const line = plot("Due", [["timers", "--accent"], ["delay levels", "--accent2"]], true);
  const late = plot("Delivered late by, ms", [["timers", "--accent"], ["delay levels", "--accent2"]], "classes");
  box.append(h("h1", {}, "Timers and delays"), form, cards, h("div", { class: "plots" }, line.box, late.box), rest);
  const ask = async () => ({ ...await api("timers", { bucket, topic: wanted }), next: (await api("timers/pending", { topic: wanted, limit: 20 })).timers });
  await live(box, 3, ask, (t) => {
    cards.replaceChildren(card("timers pending", num(t.timers)), card("delayed by level", num(t.delays)), card("not in the wheel yet", num(t.behind)),
      card("next due", t.nextDueMs ? ago(t.nextDueMs - t.nowMs) : "none"), card("timers delivered", num(t.stats.delivered)), card("cancelled", num(t.stats.cancelled)),
      card("rolled", num(t.stats.rolled)), card("latest", t.stats.delivered ? `${num(t.stats.maxLateness)} ms late` : "none"));
    const delivered = [...t.timerLateness, ...t.delayLateness].some((c) => c.count);
    late.box.querySelector("h2").textContent = delivered ? "Delivered late by, ms" : "Delivered late by, ms: nothing is delivered yet";
    line.draw(bars(t));
    late.draw([t.timerLateness.map((_, i) => i), t.timerLateness.map((c) => c.count), t.delayLateness.map((c) => c.count)], t.timerLateness.map((c) => (c.ms < 0 ? "more" : `${c.ms}`)));
    rest.replaceChildren(h("div", { class: "two" },
      h("section", {}, h("h2", {}, "By topic"), table(["topic", "#pending"], t.topics.map((x) => [link(`#/timers?bucket=${bucket}&topic=${encodeURIComponent(x.topic)}`, x.topic), num(x.count)]), "Nothing is pending.")),
      h("section", {}, h("h2", {}, "By delay level"), table(["#level", "delay", "#pending", "next due"], t.levels.filter((l) => l.count).map((l) => [num(l.level), span(l.delayMs), num(l.count), l.nextDueMs ? ago(l.nextDueMs - t.nowMs) : ""]), "Nothing is delayed by level."))),
    h("h2", {}, "Next timers"),
    table(["due", "topic", "keys", "set", "message"], t.next.map((m) => [ago(m.dueMs - t.nowMs), m.topic || "cannot be read", m.cancels ? `cancels ${m.cancels}` : m.keys, time(m.enqueuedMs), link(`#/message/${m.id}`, m.uniqueKey || m.id)]), "None."),
    h("h2", {}, "Next delayed messages"),
    table(["due", "topic", "keys", "#level", "message"], t.upcoming.map((m) => [ago(m.dueMs - t.nowMs), m.realTopic, m.keys, num(m.queue + 1), link(`#/message/${m.id}`, m.uniqueKey || m.id)]), "None."));
    if (t.cut) rest.append(h("p", { class: "note" }, "Only the first 20,000 messages with a delay level are looked at."));
  });
}

// bars fills the gaps between slots that are near each other, so that nothing pending shows as nothing.
function bars(t) {
  const x = [], a = [], b = [], step = t.bucketMs;
  let before = null;
  for (const s of t.slots) {
    if (before !== null && s.startMs - before > step) {
      const gap = Math.min((s.startMs - before) / step - 1, 400);
      for (let i = 1; i <= gap; i++) { x.push((before + i * step) / 1000); a.push(0); b.push(0); }
    }
    x.push(s.startMs / 1000); a.push(s.timers); b.push(s.delays); before = s.startMs;
  }
  return [x, a, b];
}

async function transactions(box) {
  const list = h("div");
  box.append(h("h1", {}, "Half messages"), list);
  await live(box, 3, () => api("transactions"), (r) => list.replaceChildren(
    h("p", { class: "note" }, `${many(r.total, "half message is", "half messages are")} undecided. Producers are asked again until they decide.`),
    table(["topic", "producer group", "message", "since", "#asked", "next asked", "who is asked"], r.transactions.map((t) => [
      t.topic, t.producerGroup, link(`#/message/${t.uniqueKey}?topic=RMQ_SYS_TRANS_HALF_TOPIC`, t.uniqueKey || `offset ${t.offset}`), h("span", { class: "nowrap" }, time(t.sinceMs)), num(t.checks), t.nextAskMs ? h("span", { class: "nowrap" }, time(t.nextAskMs)) : "",
      t.askable.length ? t.askable.map((c) => `${c.id} (${c.address})`).join(", ") : h("span", { class: "tag bad" }, "nobody is connected")]), "No half message is undecided."),
    h("h2", {}, "Decided since the start"), table(["topic", "#committed", "#rolled back"], r.decided.map((d) => [d.topic, num(d.commits), num(d.rollbacks)]), "None.")));
}

async function config(box, at) {
  const changed = at.query.get("changed") === "true";
  const r = await api("config", { changed: String(changed) });
  const check = h("input", { type: "checkbox", checked: changed });
  check.addEventListener("change", () => { location.hash = `#/config?changed=${check.checked}`; });
  box.append(h("h1", {}, "Configuration"), h("form", {}, h("label", { class: "check" }, check, "only what differs from the defaults")),
    ...r.notes.map((n) => h("p", { class: "note" }, n)), r.ignored.length ? h("p", { class: "note" }, `Set, and without effect here: ${r.ignored.join(", ")}`) : "", h("pre", { tabindex: "0" }, r.yaml || "# nothing differs"));
}

async function warnings(box) {
  const list = h("div");
  box.append(h("h1", {}, "Warnings"), list);
  await live(box, 5, () => api("warnings"), (r) => list.replaceChildren(
    h("p", { class: "note" }, `${many(r.total, "warning or error", "warnings and errors")} since the start${r.total > r.warnings.length ? `, the newest ${num(r.warnings.length)} are kept` : ""}.`),
    table(["time", "level", "message", "fields"], r.warnings.map((w) => [h("span", { class: "nowrap" }, time(w.ms)), h("span", { class: "tag bad" }, w.level), w.message,
      text(Object.entries(w.fields).map(([k, v]) => `${k}=${v}`).join("  "))]), "No warnings.")));
}

document.getElementById("nav").append(...views.map(([id, label]) => h("a", { href: `#/${id}`, "data-view": id }, label)));
document.getElementById("theme").addEventListener("click", () => {
  const order = ["", "light", "dark"], root = document.documentElement;
  const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  try { if (next) localStorage.setItem("theme", next); else localStorage.removeItem("theme"); } catch { /* storage is off */ }
  show(false);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(false));
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  const field = main.querySelector("input[type=search], form input");
  if (field) { e.preventDefault(); field.focus(); }
});
addEventListener("hashchange", () => show(true));
refreshes((ok) => { state.textContent = ok ? "live" : "no answer"; state.className = ok ? "state" : "state off"; });
show(false);
