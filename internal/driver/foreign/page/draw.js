// Elements. Words of a conversation are put into text nodes, nowhere else; an address is words.
function el(tag, props, ...kids) {
  const out = document.createElement(tag);
  for (const [k, v] of Object.entries(props ?? {})) if (v !== undefined && v !== false) out.setAttribute(k, v === true ? "" : v);
  out.append(...kids.flat(Infinity).filter((k) => k !== null && k !== undefined && k !== "" && k !== false));
  return out;
}

// visible shows what would steer the display or the direction of a text.
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const visible = (s) => String(s ?? "").replace(/\r\n/g, "\n").replace(steering, (c) => "\u2423" + c.charCodeAt(0).toString(16).padStart(4, "0") + "\u2423");
const oneLine = (s, most = 160) => { const t = visible(s).replace(/\s+/g, " ").trim(); return t.length > most ? t.slice(0, most - 1) + "\u2026" : t; };
const when = (micros) => new Date(Number(BigInt(micros) / 1000n)).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
const whole = (n) => Number(n ?? 0).toLocaleString("en");
const money = (nano) => "$" + (Number(nano ?? 0) / 1e9).toFixed(4);

const most = 20_000; // characters of a text that are drawn at first
function plain(text, label) {
  const clean = visible(text), pre = el("pre", { tabindex: "0", "aria-label": label ?? "text" }, clean.slice(0, most) || "(nothing)");
  if (clean.length <= most) return [pre];
  const more = el("button", { type: "button" }, `Show all ${whole(clean.length)} characters`);
  more.addEventListener("click", () => { pre.textContent = clean; more.remove(); });
  return [pre, more];
}

// prose is a text with its code set apart.
function prose(text) {
  const out = [];
  let said = [], code = null, mark = "";
  const flush = () => { if (said.join("").trim()) out.push(el("div", { class: "prose" }, inline(said.join("\n").trim()))); said = []; };
  for (const line of visible(text).split("\n")) {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line);
    if (code) {
      if (fence && line.trim().startsWith(mark)) { out.push(el("pre", { tabindex: "0", "aria-label": "code" }, code.join("\n"))); code = null; }
      else code.push(line);
    } else if (fence) { flush(); code = []; mark = fence[1]; }
    else said.push(line);
  }
  if (code) out.push(el("pre", { tabindex: "0", "aria-label": "code" }, code.join("\n")));
  flush();
  return out;
}
const inline = (text) => text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((s, i) => i % 2 === 0 ? s : s[0] === "`" ? el("code", null, s.slice(1, -1)) : el("strong", null, s.slice(2, -2)));

function differences(path, lines) {
  const named = { "+": "added", "-": "removed", "@": "hunk", " ": "same" };
  return el("figure", { class: "diff" }, path && el("figcaption", null, el("code", null, oneLine(path, 300))),
    el("pre", { tabindex: "0", "aria-label": "differences" }, lines.slice(0, 5000).map((l) => el("span", { class: named[l.sign] }, (l.sign === "@" ? "" : l.sign) + visible(l.text) + "\n"))));
}

function picture(p) {
  if (!p.data || !/^image\/(png|jpeg|gif|webp)$/.test(p.media_type ?? "") || !/^[A-Za-z0-9+/=]+$/.test(p.data)) {
    return el("p", { class: "soft" }, `A ${p.type === "document" ? "document" : "picture"} (${oneLine(p.media_type, 40)}).`);
  }
  return el("img", { alt: "picture in the conversation", src: "data:" + p.media_type + ";base64," + p.data });
}

function fold(kind, title, kids) {
  return el("details", { class: kind }, el("summary", null, title), kids);
}

function call(p, result) {
  const changes = edits(p.args), shown = result ? result.show || result.text || "" : "";
  return fold("call" + (result?.is_error ? " failed" : ""), [el("strong", null, oneLine(p.name, 60)), " ", el("span", { class: "gist" }, gist(p.args)), " ",
    el("span", { class: "soft" }, result ? result.is_error ? "failed" : "done" : "no result here")], [
    changes.length ? changes.map((c) => differences(c.path, c.lines)) : plain(p.malformed ?? JSON.stringify(p.args ?? {}, null, 2), "arguments"),
    result && output(shown)]);
}
const output = (text) => hunk.test(text) ? differences("", unified(text)) : plain(text, "output");
const gist = (args) => oneLine(Object.values(args && typeof args === "object" ? args : {}).find((v) => typeof v === "string") ?? "", 120);

