// A busy server: its answers come late, and events overtake them. Nothing is lost, and nothing that is older is
// put over what is newer.
import assert from "node:assert/strict";
import { eventually } from "./wait.mjs";

export function lateTests({ plan, open, hand, id }) {
  const base = plan.ordinary, on = hand(base), all = {};

  // hold keeps the answers of an address, as they were when they were asked for, until each is let go.
  const hold = async (page, address, body) => {
    const held = [];
    let over = false;
    await page.route(address, async (r) => {
      const answer = body ? { json: body() } : { response: await r.fetch() };
      if (!over) await new Promise((go) => held.push(go));
      await r.fulfill(answer).catch(() => {});
    });
    const until = (n) => eventually(`question ${n} to ${address}`, () => held.length >= n);
    // The route stays: without it the browser would ask the server again for what is held.
    const letGo = () => { over = true; for (const go of held.toReversed()) go(); }; // what was asked for last comes first
    return { held, until, letGo };
  };

  all["a question is not taken back by an older answer"] = async () => {
    const page = await open(base + "/#/agents/" + id(9), { name: "late question" });
    await page.locator(".link.live").waitFor();
    const heard = async (text) => {
      await on.post("entry", { agent: id(9), text });
      await page.locator(".entry.assistant", { hasText: text }).waitFor();
    };
    const none = { asks: [] }, one = { asks: [{ id: "late-1", agent_uuid: id(9), tool: "bash", text: "make late", subject: "make late", asked_at: new Date().toISOString(), choices: [{ choice: "no", text: "no" }, { choice: "once", text: "once" }] }] };
    const first = [none], gate = await hold(page, "**/api/v1/permissions", () => first.shift() ?? one);
    await on.post("tell", { type: "answered", agent_uuid: id(9) });
    await gate.until(1); // an answer is under way that knows of no question
    await on.post("tell", { type: "asking", agent_uuid: id(9) });
    await heard("behind the question");
    gate.letGo();
    await page.locator(".ask", { hasText: "make late" }).waitFor();
    await heard("behind the answers");
    assert.equal(await page.locator(".ask").count(), 1, "the question stays");
    await page.leave();
  };

  all["what is said before the first page and the stream are here"] = async () => {
    const page = await open(base + "/#/agents", { name: "late page" });
    const first = await hold(page, "**/messages?*"), events = [];
    let held = true; // also what is asked for while the page loads anew
    await page.route("**/api/v1/events*", async (r) => { if (held) await new Promise((go) => events.push(go)); await r.continue(); });
    await on.post("cut");
    await page.goto(base + "/#/agents/" + id(10));
    await page.reload();
    await first.until(1);
    await on.post("entry", { agent: id(10), text: "in between" });
    await eventually("the stream", () => events.length > 0);
    held = false;
    for (const go of events) go();
    await page.locator(".link.live").waitFor();
    first.letGo();
    await page.locator(".entry.assistant", { hasText: "in between" }).waitFor();
    await page.leave();
  };

  all["where one goes while the end is read"] = async () => {
    const page = await open(base + "/#/agents", { name: "late beginning" });
    await page.locator(".link.live").waitFor();
    const gate = await hold(page, "**/messages?before=*");
    await page.goto(base + "/#/agents/" + id(5));
    await gate.until(1);
    await page.getByRole("button", { name: "Beginning" }).click();
    await page.getByText("line 0", { exact: true }).waitFor();
    const came = page.waitForEvent("requestfinished", (r) => r.url().includes("before="));
    gate.letGo(); // the end comes, and nobody wants it any more
    await came;
    await on.post("entry", { agent: id(5), text: "behind the beginning" });
    await page.locator(".talktools .unread", { hasText: "1" }).waitFor();
    assert.equal(await page.getByText("line 0", { exact: true }).count(), 1, "the beginning stays");
    await page.leave();
  };

  all["what is said while the end is read"] = async () => {
    const page = await open(base + "/#/agents/" + id(5), { name: "late end" });
    await page.locator(".link.live").waitFor();
    await page.getByRole("button", { name: "Beginning" }).click();
    await page.getByText("line 0", { exact: true }).waitFor();
    const gate = await hold(page, "**/messages?*");
    await page.locator(".talktools button", { hasText: "End" }).click();
    await gate.until(1);
    await on.post("entry", { agent: id(5), text: "said while the end is read" });
    await page.locator(".talktools .unread", { hasText: "1" }).waitFor();
    gate.letGo();
    await page.getByText("said while the end is read").waitFor();
    await page.leave();
  };

  all["what is typed and chosen while a prompt is sent"] = async () => {
    const page = await open(base + "/#/agents/" + id(11), { name: "late prompt" });
    await page.locator(".facts", { hasText: "Driven by" }).waitFor();
    await page.getByLabel("claude model").selectOption("large");
    const gate = await hold(page, "**/prompt"), composer = page.locator("#composer");
    await composer.fill("the first of two");
    await composer.press("Enter");
    await gate.until(1);
    await page.locator(".entry.assistant", { hasText: "echo: the first of two" }).waitFor(); // and the answer is not here yet
    await page.getByLabel("claude model").selectOption("fast");
    await composer.fill("the second of two");
    await composer.press("Enter");
    gate.held[0]();
    await gate.until(2);
    gate.held[1]();
    await page.locator(".entry.assistant", { hasText: "echo: the second of two" }).waitFor();
    await page.waitForFunction(() => document.querySelector("#composer").value === "");
    const went = (await on.seen()).filter((s) => s.startsWith("prompt model=")).slice(-2);
    assert.deepEqual(went, ["prompt model=driver/claude/large", "prompt model=driver/claude/fast"], "each goes with what was chosen for it");
    await page.leave();
  };
  return all;
}
