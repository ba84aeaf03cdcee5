import { h, api, table, panel, num, time, link, failure, setRefresh } from "./parts.js";

// where makes the hash of a message.
function where(m) { return `#/message/${m.id}`; }

function messageTable(list, extra) {
  return table([...(extra ? [""] : []), "stored", "#queue", "#offset", "message", "tags", "keys", "#tries", "body"], list.map((m) => [
    ...(extra ? [extra(m)] : []), h("span", { class: "nowrap" }, time(m.storeMs)), num(m.queue), num(m.offset), link(where(m), m.uniqueKey || m.id), m.tags, m.keys, num(m.reconsumeTimes + 1),
    h("div", { class: "body" }, m.body.format === "hex" ? `${m.body.bytes} bytes` : m.body.text.replace(/\s+/g, " ").slice(0, 120))]), "No messages.");
}

async function topicList() {
  const r = await api("topics");
  return h("datalist", { id: "topics" }, r.topics.map((t) => h("option", { value: t.name })));
}

export async function messages(box, at) {
  const q = at.query, value = (name) => q.get(name) || "";
  const field = (name, label, attrs) => h("label", {}, label, h("input", { name, value: value(name), ...attrs }));
  const form = h("form", { role: "search" },
    field("topic", "Topic", { list: "topics", type: "search" }), field("queue", "Queue", { type: "number", min: 0, size: 4, placeholder: "all" }), field("offset", "From offset", { type: "number", min: 0 }),
    field("key", "Key", {}), field("id", "Message id or unique key", {}), h("label", {}, "Stored from", h("input", { name: "at", type: "datetime-local", step: 1, value: value("at") })),
    h("label", {}, "Stored until", h("input", { name: "until", type: "datetime-local", step: 1, value: value("until") })),
    h("button", { class: "primary" }, "Find"), await topicList());
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const p = new URLSearchParams([...new FormData(form)].filter(([, v]) => v !== ""));
    location.hash = `#/messages?${p}`;
  });
  box.append(h("h1", {}, "Messages"), form);
  if (!value("topic") && !value("id")) {
    box.append(h("p", { class: "note" }, "A topic alone shows its newest messages. A queue and an offset browse, a key or id searches, times show what was stored between them."));
    return;
  }
  const list = h("div");
  box.append(list);
  try {
    const from = value("at") ? String(new Date(value("at")).getTime()) : "";
    const to = value("until") ? String(new Date(value("until")).getTime() + 999) : "";
    const r = await api("messages", { topic: value("topic"), queue: value("queue"), offset: value("offset"), key: value("key"), id: value("id"), from: from || (to && "0"), to, count: 50 });
    list.append(messageTable(r.messages));
    if (r.by === "offset") list.append(pages(q, r));
    else list.append(h("p", { class: "note" }, `${num(r.messages.length)} ${r.messages.length === 1 ? "message" : "messages"}, by ${r.by}.`));
  } catch (e) { list.append(failure(e)); }
}

// pages leads to the messages before and after those shown.
function pages(q, r) {
  const go = (offset) => { const p = new URLSearchParams(q); p.set("offset", String(offset)); return `#/messages?${p}`; };
  const first = r.messages.length ? r.messages[0].offset : r.max, last = r.messages.length ? r.messages.at(-1).offset : r.max - 1;
  return h("p", {}, first > r.min ? link(go(Math.max(r.min, first - 50)), "← earlier") : "", `  offsets ${num(r.min)} to ${num(r.max - 1)}  `, last < r.max - 1 ? link(go(last + 1), "later →") : "");
}

// asSent is the text behind a hex dump, which covers a KiB: JSON is shown laid out anew beside it.
function asSent(dump) {
  const bytes = dump.split("\n").flatMap((line) => line.slice(10, 59).match(/[0-9a-f]{2}/g) || []).map((x) => parseInt(x, 16));
  return new TextDecoder().decode(new Uint8Array(bytes));
}

export async function message(box, at) {
  const r = await api("messages", { id: at.arg, topic: at.query.get("topic") || "", bodyBytes: 65536 });
  box.append(h("h1", {}, "Message"));
  for (const m of r.messages) box.append(oneMessage(m));
}

function oneMessage(m) {
  const hidden = m.body.format === "hex";
  const shown = h("pre", { tabindex: "0", class: hidden ? "hex" : "" }, m.body.text);
  const modes = [[hidden ? "hex" : m.body.format, m.body.text, hidden], ...(m.body.format === "json" && m.body.bytes <= 1024 ? [["text", asSent(m.body.hex), false]] : []),
    ...(hidden ? [] : [["hex", m.body.hex, true]])];
  const tabs = h("div", { class: "tabs" }, modes.map(([label, content, isHex], i) => {
    const b = h("button", { type: "button", "aria-pressed": String(i === 0) }, label);
    b.addEventListener("click", () => {
      shown.textContent = content;
      shown.className = isHex ? "hex" : "";
      for (const other of tabs.children) other.setAttribute("aria-pressed", String(other === b));
    });
    return b;
  }));
  return h("article", {},
    h("div", { class: "two" },
      panel([["topic", link(`#/topic/${encodeURIComponent(m.topic)}`, m.topic)], ["unique key", m.uniqueKey], ["id", m.id], ["type", m.type.toLowerCase()], ["tags", m.tags], ["keys", m.keys],
        ...(m.realTopic ? [["waits for", m.realTopic]] : []), ...(m.dueMs ? [["due", time(m.dueMs)]] : []), ["tries", num(m.reconsumeTimes + 1)]]),
      panel([["queue", num(m.queue)], ["offset", num(m.offset)], ["stored", time(m.storeMs)], ["born", time(m.bornMs)], ["from", m.bornHost], ["at", m.storeHost],
        ["record", `${num(m.size)} bytes at ${num(m.physicalOffset)}`], ["flags", `${m.flag}, system ${m.sysFlag}`]])),
    h("h2", {}, `Body, ${num(m.body.bytes)} bytes${m.body.compression ? `, sent with ${m.body.compression}` : ""}`), tabs, shown,
    m.body.cut ? h("p", { class: "note" }, "Only the beginning is shown.") : "", m.body.problem ? h("p", { class: "error" }, m.body.problem) : "",
    h("h2", {}, "Properties"), table(["name", "value"], Object.entries(m.properties).sort().map(([k, v]) => [k, v]), "None."));
}

