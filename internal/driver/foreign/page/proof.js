// The proof: what internal/base/chain specifies, over the data of this file.
const utf8 = new TextEncoder();
const unhex = (s) => Uint8Array.from(s.match(/../g) ?? [], (x) => parseInt(x, 16));
const unbase64 = (s) => Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
const hash64 = /^[0-9a-f]{64}$/;

function joined(a, b) {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

class Broken extends Error {}
const need = (ok, what) => { if (!ok) throw new Broken(what); };

// prove throws Broken at the first thing that does not fit. tell hears of every hundredth entry.
async function prove(book, tell) {
  const hashes = new Map(), proof = { entries: 0, contents: 0, without: 0, open: 0 };
  for (const s of book.stretches) for (const e of s.entries) {
    need(Number.isInteger(e.id) && !hashes.has(e.id), `message ${e.id} stands there twice`); // one would be proved, and the other shown
    hashes.set(e.id, e.hash);
  }
  anchored(book, hashes);
  const agents = new Map(book.agents.map((a) => [a.uuid, a]));
  for (const s of book.stretches) {
    let prev = s.prev, last = 0;
    need(!hashes.has(s.on) || hashes.get(s.on) === prev, `agent ${s.agent} does not hang on message ${s.on}`);
    for (const e of s.entries) {
      const where = "message " + e.id;
      need(e.id > last && hash64.test(e.hash) && hash64.test(e.commitment), where + " is not in its place");
      if (e.meta !== null) {
        const bytes = `["ramet/1","${e.id}","${e.at}","${s.agent}","${e.kind}",${e.meta},"${e.commitment}","${prev}"]`;
        need(await digest(utf8.encode(bytes)) === e.hash, where + ": its hash does not fit what stands there and what stands before it");
      } else proof.open++;
      if (e.content !== null) {
        need(await digest(joined(unhex(e.salt ?? ""), utf8.encode(e.content))) === e.commitment, where + ": its content does not fit its commitment");
        await blobsOf(book, e, where);
        if (e.meta !== null) proof.contents++; // else nothing proves the commitment
      } else proof.without++;
      prev = e.hash;
      last = e.id;
      if (++proof.entries % 100 === 0) await tell(proof.entries);
    }
    if (s.last) need(prev === agents.get(s.agent).head, `agent ${s.agent} does not end with its head`);
  }
  return proof;
}

// anchored refuses entries that no head proves, and a conversation that leaves out some of them: each agent ends
// with its head, each other stretch where the next one hangs, and a conversation goes from there to there.
function anchored(book, hashes) {
  const ends = new Set(), begins = new Map(), hung = new Set(), cleared = new Set();
  for (const s of book.stretches) {
    for (const e of s.entries) if (e.kind === "clear") cleared.add(s.agent + " " + e.id);
    if (!hashes.has(s.on)) cleared.add(s.agent + " " + s.on); // it is not in the file: the clear before its first entry
    if (s.last) {
      need(!ends.has(s.agent), `agent ${s.agent} ends twice`);
      ends.add(s.agent);
    }
    if (s.last || s.entries.length) hung.add(s.on);
    if (!begins.has(s.agent)) begins.set(s.agent, s.on);
  }
  const known = new Set(book.agents.map((a) => a.uuid));
  for (const s of book.stretches) {
    need(s.last ? known.has(s.agent) : !s.entries.length || hung.has(s.entries.at(-1).id), `agent ${s.agent}: no head proves message ${s.entries.at(-1)?.id}`);
  }
  need(known.size === book.agents.length, "an agent stands there twice");
  for (const a of book.agents) {
    need(ends.has(a.uuid) && a.ranges.length, `agent ${a.uuid} does not end with its head`);
    a.ranges.forEach((r, i) => {
      const next = a.ranges[i + 1], whole = r.start_id === 0 ? i > 0 || begins.get(r.agent_uuid) === 0 : i === 0 && cleared.has(r.agent_uuid + " " + r.start_id);
      need(whole && (next ? r.end_id === begins.get(next.agent_uuid) : r.end_id === null && r.agent_uuid === a.uuid), `the conversation of agent ${a.uuid} has a gap`);
    });
  }
}

async function blobsOf(book, e, where) {
  for (const p of e.content ? JSON.parse(e.content) : []) {
    if (!p.blob) continue;
    need(Object.hasOwn(book.blobs, p.blob), where + ": a content is missing");
    const b = book.blobs[p.blob];
    need(await digest(b.base64 !== undefined ? unbase64(b.base64) : utf8.encode(b.text)) === p.blob, where + ": a content is not what its hash says");
  }
}
