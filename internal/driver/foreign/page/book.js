// The file as a whole: read, proved, drawn.
const verdict = document.getElementById("verdict"), page = document.getElementById("page");
const say = (kind, text) => { verdict.className = kind; verdict.textContent = text; };
const frame = () => new Promise((next) => setTimeout(next, 0));

// unproved is what nothing proves of an entry. It does not rest on the reason that the data gives.
const unproved = (e) => [e.content === null && e.shown && "these words are not proved", e.meta === null && "its link is not proved"];

// read makes an entry what draw.js draws.
function read(book, agent, e) {
  const parts = JSON.parse((e.content ?? e.shown ?? "") || "[]");
  for (const p of parts) {
    if (!p.blob || !Object.hasOwn(book.blobs, p.blob)) continue;
    const b = book.blobs[p.blob], data = p.type === "image" || p.type === "document";
    if (data) p.data = b.base64 ?? btoa(b.text);
    else p.text = b.text ?? "(bytes that are no text)";
  }
  return { ...e, agent, parts, meta: JSON.parse(e.meta ?? (e.shown_meta || "{}")), changes: e.changes ?? [], hidden: [e.hidden, ...unproved(e)].filter(Boolean).join("; ") };
}

function open(text) {
  const book = JSON.parse(text);
  need(book.format === "ramet/transcript/1", "the form " + oneLine(book.format, 40) + " is not known to this script");
  const entries = new Map(), agents = new Map(book.agents.map((a) => [a.uuid, a]));
  for (const s of book.stretches) for (const e of s.entries) entries.set(e.id, read(book, s.agent, e));
  return { book, entries, agents, inOrder: [...entries.values()].sort((a, b) => a.id - b.id) };
}

const label = (a) => oneLine(a.name, 60) || a.uuid.slice(0, 8);

// conversation is what one agent can look back on.
function conversation(all, agent) {
  return all.inOrder.filter((e) => agent.ranges.some((r) => r.agent_uuid === e.agent && e.id > r.start_id && (r.end_id === null || e.id <= r.end_id)));
}

function tree(all, choose) {
  const kids = Map.groupBy ? Map.groupBy(all.book.agents, (a) => a.parent) : all.book.agents.reduce((m, a) => m.set(a.parent, [...(m.get(a.parent) ?? []), a]), new Map());
  const seen = new Set();
  const list = (of) => el("ul", null, of.filter((a) => !seen.has(a.uuid)).map((a) => {
    seen.add(a.uuid);
    const link = el("a", { href: "#" + a.uuid, "data-agent": a.uuid }, label(a));
    link.addEventListener("click", () => choose(a.uuid));
    const below = kids.get(a.uuid) ?? [];
    return el("li", null, link, " ", el("span", { class: "soft" }, [a.status === "dead" && "dead", a.model, a.tokens ? whole(a.tokens) + " tokens" : "", a.cost_nano_usd ? money(a.cost_nano_usd) : ""].filter(Boolean).map((s) => oneLine(s, 60)).join(" \u00b7 ")), below.length ? list(below) : null);
  }));
  return el("nav", { "aria-label": "agents" }, el("h2", null, "Agents"), list(all.book.agents.filter((a) => !all.agents.has(a.parent))));
}

// brought is what a call used before the session was imported, as its file tells.
function brought(meta) {
  const d = meta.driver;
  return d && d.attested === "imported" && d.used ? { ...d.used, model: (d.used.model || d.name) + " (imported)", imported: true } : null;
}

function costs(all) {
  const by = new Map();
  for (const e of all.inOrder) {
    const c = e.kind === "usage" && (e.meta.call ?? brought(e.meta));
    if (!c) continue;
    const sum = by.get(c.model) ?? { calls: 0, input: 0, output: 0, cost: 0 };
    by.set(c.model, { imported: c.imported, calls: sum.calls + 1, input: sum.input + c.input + c.cache_read + c.cache_write, output: sum.output + c.output, cost: sum.cost + c.cost_nano_usd });
  }
  const row = (tag, cells) => el("tr", null, cells.map((c) => el(tag, null, c)));
  const total = (imported) => [...by.values()].reduce((n, s) => n + (!s.imported === !imported ? s.cost : 0), 0);
  const before = [...by.values()].some((s) => s.imported) ? ", and " + money(total(true)) + " before it was imported" : "";
  return el("details", { class: "cost" }, el("summary", null, "Cost: " + money(total(false)) + before + (by.size ? "" : " (no calls are counted here)")),
    by.size > 0 && el("table", null, el("thead", null, row("th", ["model", "calls", "tokens in", "out", "cost"])),
      el("tbody", null, [...by].map(([model, s]) => row("td", [oneLine(model, 80), whole(s.calls), whole(s.input), whole(s.output), money(s.cost)])))));
}