function part(p, results) {
  switch (p.type) {
    case "text": case "facts": return prose(p.text);
    case "thinking": return p.text ? [fold("thinking", "Thinking", plain(p.text))] : [];
    case "tool_call": return [call(p, results.get(p.call_id))];
    case "tool_result": return results.drawn.has(p.call_id) ? [] : [fold("call" + (p.is_error ? " failed" : ""), [el("strong", null, oneLine(p.name || "result", 60))], output(p.show || p.text || ""))];
    case "image": case "document": return [picture(p)];
    case "search": return [el("p", { class: "soft" }, "Looked up on the web. " + oneLine(p.text, 200))];
  }
  return [el("p", { class: "soft" }, "A part of type " + oneLine(p.type, 40))];
}

const speakers = { user: "You", assistant: "Agent", system: "System", tool_result: "Tool", notice: "ramet", note: "Note", compact: "Summary", import: "Import" };

// happened is an entry that says nothing, in one line.
function happened(e) {
  const m = e.meta;
  switch (e.kind) {
    case "fork": return m.children ? "forked " + m.children.length : "born of a fork";
    case "clear": return "cleared: the context begins anew";
    case "mark": return "mark " + oneLine(m.label);
    case "rewind": return "rewound to message " + oneLine(m.target, 30);
    case "usage": return m.call ? `${oneLine(m.call.model, 60)}: ${whole(m.call.input + m.call.cache_read + m.call.cache_write)} tokens in, ${whole(m.call.output)} out, ${m.call.priced ? money(m.call.cost_nano_usd) : "price unknown"}` : brought(m) ? `${oneLine(brought(m).model, 60)}: ${whole(brought(m).input + brought(m).cache_read + brought(m).cache_write)} tokens in, ${whole(brought(m).output)} out, ${money(brought(m).cost_nano_usd)}` : "a call";
    case "files": return m.files?.changed ? `${whole(m.files.changed)} files changed` : "the state of the files";
    case "command": return "command " + oneLine(m.command, 60);
    case "killed": return "killed" + (m.reason ? ": " + oneLine(m.reason) : "");
    case "redact": return "message " + oneLine(m.target, 30) + " was redacted";
  }
  return oneLine(e.kind, 40);
}

// entry draws one. e is as book.js reads it.
function entry(e, results, out) {
  const link = el("a", { href: "#m" + e.id, class: "soft" }, "message " + e.id);
  const time = e.meta.original_time ? oneLine(e.meta.original_time, 40) : when(e.at);
  const left = [out && "no longer in its context", e.hidden].filter(Boolean).join("; ");
  if (!(e.kind in speakers) || (e.kind === "tool_result" && e.parts.length && e.parts.every((p) => p.type === "tool_result" && results.drawn.has(p.call_id)))) {
    const answered = e.kind === "tool_result";
    return el("div", { id: "m" + e.id, class: "happened" + (out ? " out" : ""), tabindex: "-1" }, link, " ", answered ? "answered above" : happened(e), left && el("em", null, " " + left),
      answered ? [] : e.parts.flatMap((p) => part(p, results)), e.changes.map((c) => fold("call", [el("code", null, oneLine(c.path, 300)), " " + oneLine(c.verb, 20)], c.diff ? differences("", unified(c.diff)) : [oneLine(c.note, 200)])));
  }
  return el("article", { id: "m" + e.id, class: "entry " + e.kind + (out ? " out" : ""), tabindex: "-1" },
    el("header", null, el("strong", null, speakers[e.kind]), " ", el("time", null, time), " ", link, left && el("em", null, " " + left), el("code", { class: "soft hash", title: e.hash }, e.hash.slice(0, 8))),
    e.parts.length ? e.parts.flatMap((p) => part(p, results)) : el("p", { class: "soft" }, e.hidden || "(no text)"));
}
