// An agent that a foreign program drives, on the page of a real server, started by the Go tests of internal/app:
// node program.mjs CHROMIUM LINK AGENT [SHOTS]. The program is that of those tests: it does what the last line of a
// prompt says. It ends with 1 if anything was wrong, and prints what.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [path, link, agent, shots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: path, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" })).newPage();
try {
  page.setDefaultTimeout(90_000); // reached only when something is wrong
  page.on("pageerror", (e) => { console.log(e.stack ?? String(e)); process.exitCode = 1; });
  await page.goto(link);
  await page.getByRole("heading").first().waitFor();
  await page.goto(new URL("/#/agents/" + agent, link).href);
  const composer = page.locator("#composer"), replies = page.locator(".entry.assistant:not(.coming)");
  const rests = () => page.locator(".titled .badge:not(.busy, .warn)").waitFor();
  const say = async (text) => {
    await composer.fill(text);
    await composer.press("Enter");
  };
  const answered = async (text, reply) => {
    await say(text);
    await replies.filter({ hasText: reply }).last().waitFor();
    await rests();
  };
  const shot = async (name) => { if (shots) await page.screenshot({ path: `${shots}/program-${name}.png` }); };

  // Thoughts and a plan, and then it is known what the program offers.
  await page.locator(".facts", { hasText: "Driven by" }).waitFor();
  await answered("say hello there", "hello there");
  await page.locator(".thinking summary").first().click();
  await page.locator(".thinking", { hasText: "I was told to say something." }).waitFor();
  await page.locator(".call[open]", { hasText: "say it" }).waitFor();
  await page.locator("#program-mode").waitFor();
  assert.deepEqual(await page.locator("#program-mode option").allTextContents(), ["its own choice", "Wild", "Careful", "Ask"]);
  assert.equal(await page.getByText("command driver").count(), 0, "what begins a turn of a program is nothing to read");
  await page.locator("#program-mode").selectOption("careful");
  await page.waitForFunction(() => document.querySelector("#program-mode").value === "careful" && !document.querySelector("#program-mode").disabled);
  assert.ok((await page.locator("#program-model option").allTextContents()).includes("Big one"));
  await page.locator("#program-model").selectOption("big");
  await answered("which", "mode careful, model big");
  assert.equal(await page.locator("#program-model").inputValue(), "big", "the model stays chosen");
  await page.locator(".happened", { hasText: "model fake/big" }).waitFor();
  await answered("move ask", "moved"); // by itself
  await page.waitForFunction(() => document.querySelector("#program-mode").value === "ask");
  await shot("offers");

  // Its commands.
  await composer.fill("/z");
  await page.locator(".commands button", { hasText: "Zaps it" }).click();
  assert.equal(await composer.inputValue(), "/zap ");
  await answered("/zap the bug", "/zap did the bug");

  // A question, as it was asked; the answer goes to the program.
  await say("run printf asked-and-done");
  const ask = page.locator(".agent > .asks .ask");
  await ask.waitFor();
  const asked = await ask.evaluate((e) => [...e.querySelectorAll("pre, p")].filter((x) => x.textContent.trim() === "printf asked-and-done").length);
  assert.equal(asked, 1, "the command appears once: " + (await ask.innerText()));
  await shot("asks");
  await ask.getByRole("button", { name: "Allow once" }).click();
  await replies.filter({ hasText: "It ran." }).waitFor();
  await rests();
  const ran = page.locator(".call", { hasText: "asked-and-done" }).last();
  await ran.locator(".badge", { hasText: "done" }).waitFor();

  // A difference and pictures are as those of our own agents.
  await say("change note.txt two three");
  const changed = page.locator(".call", { hasText: "note.txt" }).last();
  await changed.locator(".badge", { hasText: "done" }).waitFor();
  await changed.locator("summary").first().click();
  await changed.locator("tr.added", { hasText: "three" }).waitFor();
  await changed.locator("tr.removed", { hasText: "two" }).waitFor();
  await rests();
  await say("draw");
  await page.locator(".call .gist", { hasText: "shot" }).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("img.picture")].some((i) => i.complete && i.naturalWidth === 2));
  await rests();
  await shot("parts");

  // Interrupted while it writes.
  await say("wait");
  await page.locator(".entry.assistant", { hasText: "I wait." }).waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await page.locator(".titled .badge", { hasText: "interrupted" }).waitFor();
  assert.equal(await page.getByText("no result here").count(), 0);
  await shot("stopped");
} catch (e) {
  console.log(String(e.stack ?? e));
  console.log(await page.locator("main").innerText().catch(() => ""));
  process.exitCode = 1;
} finally {
  await browser.close();
}
