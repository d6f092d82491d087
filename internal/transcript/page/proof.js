// The proof: what internal/chain specifies, over the data of this file.
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
  const hashes = new Map(), heads = new Map(), proof = { entries: 0, contents: 0, without: 0, open: 0 };
  for (const s of book.stretches) for (const e of s.entries) hashes.set(e.id, e.hash);
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
        proof.contents++;
      } else proof.without++;
      prev = e.hash;
      last = e.id;
      if (++proof.entries % 100 === 0) await tell(proof.entries);
    }
    if (s.last) heads.set(s.agent, prev);
  }
  for (const a of book.agents) need(!heads.has(a.uuid) || heads.get(a.uuid) === a.head, `agent ${a.uuid} does not end with its head`);
  return proof;
}

async function blobsOf(book, e, where) {
  for (const p of e.content ? JSON.parse(e.content) : []) {
    if (!p.blob) continue;
    need(Object.hasOwn(book.blobs, p.blob), where + ": a content is missing");
    const b = book.blobs[p.blob];
    need(await digest(b.base64 !== undefined ? unbase64(b.base64) : utf8.encode(b.text)) === p.blob, where + ": a content is not what its hash says");
  }
}
