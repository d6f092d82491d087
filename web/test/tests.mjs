// What the walk looks at. Each test has a page of its own.
import assert from "node:assert/strict";
import { lateTests } from "./late.mjs";
import { listTests } from "./lists.mjs";
import { eventually } from "./wait.mjs";
import { wordTests } from "./words.mjs";

const id = (n) => "agent" + String(n).padStart(17, "0");
const launch = "00000000-0000-4000-8000-000000000001";

// views are the address of each, and what shows that it is there.
const views = [
  ["agents", "#/agents", ".hrow"],
  ["tree", "#/agents?view=tree", ".trow:not(.head)"],
  ["lineage", "#/agents?view=lineage", ".lane"],
  ["agent", "#/agents/" + id(0), ".entry.assistant"],
  ["agent-aimed", "#/agents/" + id(0) + "?at=3", ".aimed"],
  ["agent-hostile", "#/agents/" + id(7), ".entry.assistant"],
  ["agent-program", "#/agents/" + id(11), "#program-mode"],
  ["agent-mail", "#/agents/" + id(4) + "?tab=mail", ".letter"],
  ["agent-unknown", "#/agents/nobody", ".failure"],
  ["runs", "#/runs", "table.runs"],
  ["records", "#/records?kind=worker", "table.list"],
  ["timeline", "#/runs/" + launch, ".frow:not(.head)"],
  ["log-events", "#/logs/docs-2026", ".erow .mark.good"],
  ["log-broken", "#/logs/broken-1", ".erow .mark.bad"],
  ["log-items", "#/logs/docs-2026?tab=items", ".sheet table"],
  ["log-issues", "#/logs/docs-2026?tab=issues", ".sheet table"],
  ["log-sections", "#/logs/docs-2026?tab=sections", ".sheet table"],
  ["ledger", "#/ledger", "table.list"],
  ["usage", "#/usage", ".part:last-child svg"],
  ["search", "#/search?q=chain", ".found"],
  ["nowhere", "#/nowhere", ".empty"],
];
// Colours are checked once in light and once in dark, the rest on the phone.
const sizes = [["phone", 390, 844, "light", "too"], ["wide", 1440, 900, "dark", "only"]];

