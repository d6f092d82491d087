// The button that stops a turn, on the page of a real server, started by the Go tests of
// internal/app: node stop.mjs CHROMIUM LINK AGENT. It says "enabled" when there is
// something to stop, presses when a line comes in, and says how long the page took to tell
// the truth.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { eventually } from "./wait.mjs";

const [path, link, agent] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: path, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1024, height: 768 } })).newPage();
  page.setDefaultTimeout(90_000); // reached only when something is wrong
  await page.goto(link);
  await page.getByRole("heading").first().waitFor();
  await page.goto(new URL("/#/agents/" + agent, link).href);
  const button = page.getByRole("button", { name: "Interrupt" }), badge = page.locator(".titled .badge");
  const word = async () => (await badge.innerText()).trim();
  await eventually("Interrupt can be pressed", () => button.isEnabled());
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
  await eventually("interrupted", async () => {
    const now = await word();
    stopping ||= now === "stopping";
    return now === "interrupted";
  });
  console.log("interrupted " + Math.round(performance.now() - asked) + " ms" + (stopping ? ", stopping before" : ""));
  await eventually("Interrupt cannot be pressed any more", async () => !(await button.isEnabled()));
  await eventually("nothing is asked any more", async () => (await page.locator(".ask").count()) === 0); // read anew, after the state was told
} catch (e) {
  console.log("failed " + String(e.stack ?? e).replaceAll("\n", " "));
  process.exitCode = 1;
} finally {
  await browser.close();
}