const saidBy = (e) => e.parts.map((p) => [p.text, p.name, p.show, p.args ? JSON.stringify(p.args) : ""].filter(Boolean).join("\n")).join("\n");

function search(all, go) {
  const found = el("ol", { class: "found" }), box = el("input", { type: "search", placeholder: "Search", "aria-label": "search the conversations" });
  box.addEventListener("input", () => {
    const want = box.value.toLowerCase();
    found.replaceChildren();
    if (want.length < 2) return;
    let n = 0;
    for (const e of all.inOrder) {
      const text = visible(saidBy(e)), at = text.toLowerCase().indexOf(want);
      if (at < 0 || ++n > 200) continue;
      const link = el("a", { href: "#m" + e.id }, `message ${e.id}, ${speakers[e.kind] ?? e.kind}`);
      link.addEventListener("click", () => go(e.id));
      found.append(el("li", null, link, " ", el("span", { class: "soft" }, text.slice(Math.max(0, at - 60), at)), el("mark", null, text.slice(at, at + want.length)), el("span", { class: "soft" }, text.slice(at + want.length, at + want.length + 60))));
    }
    found.append(el("li", { class: "soft" }, n ? `${whole(n)} messages` : "nothing was found"));
  });
  return el("section", { role: "search" }, box, found);
}

function draw(all) {
  const talk = el("main", null);
  let now = "", drawing = 0;
  const show = async (uuid) => {
    if (now === uuid || !all.agents.has(uuid)) return;
    now = uuid;
    const mine = ++drawing, agent = all.agents.get(uuid), list = conversation(all, agent), out = new Set(agent.out), results = new Map();
    results.drawn = new Set();
    for (const e of list) for (const p of e.parts) if (p.type === "tool_result" && p.call_id) results.set(p.call_id, p);
    for (const e of list) for (const p of e.parts) if (p.type === "tool_call") results.drawn.add(p.call_id);
    for (const a of document.querySelectorAll("[data-agent]")) a.toggleAttribute("aria-current", a.dataset.agent === uuid);
    talk.replaceChildren(el("h2", null, label(agent)), el("p", { class: "soft" }, "head ", el("code", { class: "head" }, agent.head)));
    for (let i = 0; i < list.length && mine === drawing; i += 200) {
      talk.append(...list.slice(i, i + 200).map((e) => entry(e, results, out.has(e.id))));
      if (i + 200 < list.length) await frame();
    }
  };
  const go = async (id) => {
    const e = all.entries.get(id);
    if (!e) return;
    if (!conversation(all, all.agents.get(now)).includes(e)) await show((all.agents.get(e.agent) ?? all.book.agents.find((a) => conversation(all, a).includes(e))).uuid);
    for (const old of document.querySelectorAll(".aimed")) old.classList.remove("aimed");
    const at = document.getElementById("m" + id);
    at?.classList.add("aimed");
    at?.scrollIntoView({ block: "center" });
  };
  const follow = async () => {
    const word = location.hash.slice(1), m = /^m(\d+)$/.exec(word);
    if (m) await go(Number(m[1]));
    else await show(word);
  };
  page.append(el("header", { class: "top" }, el("h1", null, label(all.book.agents[0])),
    el("p", { class: "soft" }, `Exported by ramet at ${oneLine(all.book.made, 40)}.`), costs(all), search(all, go)),
  el("div", { class: "sides" }, tree(all, show), talk));
  window.addEventListener("hashchange", follow);
  return show(all.book.agent).then(follow);
}

(async () => {
  try {
    say("busy", "Checking\u2026");
    const data = document.getElementById("data");
    let all = null;
    try {
      need(await digest(utf8.encode(data.textContent)) === data.dataset.sha256, "its data is not what it was when it was written");
      all = open(data.textContent);
      const p = await prove(all.book, async (n) => { say("busy", `Checking\u2026 ${whole(n)} entries`); await frame(); });
      const rest = [p.without && `of ${whole(p.without)} the content is not in this file: their place is proved, their words are not`,
        p.open && `${whole(p.open)} links are shown in part and not proved, nor is what stands before them bound to the head`, all.inOrder.some((e) => e.changes.length) && "differences of files are not part of the proof"].filter(Boolean);
      say("valid", `Valid: ${whole(p.entries)} entries and ${whole(p.contents)} contents fit their hashes` + (rest.length ? "; " + rest.join("; ") : "") + ".");
    } catch (e) {
      say("invalid", "INVALID: " + (e instanceof Broken ? e.message : "it cannot be read: " + oneLine(e.message, 200)) + ". What is shown below is not what was exported.");
      all ??= open(data.textContent);
    }
    await draw(all);
  } catch (e) {
    if (verdict.className !== "invalid") say("invalid", "INVALID: it cannot be shown: " + oneLine(e.message, 200));
  }
})();