export function Tests({ plan, open, sound, boxes, texts, accessible, hand, faults }) {
  const base = plan.ordinary, on = hand(base);
  const looking = {}, all = {}, said = {};
  for (const [size, width, height, scheme, colours] of plan.short ? sizes.slice(0, 1) : sizes) {
    looking[`every view, ${size}, ${scheme}`] = async () => {
      const page = await open(base, { viewport: { width, height }, colorScheme: scheme, name: size });
      for (const [name, address, ready] of views) {
        await page.goto(base + "/" + address);
        await page.locator(ready).first().waitFor();
        if (name === "agent-hostile" || name === "agent") await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
        if (name === "usage") {
          await page.locator(".part .figures").nth(4).waitFor();
          await page.locator(".budget", { hasText: "$1.61 of $5.00" }).waitFor();
          await page.locator(".byrun", { hasText: "docs-2026" }).waitFor();
        }
        if (name.startsWith("log-")) await page.locator(".seal .badge:not(.busy)").waitFor();
        await sound(page, `${name} ${size}`);
        for (const b of await boxes(page)) faults.push(`${name} ${size}: ${b}`);
        const words = JSON.stringify(await texts(page)); // at 390 pixels a view says what it says at 1440
        if (said[name] !== undefined && said[name] !== words) faults.push(`${name}: one width says ${words}, the other ${said[name]}`);
        said[name] = words;
        await accessible(page, `${name} ${size} ${scheme}`, colours);
        await page.screenshot({ path: `${plan.shots}/${name}-${size}-${scheme}.png` });
      }
      await page.leave();
    };
  }

  looking["empty, and signed out"] = async () => {
    const page = await open(plan.empty, { name: "empty" });
    for (const view of ["agents", "runs", "records", "ledger", "usage", "search?q=x"]) {
      await page.goto(plan.empty + "/#/" + view);
      await page.locator(".empty").first().waitFor();
      await accessible(page, "empty " + view);
    }
    await page.leave();
    const out = await open(plan.closed, { name: "signed out" });
    await out.getByText("ramet web").waitFor();
    await accessible(out, "signed out");
    assert.deepEqual(await boxes(out), []);
    await out.evaluate(() => { // that it can see
      const { left, top } = document.querySelector("h1").getBoundingClientRect();
      Object.assign(document.querySelector("button").style, { position: "fixed", left: left + "px", top: top + "px" });
    });
    assert.ok((await boxes(out)).length > 0, "a button over other things is seen");
    await out.reload();
    await out.getByText("ramet web").waitFor();
    await out.screenshot({ path: plan.shots + "/signed-out.png" });
    await out.leave();
  };

  all["keyboard only"] = async () => {
    const page = await open(base + "/#/agents?view=tree", { name: "keyboard" });
    const key = (k) => page.keyboard.press(k);
    const focus = () => page.evaluate(() => {
      const e = document.activeElement, s = getComputedStyle(e);
      return { what: e.className || e.id || e.tagName, text: (e.getAttribute("aria-label") ?? e.textContent ?? "").slice(0, 40), ring: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 };
    });
    await page.locator(".trow:not(.head)").first().waitFor();
    await key("Tab");
    assert.equal((await focus()).text, "Skip to the content");
    await key("Enter");
    assert.equal((await focus()).what, "main");
    // Every stop shows where it is, and the tree is one of them.
    for (let i = 0; ; i++) {
      assert.ok(i < 30, "the tree was never reached");
      await key("Tab");
      const at = await focus();
      assert.ok(at.ring, "no ring around " + at.what + " " + at.text);
      if (at.what.startsWith("rows")) break;
    }
    // A row that was out of sight is drawn with the next frame.
    const reaches = (want) => page.waitForFunction(
      (w) => document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.querySelector(".label")?.textContent === w, want);
    await reaches("root");
    await key("ArrowDown");
    await reaches("parser");
    await key("ArrowLeft");
    await reaches("root");
    const rows = () => page.evaluate(() => Number(document.activeElement.getAttribute("aria-rowcount")));
    const before = await rows();
    await key("ArrowLeft");
    await page.waitForFunction((n) => Number(document.activeElement.getAttribute("aria-rowcount")) < n, before);
    await key("ArrowRight");
    await page.waitForFunction((n) => Number(document.activeElement.getAttribute("aria-rowcount")) === n, before);
    await key("End");
    await reaches("chain");
    await key("Home");
    await key("Enter");
    await page.locator(".entry.assistant").first().waitFor();
    assert.equal((await focus()).what, "H1");
    for (let i = 0; (await focus()).what !== "composer"; i++) {
      assert.ok(i < 60, "the prompt was never reached");
      await key("Tab");
    }
    await page.keyboard.type("hello from the keys");
    await key("Shift+Enter");
    assert.equal(await page.locator("#composer").inputValue(), "hello from the keys\n");
    await key("Backspace");
    await key("Enter");
    await page.locator(".entry.assistant", { hasText: "echo: hello from the keys" }).waitFor();
    await page.waitForFunction(() => document.querySelector("#composer").value === ""); // as soon as it is known that it arrived
    await page.locator("h1").focus();
    await key("/");
    await page.keyboard.type("parser");
    await key("Enter");
    await page.locator(".found a", { hasText: "parser" }).first().waitFor();
    await page.locator(".found a", { hasText: "message" }).first().waitFor();
    await page.leave();
  };

  all["live, cut and live again"] = async () => {
    const page = await open(base + "/#/agents/" + id(3), { name: "stream" });
    await page.locator(".link.live").waitFor();
    await page.getByText("No messages yet").waitFor();
    await on.post("tell", { type: "turn_started", agent_uuid: id(3), turn: 1 });
    await on.post("tell", { type: "text_delta", agent_uuid: id(3), text: "half a **sen" });
    await page.locator(".coming", { hasText: "half a **sen" }).waitFor();
    await on.post("tell", { type: "call_started", agent_uuid: id(3), call_id: "x", tool: "bash" });
    await on.post("tell", { type: "call_output", agent_uuid: id(3), call_id: "x", text: "<b class=injected>line</b>" });
    await page.locator(".coming pre", { hasText: "line" }).waitFor();
    await on.post("entry", { agent: id(3), text: "first" });
    await page.locator(".entry.assistant", { hasText: "first" }).waitFor();
    await on.post("cut");
    await on.post("entry", { agent: id(3), text: "while away" });
    await page.locator(".entry.assistant", { hasText: "while away" }).waitFor();
    assert.equal(await page.locator(".entry.assistant", { hasText: "while away" }).count(), 1);
    const streams = (await on.seen()).filter((s) => s.startsWith("events cursor="));
    const [, cursor, last] = /cursor=(\S*) last=(\S*)/.exec(streams.at(-1));
    assert.ok(cursor !== "" && cursor === last, "it goes on behind a cursor: " + streams.at(-1));
    // A cursor that the server does not know any more: everything is read anew.
    await on.post("refuse");
    await on.post("cut");
    await on.post("entry", { agent: id(3), text: "after the gap" });
    await page.locator(".entry.assistant", { hasText: "after the gap" }).waitFor();
    await on.post("tell", { type: "turn_ended", agent_uuid: id(3) });
    await page.locator(".titled .badge.quiet", { hasText: "idle" }).waitFor();
    // Of those whom an event is about, only the rows are read.
    // The first ones may come while all are read, after the gap.
    await eventually("rows of those alone", async () => {
      await on.post("tell", { type: "turn_ended", agent_uuid: id(5) });
      return (await on.seen()).some((s) => s.startsWith("agents of=") && s.includes(id(5)));
    });
    await sound(page, "stream");
    await page.leave();
  };

  all["the files of a turn"] = async () => {
    const page = await open(base + "/#/agents/" + id(0), { name: "files" });
    const turn = page.locator(".changes");
    await turn.locator("summary", { hasText: "2 files changed" }).click();
    const changed = turn.locator(".change", { hasText: "main.go" });
    await changed.waitFor();
    const rows = await changed.locator("tr").evaluateAll((all) => all.map((r) => [...r.children].map((c) => c.textContent)));
    assert.deepEqual(rows, [["@@ -11,2 +11,2 @@"], ["11", "11", " \tx := 1"], ["12", "", "-\tconfig.Read(path)"], ["", "12", "+\tconfig.Once(path)"]]);
    await turn.locator(".change", { hasText: "no text, 90 bytes" }).waitFor();
    assert.equal(await turn.count(), 1, "a state that changed nothing is not shown");
    await sound(page, "files");
    await accessible(page, "files");
    await page.screenshot({ path: plan.shots + "/files.png" });
    await page.leave();
  };

  all["what acts"] = async () => {
    const page = await open(base + "/#/agents/" + id(2), { name: "acts" });
    await page.locator(".acts", { hasText: "AGENTS.md changed since you accepted it" }).waitFor();
    await page.getByRole("button", { name: "Review\u2026" }).click();
    const dialog = page.locator("dialog");
    await dialog.getByText("zero-width U+200B").waitFor();
    assert.match(await dialog.locator("pre").textContent(), /-Be kind\.\n\+Be quick\./);
    await accessible(page, "what acts");
    await page.screenshot({ path: plan.shots + "/dialog-acts.png" });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.ok(!(await on.seen()).some((s) => s.startsWith("accept")));
    await page.getByRole("button", { name: "Review\u2026" }).click();
    await page.getByRole("button", { name: "Accept exactly this" }).click();
    await page.locator(".acts").waitFor({ state: "detached" });
    assert.ok((await on.seen()).includes("accept d1"));
    await page.leave();
  };

  all["the list of all agents"] = async () => {
    const page = await open(base, { viewport: { width: 1440, height: 900 }, name: "home" });
    const texts = () => page.locator(".hgroup strong").allTextContents();
    await page.locator(".hrow").first().waitFor();
    assert.deepEqual(await texts(), ["needs you", "idle"], "one asks, one was interrupted, nobody else works");
    assert.match(await page.locator(".home .tools").textContent(), /\$1\.61 of \$5\.00/);
    await on.post("state", { agent: id(9), word: "working" }); // it moves by itself
    await page.locator(".hgroup", { hasText: "working" }).waitFor();
    await on.post("tell", { type: "text_delta", agent_uuid: id(9), text: "first line\nthe last line" });
    await page.locator(".hrow .gist", { hasText: "the last line" }).waitFor();
    await page.locator(".home .rows").focus();
    const at = (name) => page.waitForFunction((n) => document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent.includes(n), name);
    await at("parser");
    await page.keyboard.press("k");
    await page.locator("dialog", { hasText: "Kill parser" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Space"); // to stand before the question
    await page.locator(".agent > .asks").waitFor();
    await page.waitForFunction(() => document.activeElement.textContent === "No");
    await page.locator(".side .hrow.current", { hasText: "parser" }).waitFor();
    await page.goto(base + "/#/agents/" + id(0) + "?tab=files");
    await page.locator(".change", { hasText: "main.go" }).waitFor();
    await on.post("state", { agent: id(9), word: "idle" });
    await page.leave();
  };

  all["the lineage as a graph"] = async () => {
    const page = await open(base + "/#/agents?view=lineage", { viewport: { width: 1440, height: 2400 }, name: "lineage" });
    const lane = (name) => page.locator(`.lane[aria-label^="${name},"]`);
    await lane("parser").waitFor();
    // Time goes to the right, forks go down, and everything has its words.
    const words = await lane("root").getAttribute("aria-label");
    assert.match(words, /^root, .*2 points/);
    assert.equal(await page.locator("text.point.mark title").textContent().then((s) => s.replace(/, .*/, "")), "root mark before the change");
    const at = (kind) => page.locator("text.point." + kind).boundingBox();
    assert.ok((await at("mark")).x < (await at("rewind")).x, "what was later stands to the right");
    const starts = (await page.locator(".drawing:not(.through) .fork").evaluateAll((all) => all.map((e) => e.getAttribute("d")))).join("");
    const { agents } = await (await fetch(base + "/api/v1/lineage")).json();
    assert.equal(starts.match(/M/g).length, agents.filter((a) => a.parent_uuid).length, "each child branches off");
    assert.match(await page.locator(".lineage .tools").textContent(), /agents, \d+ dead . \d+ mail messages?/);
    // All at a glance are all of them, however low the window is.
    await page.setViewportSize({ width: 1440, height: 640 });
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.waitForFunction((n) => { const g = document.querySelector(".graph"); return document.querySelectorAll(".lane").length === n && g.scrollHeight <= g.clientHeight + 1; }, agents.length);
    await page.getByRole("button", { name: "Names" }).click();
    await page.setViewportSize({ width: 1440, height: 2400 });
    // With Shift it forks where it was clicked, without it reads there.
    await page.locator("text.point.mark").click({ modifiers: ["Shift"] });
    await page.locator("dialog", { hasText: "as of message 3" }).waitFor();
    await page.getByRole("textbox", { name: "Name" }).fill("from-the-mark");
    await page.locator("dialog button[type=submit]").click();
    await page.locator("h1", { hasText: "from-the-mark" }).waitFor();
    assert.ok((await on.seen()).includes("fork at 3"));
    await page.goto(base + "/#/agents?view=lineage");
    await lane("from-the-mark").waitFor();
    const before = await page.locator(".lane").count();
    await on.post("child", { of: id(9) }); // it grows by itself
    await on.post("tell", { type: "forked", agent_uuid: id(9) });
    await page.waitForFunction((n) => document.querySelectorAll(".lane").length > n, before);
    await page.locator("text.point.mark").click();
    await page.locator(".aimed").waitFor();
    assert.match(page.url(), /at=3$/);
    await page.goto(base + "/#/agents?view=lineage");
    await page.locator(".graph").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "root" }).waitFor();
    await page.leave();
  };

  all["fork, ask, kill"] = async () => {
    const page = await open(base + "/#/agents/" + id(2), { name: "kill" });
    await page.getByRole("button", { name: "Fork" }).click();
    await page.getByLabel("Name").fill("twig");
    await accessible(page, "fork dialog");
    await page.screenshot({ path: plan.shots + "/dialog-fork.png" });
    await page.locator("dialog button[type=submit]").click();
    await page.locator("h1", { hasText: "twig" }).waitFor();
    await page.goto(base + "/#/agents/" + id(1));
    await page.locator(".ask").waitFor();
    await page.screenshot({ path: plan.shots + "/asking.png" });
    // "no" comes first, and what cannot be saved says why.
    assert.equal(await page.locator(".ask [role=group] button").first().textContent(), "No");
    await page.locator(".ask", { hasText: "it deletes" }).waitFor();
    // All choices stand there; one that cannot be chosen says why.
    assert.ok(await page.getByRole("button", { name: "Always allow in this project" }).isDisabled());
    assert.equal(await page.locator(".ask [role=group] button").count(), 5);
    assert.match(await page.locator(".ask").textContent(), /refused if unanswered by \d\d:\d\d/);
    assert.match(await page.locator(".ask").textContent(), /until it ends, for bash\(rm -rf build\)/);
    await page.locator(".ask", { hasText: "remove the folder build" }).waitFor();
    await accessible(page, "a question");
    await page.getByRole("button", { name: "No, because" }).click();
    await page.getByLabel("Tell it why").fill("keep it");
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.locator(".ask", { hasText: "make it so" }).waitFor();
    assert.ok((await on.seen()).includes("permission ask-1 because keep it"));
    // A line that only says the command again is left out.
    assert.equal(await page.locator(".ask > p, .ask > pre").evaluateAll((all) => all.filter((e) => e.textContent === "make it so").length), 1);
    await page.getByRole("button", { name: "Always allow in this project" }).click();
    assert.equal(await page.getByLabel("Rule").inputValue(), "bash(make it so)");
    await page.getByLabel("Rule").fill("bash(make *)");
    await page.getByRole("button", { name: "Save the rule and allow" }).click();
    // Of a file, the question shows what would be written.
    await page.locator(".ask", { hasText: "wants to write" }).waitFor();
    const written = await page.locator(".ask .lines tr:not(.hunk)").evaluateAll((all) => all.map((r) => r.className + " " + [...r.querySelectorAll("td")].map((d) => d.textContent).join("|")));
    assert.deepEqual(written, ["removed 7||-old := 1", "added |7|+func main() {", "added |8|+<b class=injected>x</b>", "added |9|+}"]);
    await page.locator(".ask .added .hljs-keyword", { hasText: "func" }).waitFor();
    await accessible(page, "what would be written");
    assert.ok((await on.seen()).includes("permission ask-2 project bash(make *)"));
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.locator(".ask").waitFor({ state: "detached" });
    assert.ok((await on.seen()).includes("permission ask-3 once"));
    await page.getByLabel("Mode", { exact: true }).selectOption("read-only");
    await eventually("the mode", async () => (await on.seen()).includes("mode read-only"));
    await page.goto(base + "/#/agents/" + id(2));
    await page.locator("h1", { hasText: "tests" }).waitFor();
    const kill = page.getByRole("button", { name: "Kill\u2026" });
    await kill.focus();
    await page.keyboard.press("Enter");
    const dialog = page.locator("dialog");
    const say = dialog.locator("button[type=submit]");
    const first = await say.textContent();
    assert.match(first, /^Kill \d+ agents?$/);
    assert.ok(await say.isDisabled(), "nothing is killed without a tick");
    await accessible(page, "kill dialog");
    await page.screenshot({ path: plan.shots + "/dialog-kill.png" });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement.textContent === "Kill\u2026"); // where it was before
    assert.ok(!(await on.seen()).some((s) => s.startsWith("kill")));
    await kill.click();
    await dialog.getByRole("checkbox").check();
    await on.post("child", { of: id(2) }); // one more is born behind the dialog's back
    await say.click();
    await dialog.getByText("Nothing was killed").waitFor();
    const second = await say.textContent();
    assert.notEqual(second, first);
    assert.ok(await say.isDisabled(), "another number is another question");
    await dialog.getByRole("checkbox").check();
    await say.click();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".titled .badge", { hasText: "killed" }).waitFor();
    assert.equal((await on.seen()).filter((s) => s.startsWith("kill")).length, 2);
    assert.ok(await kill.isDisabled());
    await page.leave();
  };

  all["a tool that runs, and a stop"] = async () => {
    const page = await open(base + "/#/agents/" + id(6), { name: "tool" });
    await page.getByText("No messages yet").waitFor();
    await page.locator(".empty", { hasText: "Enter sends" }).waitFor();
    assert.equal(await page.locator(".facts dt", { hasText: "Model" }).count(), 0, "nothing is said of a model that nobody knows");
    const idle = await page.locator(".titled .badge").evaluate((e) => getComputedStyle(e).fontWeight);
    await on.post("state", { agent: id(6), word: "working" });
    await page.locator(".titled .badge.busy").waitFor();
    assert.ok(await page.locator(".titled .badge").evaluate((e) => getComputedStyle(e).fontWeight) > idle, "work is shown stronger than rest");
    await on.post("parts", { agent: id(6), kind: "user", parts: [{ type: "text", text: "go" }] });
    await on.post("parts", { agent: id(6), kind: "assistant", parts: [{ type: "tool_call", call_id: "r1", name: "bash", args: { command: "make all" } }] });
    await page.locator(".call .badge", { hasText: "running" }).waitFor();
    await on.post("tell", { type: "call_started", agent_uuid: id(6), call_id: "r1", tool: "bash" });
    await on.post("tell", { type: "call_output", agent_uuid: id(6), call_id: "r1", text: "one line\n" });
    await page.locator(".call pre", { hasText: "one line" }).waitFor();
    assert.equal(await page.locator(".call").count(), 1, "a call stands there once");
    await page.reload(); // in the midst of it
    await page.locator(".call .badge", { hasText: "running" }).waitFor();
    // It waits for a person, in another program: no question comes here.
    await on.post("parts", { agent: id(6), kind: "command", parts: [], meta: { command: "ask", call_id: "r1" } });
    await on.post("state", { agent: id(6), word: "asks" });
    await page.locator(".call .badge", { hasText: "asks you" }).waitFor();
    await page.locator(".agent .note", { hasText: "answer it there" }).waitFor();
    await on.post("state", { agent: id(6), word: "working" });
    await page.locator(".agent .note", { hasText: "answer it there" }).waitFor({ state: "detached" });
    await on.post("tell", { type: "text_delta", agent_uuid: id(6), text: "and now" });
    await page.locator(".coming", { hasText: "and now" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    const stops = async (n) => (await on.seen()).filter((s) => s === "interrupt " + id(6)).length === n;
    await eventually("a stop", () => stops(1));
    await page.getByRole("button", { name: "Stop" }).waitFor(); // it knows that it was heard, and can be told again
    await page.locator("#composer").focus();
    await page.keyboard.press("Escape");
    await eventually("another stop", () => stops(2));
    await on.post("state", { agent: id(6), word: "interrupted" });
    await page.locator(".call .badge", { hasText: "not finished" }).waitFor();
    await on.post("parts", { agent: id(6), kind: "tool_result", parts: [{ type: "tool_result", call_id: "r1", name: "bash", text: "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-var a = 1\n+var a = 2\n" }] });
    await page.locator(".call .badge", { hasText: "done" }).waitFor();
    // Nothing is denied by itself: it says who did, or that nobody could be asked.
    await on.post("parts", { agent: id(6), kind: "tool_result", parts: [{ type: "tool_result", call_id: "gone", name: "edit", text: "not permitted", is_error: true }], meta: { permission: { answer: "refused", by: "nobody" } } });
    const refused = page.locator(".call", { hasText: "not permitted" });
    await refused.locator("summary").click();
    assert.match(await refused.locator(".permitted").textContent(), /^refused: nobody could be asked/);
    await page.locator(".call summary").first().click();
    await page.locator(".call .lines tr.added .hljs-keyword", { hasText: "var" }).waitFor();
    await accessible(page, "tool");
    await page.leave();
  };

  all["a program that drives an agent"] = async () => {
    const page = await open(base + "/#/agents/" + id(11), { name: "program" });
    await page.locator(".facts", { hasText: "Driven by" }).waitFor();
    assert.deepEqual(await page.getByLabel("claude mode", { exact: true }).locator("option").allTextContents(), ["Ask first", "Plan"]);
    await page.getByLabel("claude mode", { exact: true }).selectOption("plan");
    await page.waitForFunction(() => document.querySelector("#program-mode").value === "plan" && !document.querySelector("#program-mode").disabled);
    assert.ok((await on.seen()).includes("mode claude:plan"));
    assert.equal(await page.getByLabel("claude model").inputValue(), "fast");
    await page.getByLabel("claude model").selectOption("large");
    await page.getByText("applies from your next message").waitFor();
    // Its commands stand there when a slash is typed, and are written by a click or a key.
    await page.locator("#composer").fill("/");
    const offered = page.locator(".commands button");
    assert.equal(await offered.count(), 2);
    await accessible(page, "program");
    assert.deepEqual(await boxes(page), []);
    await page.locator("#composer").fill("/rev");
    assert.match(await offered.textContent(), /^\/review BRANCH reads what changed <b>$/);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#composer").inputValue(), "/review ");
    await page.locator("#composer").fill("/review main");
    await page.keyboard.press("Enter");
    await page.locator(".entry.assistant", { hasText: "echo: /review main" }).waitFor();
    assert.ok((await on.seen()).includes("prompt model=driver/claude/large"));
    await page.getByText("applies from your next message").waitFor({ state: "detached" });
    // A plan is there to be seen; thoughts, diffs and pictures are as those of our own agents.
    await on.post("parts", { agent: id(11), kind: "assistant", parts: [{ type: "thinking", text: "hm" }, { type: "tool_call", call_id: "p1", name: "plan", args: { steps: [] } }, { type: "tool_call", call_id: "p2", name: "edit", args: { path: "x.go" } }] });
    await on.post("parts", { agent: id(11), kind: "tool_result", parts: [{ type: "tool_result", call_id: "p1", name: "plan", text: "ok", show: "[x] look\n[ ] mend" }, { type: "tool_result", call_id: "p2", name: "edit", text: "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-var a = 1\n+var a = 2\n" },
      { type: "image", media_type: "image/gif", data: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" }] });
    await page.locator(".call[open] pre", { hasText: "[ ] mend" }).waitFor();
    await page.locator(".call", { hasText: "x.go" }).locator("summary").click();
    await page.locator(".call .lines tr.added", { hasText: "var a = 2" }).waitFor();
    await page.locator(".thinking summary").waitFor();
    await page.locator("img.picture").waitFor();
    await sound(page, "program");
    await page.leave();
  };

  all["markdown"] = async () => {
    const page = await open(base + "/#/agents/" + id(8), { name: "markdown" });
    await page.locator(".empty").waitFor();
    await on.post("entry", { agent: id(8), text: "1. one\n2. two\n3. three\n\n- bullet\n- other\n\n- [ ] open\n- [x] done\n\n| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |\n\n```go\nfunc main() {}\n```\n" });
    const said = page.locator(".entry.assistant .md");
    await said.waitFor();
    assert.equal(await said.locator("ol > li").count(), 3);
    assert.equal(await said.locator("ul > li").count(), 4, "a list of bullets is none of numbers");
    assert.deepEqual(await said.locator("li.task input").evaluateAll((all) => all.map((i) => i.checked)), [false, true]);
    assert.deepEqual(await said.locator("td").evaluateAll((all) => all.map((c) => getComputedStyle(c).textAlign)), ["left", "center", "right"]);
    await said.locator(".hljs-keyword", { hasText: "func" }).waitFor();
    await said.getByRole("button", { name: "Copy" }).click();
    await said.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "func main() {}");
    // The terminal's samples read the same here.
    const words = (s) => s.normalize("NFC").match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
    for (const { name, text, terminal } of plan.samples) {
      await on.post("entry", { agent: id(8), text: text + "\n\nsample " + name });
      const one = page.locator(".entry.assistant", { hasText: "sample " + name }).locator(".md");
      await one.waitFor();
      const here = await one.evaluate((e) => { for (const x of e.querySelectorAll(".codebox > .of")) x.remove(); return e.innerText; });
      assert.deepEqual(words(here), words(terminal + " sample " + name), name);
    }
    await sound(page, "markdown");
    await accessible(page, "markdown");
    await page.leave();
  };

  all["runs"] = async () => {
    const page = await open(base + "/#/runs", { name: "runs" });
    const row = (run) => page.locator("table.runs tr", { hasText: run });
    await row("failed-1").getByText("2 links lead nowhere").waitFor();
    await row("docs-2026").locator(".badge", { hasText: "running" }).waitFor();
    assert.match(await row("docs-2026").textContent(), /example\.org\/docs-2026.*\$0\.12/);
    assert.equal(await row("done-1").locator("a", { hasText: "#12" }).getAttribute("href"), "https://example.org/x/pull/12");
    await on.post("standing", { run: "docs-2026", status: "stopped" }); // nobody reloads
    await row("docs-2026").locator(".badge", { hasText: "stopped" }).waitFor();
    await row("failed-1").getByRole("button", { name: "Retry from the failure" }).click();
    await row("failed-1").locator(".badge", { hasText: "running" }).waitFor();
    assert.ok((await on.seen()).includes('resume failed-1 {"from_failed":true}'));
    await row("failed-1").getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await row("failed-1").locator(".badge", { hasText: "cancelled" }).waitFor();
    await page.getByRole("button", { name: "Start a run" }).click();
    await accessible(page, "start a run");
    await page.getByLabel("Repository (a path").fill("https://example.org/r");
    await page.getByLabel("Parameters").fill("tone=plain");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("h1", { hasText: "started-1" }).waitFor();
    assert.ok((await on.seen()).includes('start {"recipe":"docs","repo":"https://example.org/r","set":{"tone":"plain"}}'));
    await page.locator(".erow").first().click();
    await page.getByRole("button", { name: "Fork from here" }).click();
    await page.getByRole("button", { name: "Fork the run" }).click();
    await page.locator("h1", { hasText: "forked-1" }).waitFor();
    assert.ok((await on.seen()).includes('fork started-1 {"at":"1"}'));
    await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
    await on.post("standing", { run: "docs-2026", status: "" });
    await page.leave();
  };

  all["long conversations and large parts"] = async () => {
    const page = await open(base + "/#/agents/" + id(0), { name: "long" });
    const call = page.locator(".call", { hasText: "large.txt" });
    await call.locator("summary").click();
    await call.getByRole("button", { name: "Show 9,000 bytes" }).click();
    await call.locator("pre", { hasText: "first piece" }).waitFor();
    await call.getByRole("button", { name: "Show more" }).click();
    await call.locator("pre", { hasText: "second piece" }).waitFor();
    assert.deepEqual((await on.seen()).filter((s) => s.startsWith("part")).map((s) => s.split(" ").at(-1)), ["0", "5000"]);
    await sound(page, "large part");
    await page.goto(base + "/#/agents/" + id(5));
    await page.getByText("line 259").waitFor();
    assert.equal(await page.getByText("line 3", { exact: true }).count(), 0);
    const end = () => page.evaluate(() => { const t = document.querySelector(".talk"); return t.scrollHeight - t.scrollTop - t.clientHeight < 4; });
    const atEnd = () => page.waitForFunction(() => { const t = document.querySelector(".talk"); return t.scrollHeight - t.scrollTop - t.clientHeight < 4; });
    await atEnd();
    for (const n of [120, 180, 240, 260]) {
      await page.getByRole("button", { name: "Show earlier messages" }).click();
      await page.getByText(`${n} messages here`).waitFor();
    }
    await page.getByText("line 3", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Show earlier messages" }).count(), 0);
    assert.ok(!(await end()), "and stays where the reader is");
    // The beginning and the end, wherever one is.
    await page.goto(base + "/#/agents/" + id(0));
    await page.locator(".entry.assistant").first().waitFor();
    await page.goto(base + "/#/agents/" + id(5));
    await page.getByText("line 259").waitFor();
    await page.getByRole("button", { name: "Beginning" }).click();
    await page.getByText("line 0", { exact: true }).waitFor();
    assert.equal(await page.getByText("line 259").count(), 0);
    await page.getByRole("button", { name: "Show later messages" }).waitFor();
    await on.post("entry", { agent: id(5), text: "meanwhile" });
    await page.locator(".talktools .unread", { hasText: "1" }).waitFor();
    await page.locator(".talktools button", { hasText: "End" }).click();
    await page.getByText("meanwhile").waitFor();
    await atEnd();
    // Find looks at all of it, also at what is not here, and each entry has an address.
    await page.keyboard.press("Control+f");
    await page.keyboard.type("line 17");
    await page.locator(".finder", { hasText: "11 messages" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".finder", { hasText: "11 of 11" }).waitFor();
    await page.locator(".aimed", { hasText: "line 179" }).waitFor();
    for (let i = 10; i > 0; i--) {
      await page.keyboard.press("Enter");
      await page.locator(".finder", { hasText: i + " of 11" }).waitFor();
    }
    await page.locator(".aimed", { hasText: "line 17" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Find in this conversation", "the focus stays");
    assert.ok(await page.evaluate(() => CSS.highlights.get("found")?.size > 0), "the words are marked");
    await accessible(page, "find");
    const link = await page.locator(".aimed header a", { hasText: "message" }).getAttribute("href");
    await page.goto(base + "/#/agents");
    await page.goto(base + "/" + link);
    await page.locator(".aimed", { hasText: "line 17" }).waitFor();
    // Enter sends, and one is at the end.
    await page.locator("#composer").fill("to the end");
    await page.keyboard.press("Enter");
    await page.locator(".entry.assistant", { hasText: "echo: to the end" }).waitFor();
    await atEnd();
    await page.goto(base + "/#/search?q=line%20201");
    await page.locator(".found a", { hasText: "message" }).first().click();
    await page.locator(".aimed", { hasText: "line 201" }).waitFor();
    await sound(page, "long");
    await page.leave();
  };

  all["colours are chosen and kept"] = async () => {
    const page = await open(base, { colorScheme: "light", name: "theme" });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.locator("button.theme").click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    await page.locator("button.theme").waitFor();
    assert.equal(await ground(), dark);
    await page.leave();
  };

  all["ten thousand"] = async () => {
    const big = plan.big;
    const page = await open(big + "/#/usage", { viewport: { width: 1600, height: 1000 }, name: "big" });
    await page.locator(".part").first().waitFor();
    // From the click on a link until the rows are there and the keys move in them.
    const timed = async (address, row) => page.evaluate(async ([address, row]) => {
      const start = performance.now();
      location.hash = address;
      while (!document.querySelector(row)) await new Promise(requestAnimationFrame);
      const shown = performance.now() - start;
      const box = document.querySelector(".rows");
      const at = () => box.getAttribute("aria-activedescendant");
      const before = at();
      box.focus();
      box.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
      while (at() === before) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      const moved = performance.now() - start;
      let slowest = 0;
      for (let i = 0, last = performance.now(); i < 60; i++) {
        box.scrollTop = (i * box.scrollHeight) / 60;
        await new Promise(requestAnimationFrame);
        slowest = Math.max(slowest, performance.now() - last);
        last = performance.now();
      }
      return { shown, moved, slowest, rows: document.querySelectorAll(row).length, told: Number(box.getAttribute("aria-rowcount") ?? box.querySelector("[aria-setsize]").getAttribute("aria-setsize")) - 1 };
    }, [address, row]);
    for (const [what, address, row] of [["telemetry records", "#/runs/" + launch, ".frow:not(.head)"], ["agents", "#/agents", ".hrow"]]) {
      const t = await timed(address, row);
      console.log(`figure: ${t.told} ${what}: shown after ${Math.round(t.shown)} ms, answers the keyboard after ${Math.round(t.moved)} ms, slowest frame while scrolling ${Math.round(t.slowest)} ms`);
      assert.ok(t.told >= 9_900, `${t.told} ${what}`);
      assert.ok(t.rows < 120, `${t.rows} rows are elements`);
      await page.screenshot({ path: `${plan.shots}/big-${what.replace(" ", "-")}.png` });
    }
    await page.leave();
  };
  Object.assign(all, listTests({ plan, open, launch }), lateTests({ plan, open, hand, id }), wordTests({ plan, open, hand, id, launch }));
  return { looking, doing: all };
}
