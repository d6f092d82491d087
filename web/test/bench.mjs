// What the page promises about time and memory, measured in Chromium against a made-up server with
// 1,000 agents, 200 runs and a conversation of 10,000 messages, started by the Go tests of internal/web.
// It prints figures beside their limits; nothing fails because of time.
import { loadavg } from "node:os";
import { chromium } from "playwright-core";

const plan = JSON.parse(process.env.RAMET_WEB_PLAN), base = plan.base, root = "agent" + "0".repeat(17);
const flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-extensions"];
const browser = await chromium.launch({ executablePath: plan.chromium, headless: true, args: flags });
const say = (what, value, unit, limit) => console.log(`${what.padEnd(62)} ${String(value).padStart(8)} ${unit.padEnd(3)} limit ${limit} ${unit}`);
console.log(`Chromium ${browser.version()}, load ${loadavg()[0].toFixed(1)} at the beginning`);

// opened is a new window on an address, with the time from the request until something was painted
// and until what was wanted stood there.
async function opened(address, wanted) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } }), page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.addInitScript((wanted) => {
    const look = () => {
      if (document.querySelector(wanted)) requestAnimationFrame(() => { window.there = performance.now(); });
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, wanted);
  await page.goto(base + "/" + address);
  await page.waitForFunction(() => window.there > 0 && performance.getEntriesByName("first-contentful-paint").length > 0);
  const times = await page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, there: window.there }));
  return { context, page, ...times };
}

// scrolled is what the page works in each frame of a scroll: from the event until everything is painted.
const scrolled = (page, box) => page.evaluate(async (box) => {
  const el = document.querySelector(box), took = [], channel = new MessageChannel();
  let begin = 0;
  addEventListener("scroll", () => { begin ||= performance.now(); }, { capture: true });
  for (let i = 0; i < 120; i++) {
    const done = new Promise((go) => { channel.port1.onmessage = go; });
    begin = 0;
    const before = el.scrollTop;
    el.scrollTop = (i * 137) % Math.max(1, el.scrollHeight - el.clientHeight);
    if (el.scrollTop === before) continue;
    await new Promise((go) => requestAnimationFrame(() => { channel.port2.postMessage(0); go(); }));
    await done;
    if (begin) took.push(performance.now() - begin);
  }
  took.sort((a, b) => a - b);
  return { n: took.length, p50: took[Math.floor(took.length * 0.5)], p99: took[Math.floor(took.length * 0.99)] };
}, box);

async function heap(page) {
  const c = await page.context().newCDPSession(page);
  await c.send("HeapProfiler.collectGarbage");
  return ((await c.send("Runtime.getHeapUsage")).usedSize / 1e6).toFixed(1);
}

const best = (list) => Math.round(Math.min(...list));
for (const [what, address, wanted, box] of [
  ["1,000 agents", "#/agents", ".hrow", ".home .rows"],
  ["lineage of 1,000 agents", "#/agents?view=lineage", ".drawing .fork", ".graph"],
  ["10,000 messages", "#/agents/" + root, ".entry.assistant", ".talk"],
  ["200 runs", "#/runs", "table.runs tbody tr:nth-child(200)", ".pane.page"],
]) {
  const paints = [], theres = [];
  for (let i = 0; i < 3; i++) {
    const { context, paint, there } = await opened(address, wanted);
    paints.push(paint);
    theres.push(there);
    await context.close();
  }
  const { context, page } = await opened(address, wanted);
  if (what.startsWith("lineage")) { // all thousand lanes in sight, one under the other
    await page.setViewportSize({ width: 1440, height: 4400 });
    const all = await page.evaluate(async () => {
      const start = performance.now();
      [...document.querySelectorAll(".lineage .tools button")].find((b) => b.textContent === "All").click();
      while (document.querySelectorAll(".lane").length < 1000) await new Promise(requestAnimationFrame);
      await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
      return performance.now() - start;
    });
    say("lineage: all 1,000 lanes drawn at once, after the click", Math.round(all), "ms", 1000);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole("button", { name: "Names" }).click();
  }
  if (what.startsWith("10,000")) { // as many as a stretch holds
    for (let i = 0; i < 12; i++) {
      await page.getByRole("button", { name: "Show earlier messages" }).click();
      await page.waitForFunction(() => !document.querySelector("button.more")?.disabled);
    }
  }
  const s = await scrolled(page, box);
  say(what + ": first paint (fastest of 3)", best(paints), "ms", 1000);
  say(what + ": shown (fastest of 3; slowest " + Math.round(Math.max(...theres)) + " ms)", best(theres), "ms", 1000);
  say(what + `: work in a frame of scrolling, p50 of ${s.n}`, s.p50.toFixed(1), "ms", 16);
  say(what + ": work in a frame of scrolling, p99", s.p99.toFixed(1), "ms", 16);
  say(what + ": heap", await heap(page), "MB", 80);
  await context.close();
}
console.log(`load ${loadavg()[0].toFixed(1)} at the end`);
await browser.close();
