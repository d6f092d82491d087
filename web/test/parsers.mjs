// The readers of foreign text, on many random inputs: SSE, Markdown, what is made
// visible, and the chain of a run. The seed is fixed: a failure comes back.
import assert from "node:assert/strict";
import { createServer } from "vite";

let seed = 1;
const random = (n) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};
const pick = (list) => list[random(list.length)];
const some = (alphabet, most) => Array.from({ length: random(most) }, () => pick(alphabet)).join("");

export async function parsers(root) {
  const vite = await createServer({ root, appType: "custom", logLevel: "error", server: { middlewareMode: true, hmr: false, ws: false, watch: null }, optimizeDeps: { noDiscovery: true } });
  try {
    const load = (path) => vite.ssrLoadModule(path);
    stream(await load("/src/api/stream.ts"));
    markdown(await load("/src/text/markdown.tsx"));
    pages(await load("/src/parts/sources.tsx"));
    seen(await load("/src/text/visible.ts"));
    diffs(await load("/src/text/diff.ts"));
    titles(await load("/src/text/record.ts"));
    await chain(await load("/src/text/proof.ts"));
  } finally {
    await vite.close();
  }
}

// However a stream is cut into pieces, it tells the same.
function stream({ parser }) {
  const read = (pieces) => {
    const out = [];
    const feed = parser((event, data) => out.push([event, data]), (id) => out.push(id));
    for (const p of pieces) feed(p);
    return out;
  };
  assert.deepEqual(read([": alive\nid: e-1\n\n", "id: e-2\r\nevent: lost\r\ndata: a\r\ndata:b\r\n\r\n", "data: cut off"]), ["e-1", "e-2", ["lost", "a\nb"]]);
  for (let i = 0; i < 2000; i++) {
    const text = some(["data:", "data: ", "id: 7", "id:\0", "event: x", ":c", "\n", "\n", "\n\n", "\r\n", "\r", "a", "\u2028", "é"], 40);
    const pieces = [];
    for (let at = 0; at < text.length;) {
      const n = 1 + random(5);
      pieces.push(text.slice(at, at + n));
      at += n;
    }
    assert.deepEqual(read(pieces), read([text]), JSON.stringify(text));
  }
}

const allowed = { a: ["href", "title", "target", "rel"], ol: ["class"], div: ["class"], p: ["class"] };
const tags = new Set(["div", "p", "ol", "li", "a", "span"]);

// walk draws elements and counts them; only harmless ones may be among them.
function walk(root) {
  let n = 0, text = "";
  const stack = [root];
  while (stack.length) {
    const v = stack.pop();
    if (v === null || v === undefined || typeof v === "boolean") continue;
    if (Array.isArray(v)) stack.push(...v.toReversed());
    else if (typeof v !== "object") text += v;
    else if (typeof v.type === "function") {
      const drawn = v.type.prototype?.render ? Object.assign(new v.type(v.props), { props: v.props }).render() : v.type(v.props);
      stack.push(drawn);
    } else {
      n++;
      assert.ok(tags.has(v.type), "an element " + v.type);
      for (const [key, value] of Object.entries(v.props)) {
        if (key === "children") continue;
        assert.ok(allowed[v.type]?.includes(key), v.type + " has " + key);
        if (key === "href") assert.match(value, /^(https?:\/\/|mailto:)/i);
      }
      stack.push(v.props.children);
    }
  }
  return { n, text };
}

// Pages are links of the web and nothing else, each once; texts in pieces are one.
function pages({ Sources, joined }) {
  const parts = [{ type: "text", text: "a", sources: [{ url: "https://a.b", title: "A" }, { url: "javascript:x", title: "evil" }] },
    { type: "search", text: "q", sources: [{ url: "https://a.b", title: "again" }, { url: "https://c.d" }, {}] }];
  assert.deepEqual(walk({ type: Sources, props: { parts } }), { n: 9, text: "SourcesAevilhttps://c.d" });
  assert.deepEqual(walk({ type: Sources, props: { parts: [{ type: "text", text: "a" }] } }), { n: 0, text: "" });
  const texts = (list) => joined(list.map((p) => ({ p }))).map(({ p }) => p.text);
  assert.deepEqual(texts([{ type: "text", text: "a" }, { type: "text", text: "b", sources: [{ url: "x" }] }, { type: "text", text: "c" }, { type: "search", text: "d" }, { type: "text", text: "e" }, { type: "text", text: "f" }]), ["abc", "d", "e", "f"]);
}

