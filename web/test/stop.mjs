// The button that stops a turn, on the page of a real server, started by the Go tests of
// internal/app: node stop.mjs CHROMIUM LINK AGENT. It says "enabled" when there is
// something to stop, presses when a line comes in, and says how long the page took to tell
// the truth.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [path, link, agent] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: path, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1024, height: 768 } })).newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(link);
  await page.getByRole("heading").first().waitFor();
  await page.goto(new URL("/#/agents/" + agent, link).href);
  const button = page.getByRole("button", { name: "Interrupt" }), badge = page.locator(".titled .badge");
  const word = async () => (await badge.innerText()).trim();
  for (let i = 0; !(await button.isEnabled()); i++) {
    if (i > 1500) throw new Error("Interrupt is disabled, the page says " + (await word()));
    await page.waitForTimeout(20);
  }
  // While it works, the page never says otherwise.
  for (let i = 0; i < 7; i++) {
    if (!(await button.isEnabled()) || ["idle", "done", "interrupted"].includes(await word())) throw new Error("in the middle of the turn the page says " + (await word()));
    await page.waitForTimeout(50);
  }
  console.log("enabled " + (await word()));
  await new Promise((go) => createInterface({ input: process.stdin }).once("line", go));
  const asked = performance.now();
  await button.click();
  let stopping = false;
  for (let i = 0; (await word()) !== "interrupted"; i++) {
    if (i > 1000) throw new Error("after the stop the page says " + (await word()));
    stopping ||= (await word()) === "stopping";
    await page.waitForTimeout(5);
  }
  console.log("interrupted " + Math.round(performance.now() - asked) + " ms" + (stopping ? ", stopping before" : ""));
  for (let i = 0; await button.isEnabled(); i++) {
    if (i > 500) throw new Error("Interrupt is still enabled");
    await page.waitForTimeout(10);
  }
  if ((await page.locator(".ask").count()) > 0) throw new Error("the page still asks");
} catch (e) {
  console.log("failed " + String(e.stack ?? e).replaceAll("\n", " "));
  process.exitCode = 1;
} finally {
  await browser.close();
}