export async function send(box, at) {
  setRefresh(0);
  const over = await api("overview");
  const f = (name, label, attrs) => h("label", {}, label, h("input", { name, ...attrs }));
  const when = h("select", { name: "when" }, [["", "at once"], ["level", "after a delay level"], ["ms", "after some seconds"], ["at", "at a time"]].map(([v, l]) => h("option", { value: v }, l)));
  const level = f("level", "Delay level", { type: "number", min: 1, max: 18, value: "3" }), secs = f("seconds", "Seconds", { type: "number", min: 0.001, step: "any", value: "30" });
  const moment = f("moment", "Time", { type: "datetime-local", step: 1 });
  const result = h("div", { role: "status" });
  const button = h("button", { class: "primary", disabled: !over.writes }, "Send");
  const form = h("form", { class: "tall" },
    f("topic", "Topic", { required: true, list: "topics", value: at.query.get("topic") || "", autocomplete: "off" }), f("tags", "Tag", {}), f("keys", "Keys, split by blanks", {}), f("shardingKey", "Sharding key", {}),
    f("queue", "Queue", { type: "number", min: 0, placeholder: "any" }), h("label", {}, "Deliver", when), level, secs, moment,
    h("label", { class: "wide" }, "Body", h("textarea", { name: "body", required: true }, '{"hello": "world"}')),
    h("label", { class: "wide" }, "Properties, one NAME=VALUE a line", h("textarea", { name: "properties", rows: 2, class: "short" })), h("div", { class: "wide" }, button), await topicList());
  const adapt = () => { level.hidden = when.value !== "level"; secs.hidden = when.value !== "ms"; moment.hidden = when.value !== "at"; };
  for (const l of [level, secs, moment]) l.classList.add("opt");
  when.addEventListener("change", adapt);
  adapt();
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const d = Object.fromEntries(new FormData(form));
    const body = { topic: d.topic.trim(), tags: d.tags, keys: d.keys.split(/\s+/).filter(Boolean), body: d.body, shardingKey: d.shardingKey, properties: {} };
    for (const line of d.properties.split("\n")) {
      const i = line.indexOf("=");
      if (i > 0) body.properties[line.slice(0, i).trim()] = line.slice(i + 1);
    }
    if (d.queue !== "") body.queue = Number(d.queue);
    if (d.when === "level") body.delayLevel = Number(d.level);
    if (d.when === "ms") body.delayMs = Math.round(Number(d.seconds) * 1000);
    if (d.when === "at") body.deliverAtMs = new Date(d.moment).getTime() || 0;
    button.disabled = true;
    try {
      const r = await api("messages", null, body);
      result.replaceChildren(h("p", { class: "done" }, "Sent: ", link(`#/message/${r.id}`, r.uniqueKey || r.id), ` to queue ${r.queue}, offset ${r.offset}.`, r.recallHandle ? ` Recall handle: ${r.recallHandle}` : ""));
    } catch (err) { result.replaceChildren(failure(err)); }
    button.disabled = false;
  });
  box.append(h("h1", {}, "Send a test message"), over.writes ? "" : h("p", { class: "error" }, "Changes are not taken from here: see httpWrites."), form, result);
}

export async function deadLetters(box, at) {
  const group = at.query.get("group") || "";
  const [over, r] = await Promise.all([api("overview"), api("dead-letters", { group })]);
  box.append(h("h1", {}, group ? `Dead letters of ${group}` : "Dead letters"));
  if (!group) {
    box.append(table(["group", "#dead letters"], r.groups.map((g) => [link(`#/dead-letters?group=${encodeURIComponent(g.topic)}`, g.topic), num(g.count)]), "No group has dead letters."));
    return;
  }
  const result = h("div", { role: "status" });
  const chosen = new Set();
  const button = h("button", { class: "primary", type: "button", disabled: true }, "Resend the chosen ones");
  const update = () => { button.disabled = !over.writes || !chosen.size; };
  const boxes = [];
  const list = messageTable(r.messages, (m) => {
    const c = h("input", { type: "checkbox", "aria-label": `choose offset ${m.offset}` });
    c.addEventListener("change", () => { if (c.checked) chosen.add(m.offset); else chosen.delete(m.offset); update(); });
    boxes.push(c);
    return c;
  });
  const all = h("button", { type: "button" }, "Choose all");
  all.addEventListener("click", () => { for (const c of boxes) { c.checked = true; c.dispatchEvent(new Event("change")); } });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const done = await api("dead-letters/resend", null, { group, offsets: [...chosen] });
      const failed = done.resent.filter((x) => x.error);
      result.replaceChildren(h("p", { class: "done" }, `${done.resent.length - failed.length} sent to the group again.`), ...failed.map((x) => h("p", { class: "error" }, `Offset ${x.offset}: ${x.error}`)));
    } catch (e) { result.replaceChildren(failure(e)); }
    update();
  });
  box.append(h("p", { class: "note" }, "What is resent goes to the group's retry topic: this group alone gets it, with its deliveries counted anew. Dead letters stay here until they expire."),
    h("form", {}, all, button), result, list);
}
