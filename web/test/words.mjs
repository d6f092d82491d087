// What the views say in words and marks: the lineage's picture, the seal of a run, the rows of a timeline, who
// refused a call, and what an agent does, in the list and in its header at once.
import assert from "node:assert/strict";
import { eventually } from "./wait.mjs";

export function wordTests({ plan, open, hand, id, launch }) {
  const base = plan.ordinary, on = hand(base), all = {};

  all["the lineage's letters, kills and ends"] = async () => {
    const page = await open(base + "/#/agents?view=lineage", { viewport: { width: 1440, height: 2400 }, name: "lineage marks" });
    await page.locator(".drawing .fork").first().waitFor();
    const { agents, letters } = await (await fetch(base + "/api/v1/lineage")).json();
    // Each letter is one arc, and who has not read it sees that; each that was killed has one cross.
    const count = (path, what) => page.locator(path).evaluateAll((all, what) => all.reduce((n, e) => n + (e.getAttribute("d").match(new RegExp(what, "g")) ?? []).length, 0), what);
    const own = ".drawing:not(.through) ";
    assert.ok(letters.length > 3 && letters.some((l) => l.read) && letters.some((l) => !l.read));
    assert.equal(await count(own + ".mail:not(.unread)", "M"), letters.filter((l) => l.read).length, "letters that were read");
    assert.equal(await count(own + ".mail.unread", "M"), letters.filter((l) => !l.read).length, "letters that nobody read");
    const killed = agents.filter((a) => a.killed && a.state.word !== "done"), ended = agents.filter((a) => a.killed && a.state.word === "done");
    assert.ok(killed.length > 0 && ended.length > 0);
    assert.equal(await count(own + ".kill", "M"), 2 * killed.length, "two strokes for each kill");
    // An arc goes from the lane of one to that of the other; a cross stands at the end of its line.
    const lane = (a) => page.locator(`.lane[aria-label^="${a.name},"]`);
    const middle = async (a) => { const b = await lane(a).boundingBox(); return b.y + b.height / 2; };
    const ends = (path) => page.locator(path).evaluateAll((all) => all.flatMap((e) => {
      const top = e.ownerSVGElement.getBoundingClientRect().top;
      return [...e.getAttribute("d").matchAll(/M(\S+) (\S+)Q\S+ \S+ (\S+) (\S+?)(?=M|$)/g)].map(([, , y, , y2]) => [top + Number(y), top + Number(y2)]);
    }));
    const plain = (a) => a && agents.filter((b) => b.name === a.name).length === 1 && /^[\w ]+$/.test(a.name), of = (uuid) => agents.find((a) => a.uuid === uuid);
    const letter = letters.find((l) => plain(of(l.from_uuid)) && plain(of(l.to_uuid)));
    assert.ok(letter, "a letter between two that have names of their own");
    const [from, to] = [await middle(of(letter.from_uuid)), await middle(of(letter.to_uuid))];
    assert.ok((await ends(own + ".mail")).some(([y, y2]) => Math.abs(y - from) < 2 && Math.abs(y2 - to) < 2), `an arc from ${from} to ${to}`);
    const one = killed.find(plain) ?? killed[0], cross = await page.locator(own + ".kill").evaluateAll((all) => all.flatMap((e) => {
      const { top, left } = e.ownerSVGElement.getBoundingClientRect();
      return [...e.getAttribute("d").matchAll(/M(\S+) (\S+)L(\S+) (\S+?)(?=M|$)/g)].map(([, x, y, x2, y2]) => [left + (Number(x) + Number(x2)) / 2, top + (Number(y) + Number(y2)) / 2]);
    }));
    assert.ok(cross.some(([, y]) => y > 0), "crosses have places");
    assert.match(await lane(one).getAttribute("aria-label"), /, killed/);
    const at = await middle(one);
    assert.ok(cross.some(([, y]) => Math.abs(y - at) < 2), "the cross is on the lane of who was killed");
    // Who was done is over, and was not killed: no cross, no line through the name, and its words say so.
    const over = ended.find((a) => a.name === "finished"), words = await lane(over).getAttribute("aria-label"), there = await middle(over);
    assert.match(words, /^finished, done, /);
    assert.ok(!cross.some(([, y]) => Math.abs(y - there) < 2), "no cross for who was done");
    const struck = (name) => page.locator(".who", { hasText: name }).first().locator("bdi").evaluate((e) => getComputedStyle(e).textDecorationLine);
    assert.equal(await struck("finished"), "none");
    assert.equal(await struck(one.name), "line-through");
    await page.leave();
  };

  all["the seal of a run"] = async () => {
    const page = await open(base + "/#/logs/done-1", { name: "seal" }), seal = page.locator(".seal");
    await seal.locator(".badge.good", { hasText: "verified" }).waitFor();
    await page.goto(base + "/#/logs/docs-2026");
    await page.locator(".seal", { hasText: "120 events chained, 110 of 120 under a signed checkpoint" }).waitFor();
    await page.goto(base + "/#/logs/broken-1");
    await seal.locator(".badge.bad", { hasText: "chain broken" }).waitFor();
    assert.match(await seal.textContent(), /line 5: the hash is not that of the event/);
    assert.equal(await page.locator(".erow .mark.bad").count(), 1, "the page has found it too");
    await page.leave();
  };

  all["the rows of a timeline are words"] = async () => {
    const page = await open(base + "/#/runs/" + launch, { viewport: { width: 1440, height: 2000 }, name: "timeline words" });
    await page.locator(".frow .label", { hasText: "cloned inputs" }).waitFor();
    const rows = await page.locator(".frow:not(.head) .label").allTextContents(), said = rows.slice(1); // the first is the run
    assert.ok(said.length > 20 && said.includes("created") && said.includes("drafter: section 1 1") && said.includes("gate section 1 4") && said.includes("offline/demo"), said.join(" | "));
    for (const row of said) assert.doesNotMatch(row, /[A-Z]{2}|-a\d|_|docs-2026/, row);
    await page.leave();
  };

  all["who refused a call is found"] = async () => {
    await on.post("parts", { agent: id(3), kind: "assistant", parts: [{ type: "tool_call", call_id: "held", name: "bash", args: { command: "make publish" } }] });
    await on.post("parts", { agent: id(3), kind: "tool_result", parts: [{ type: "tool_result", call_id: "held", name: "bash", text: "not now", is_error: true }], meta: { permission: { answer: "refused", by: "rule", rule: "bash(make publish)", from: "project" } } });
    const page = await open(base + "/#/agents/" + id(3), { name: "refused" }), call = page.locator(".call", { hasText: "make publish" });
    await call.waitFor();
    await page.getByRole("searchbox", { name: "Find in this conversation" }).fill("refused by rule");
    await page.locator(".finder [role=status]", { hasText: "1 message" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".aimed .call .permitted", { hasText: "refused by rule bash(make publish) (project)" }).waitFor(); // in sight: its fold is open
    await page.waitForFunction(() => CSS.highlights.get("found")?.size > 0); // the words are marked
    await call.locator("summary").click(); // and can be shut
    await page.evaluate(() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))); // it was drawn
    assert.equal(await call.evaluate((e) => e.open), false);
    await page.leave();
  };

  all["the list says what the header says"] = async () => {
    await on.post("state", { agent: id(9), word: "interrupted" });
    const page = await open(base + "/#/agents/" + id(9), { viewport: { width: 1440, height: 900 }, name: "one state" });
    const row = page.locator(".side .hrow.current .does"), head = page.locator(".titled .badge");
    await row.filter({ hasText: "interrupted" }).waitFor();
    // A server that has much to do: its answers are as old as the question, and come when they are let go.
    const held = [], until = (n) => eventually(`question ${n} for the list`, () => held.length >= n);
    await page.route("**/api/v1/home*", async (r) => {
      const answer = await r.fetch();
      await new Promise((go) => held.push(go));
      await r.fulfill({ response: answer }).catch(() => {});
    });
    await on.post("state", { agent: id(9), word: "working" });
    await head.filter({ hasText: "working" }).waitFor();
    await row.filter({ hasText: "working" }).waitFor();
    await until(1); // an answer is under way that says "working"
    await on.post("state", { agent: id(9), word: "interrupted" });
    await row.filter({ hasText: "interrupted" }).waitFor();
    assert.equal(held.length, 1, "nobody asks again while an answer is under way");
    held[0]();
    await until(2); // it has come, and what it says is older than what is shown
    assert.equal(await row.textContent(), "interrupted");
    held[1]();
    await on.post("state", { agent: id(9), word: "idle" });
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.leave();
  };
  return all;
}