// What the reader of Markdown makes is harmless before anything cleans it: known tags, known
// attributes, links into the web, and each text escaped.
function markdown({ pieces, allowed }) {
  const draw = (text) => {
    const html = pieces(text);
    if (html === null) return null;
    let said = "";
    for (const [, plain, tag, attributes] of html.join("\n").matchAll(/([^<]+)|<\/?([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*) ?>|<|>/g)) {
      if (plain !== undefined) {
        assert.ok(!plain.includes(">"), "not escaped: " + plain);
        said += plain;
        continue;
      }
      assert.ok(allowed.tags.includes(tag), "an element " + tag + " of " + JSON.stringify(text));
      for (const [, key, value] of (attributes ?? "").matchAll(/ ([a-z-]+)="([^"]*)"/g)) {
        assert.ok(allowed.attributes.includes(key), tag + " has " + key);
        if (key === "href") assert.match(value, /^(https?:\/\/|mailto:)/i);
      }
    }
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(said, /[\0-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]/, JSON.stringify(text));
    return said;
  };
  assert.match(draw("a <b onclick=x>c</b> [d](javascript:e) **f**"), /^a &lt;b onclick=x&gt;c&lt;\/b&gt; d \(javascript:e\) f\n$/);
  assert.equal(draw("&#x202e;x &#27;[31m"), "\ufffdx \ufffd[31m\n");
  assert.equal(draw("> ".repeat(200) + "hidden?"), null, "too deep is shown as it is");
  const bits = ["*", "**", "_", "`", "```\n", "```go\n", "~~", "[", "](", ")", "!", "](javascript:x)", "](https://a.b/c)", "https://x.y", "# ", "- ", "- [ ] ", "1. ", "> ", "|", "|-|", "|:-:|", "\n", "\n\n", "  ", "\\", "<b>", "<script>", "&amp;", "&lt;", "\"", "a", "\u202e", "\0", "\ud83d\ude00", "\t"];
  for (let i = 0; i < 1000; i++) draw(some(bits, 60));
  // Each of these takes for ever in a reader that looks ahead again and again.
  for (const bit of ["[", "![", "](", "**a ", "*a ", "_a", "`", "`` ` ", "~~a", "> ", "- ", "|a", "|-", "http://", "[a](", "<", "\n>", "\n- ", "[![a]("]) pieces(bit.repeat(Math.ceil(10_000 / bit.length)));
}

function seen({ visible, oneLine, entire }) {
  // What a person decides about is there to its last character, whatever a terminal would make of it.
  for (const hides of ["\x1b]", "\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b[", "\x1b[0;", "\x9d", "\r", "\u202e", "\xad"]) {
    const line = "echo ok #" + hides + "\nrm -rf build";
    for (const show of [visible, entire]) assert.ok(show(line).includes("rm -rf build"), JSON.stringify([line, show(line)]));
  }
  for (let i = 0; i < 3000; i++) {
    const text = some(["a", "\n", "\t", "\r", "\x1b[31m", "\x1b]0;x\x07", "\x1b", "\0", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "😀", "\ud800", "\u{e0041}"], 30);
    const clean = visible(text);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(clean, /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u, JSON.stringify(text));
    assert.doesNotMatch(oneLine(text), /[\n\t]/);
    assert.equal(entire(text).replace(/\u27e8([0-9A-F]+)\u27e9/g, (_, n) => String.fromCodePoint(parseInt(n, 16))), text);
  }
}

// Records are called by words, not by their ids.
function titles({ recordTitle }) {
  const of = (job_type, run_id, more = {}) => recordTitle({ job_type, run_id, agent_name: "", ...more }, "docs-2026");
  assert.equal(of("orchestrator_node", "docs-2026-orchestrator_node-CREATED-a1"), "created");
  assert.equal(of("orchestrator_node", "docs-2026-orchestrator_node-CLONED_INPUTS-a3"), "cloned inputs, attempt 3");
  assert.equal(of("worker", "docs-2026-worker-section-intro-a2", { agent_name: "drafter" }), "drafter: section intro, attempt 2");
  assert.equal(of("worker", "agent-x-worker-0123456789abcdef-a1", { agent_name: "parser" }), "turn of parser");
  assert.equal(of("gate", "docs-2026-gate-links-a1"), "gate links");
  assert.equal(of("llm_call", "docs-2026-llm_call-77-a1", { context_json: { model: "offline/demo" } }), "offline/demo");
}

// The example of docs/run-log.md.
async function chain({ check, canonical }) {
  assert.equal(canonical({ b: [1, 0.5, null], a: "<é\u2028", "\u{1f600}": {}, "\ufb33": true }), '{"a":"<é\u2028","b":[1,0.5,null],"😀":{},"\ufb33":true}');
  const first = { event_id: "evt-1", ts: "2026-01-15T14:22:10Z", type: "RUN_CREATED", payload: { run_id: "r1" }, prev_hash: "", event_hash: "9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534" };
  const second = { event_id: "evt-2", ts: "2026-01-15T14:22:11Z", type: "RUN_STATE_CHANGED", payload: { old_state: "CREATED", new_state: "CLONED_INPUTS" }, prev_hash: first.event_hash, event_hash: "5b768359d0ebffcbd2a61b95fcfc57e5680ff115be7668db82836ff18b32cebd" };
  assert.deepEqual(await check([first, second], ""), ["ok", "ok"]);
  assert.deepEqual(await check([{ ...first, ts: "2026-01-15T14:22:12Z" }, second], ""), ["hash", "ok"]);
  assert.deepEqual(await check([second], "another"), ["link"]);
}

// A diff keeps every line, and its numbers go on from those of its hunks.
function diffs({ diffLines }) {
  const got = diffLines("--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@\n same\n-old\n+new\n+-- odd\n@@ -9 +10 @@\n--- gone\n+++ came\n");
  assert.deepEqual(got.map((l) => [l.kind, l.before, l.after, l.text]), [
    ["hunk", undefined, undefined, "@@ -3,2 +3,3 @@"], ["same", 3, 3, "same"], ["removed", 4, undefined, "old"], ["added", undefined, 4, "new"], ["added", undefined, 5, "-- odd"],
    ["hunk", undefined, undefined, "@@ -9 +10 @@"], ["removed", 9, undefined, "-- gone"], ["added", undefined, 10, "++ came"]]);
  for (let i = 0; i < 2000; i++) {
    const text = some(["@@ -1 +1 @@", "@@ -1,99999 +1,2 @@", "\n", "\n", "+", "-", " ", "a", "\\ No newline", "é", "\r", "\0"], 40);
    assert.ok(diffLines(text).length <= text.split("\n").length);
  }
}
