// The page of a real server at an agent, started by the Go tests of internal/app: node states.mjs CHROMIUM LINK AGENT. For
// each word that comes in it waits until the page says that the agent has this state, and repeats it.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { eventually } from "./wait.mjs";

const [path, link, agent] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: path, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
try {
  const page = await (await browser.newContext()).newPage();
  await page.goto(link);
  await page.getByRole("heading").first().waitFor();
  await page.goto(new URL("#/agents/" + agent, page.url()).href);
  const badge = page.locator(".titled .badge");
  for await (const word of createInterface({ input: process.stdin })) {
    let said = ""; // "working: writes"
    await eventually(word, async () => (said = (await badge.getAttribute("title")) ?? "").startsWith(word)).catch((e) => { throw new Error(e + ", it says " + said); });
    console.log(word);
  }
} catch (e) {
  console.log("failed " + String(e.stack ?? e).replaceAll("\n", " "));
  process.exitCode = 1;
} finally {
  await browser.close();
}
