// What the page promises about time and memory, measured in Chromium against a made-up server with
// 1,000 agents, 200 runs and a conversation of 10,000 messages, started by the Go tests of internal/face/web.
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

// scrolled is what the page works in each frame of a scroll: from the event until everything is painted, by the
// clock, and the processor's time of the page's own thread, which other work on the machine does not change.
async function scrolled(page, box) {
  const c = await page.context().newCDPSession(page), events = [];
  c.on("Tracing.dataCollected", (e) => events.push(...e.value));
  const over = new Promise((go) => c.on("Tracing.tracingComplete", go));
  await c.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel", "blink.user_timing"] } });
  const took = await page.evaluate(async (box) => {
    const el = document.querySelector(box), took = [], channel = new MessageChannel();
    let begin = 0;
    addEventListener("scroll", () => { begin ||= performance.now(); }, { capture: true });
    for (let i = 0; i < 120; i++) {
      const done = new Promise((go) => { channel.port1.onmessage = go; });
      begin = 0;
      const before = el.scrollTop;
      el.scrollTop = (i * 137) % Math.max(1, el.scrollHeight - el.clientHeight);
      if (el.scrollTop === before) continue;
      performance.mark("ramet frame");
      await new Promise((go) => requestAnimationFrame(() => { channel.port2.postMessage(0); go(); }));
      await done;
      if (begin) took.push(performance.now() - begin);
    }
    performance.mark("ramet frame");
    return took;
  }, box);
  await c.send("Tracing.end");
  await over;
  const marks = events.filter((e) => e.name === "ramet frame").sort((a, b) => a.ts - b.ts), { pid, tid } = marks[0];
  const tasks = events.filter((e) => e.pid === pid && e.tid === tid && e.ph === "X" && e.name.endsWith("::RunTask"));
  const works = marks.slice(1).map((to, i) => tasks.filter((e) => e.ts >= marks[i].ts && e.ts < to.ts).reduce((n, e) => n + (e.tdur ?? 0) / 1000, 0));
  const part = (list, p) => list.sort((a, b) => a - b)[Math.floor(list.length * p)];
  return { n: took.length, p50: part(took, 0.5), p99: part(took, 0.99), work50: part(works, 0.5), work99: part(works, 0.99) };
}

function sayScroll(what, s, empty) {
  say(what + `: a frame of scrolling, p50 of ${s.n}`, s.p50.toFixed(1), "ms", 16);
  say(what + ": a frame of scrolling, p99", s.p99.toFixed(1), "ms", 16);
  console.log(`${what}: processor in a frame p50 ${s.work50.toFixed(1)} ms, p99 ${s.work99.toFixed(1)} ms` + (empty ? `: ${(s.work99 / empty.work99).toFixed(1)} of an empty page's` : ""));
}

async function heap(page) {
  const c = await page.context().newCDPSession(page);
  await c.send("HeapProfiler.collectGarbage");
  return ((await c.send("Runtime.getHeapUsage")).usedSize / 1e6).toFixed(1);
}

// A page with nothing in it, scrolled in the same way, is what the machine and the browser cost.
const bare = await browser.newContext({ viewport: { width: 1440, height: 900 } }), blank = await bare.newPage();
await blank.setContent('<div id="box" style="height: 800px; overflow: auto"><div style="height: 40000px"></div></div>');
const empty = await scrolled(blank, "#box");
sayScroll("an empty page", empty, null);
await bare.close();

const only = new RegExp(plan.only ?? "");
const best = (list) => Math.round(Math.min(...list));
for (const [what, address, wanted, box] of [
  ["1,000 agents", "#/agents", ".hrow", ".home .rows"],
  ["lineage of 1,000 agents", "#/agents?view=lineage", ".drawing .fork", ".graph"],
  ["10,000 messages", "#/agents/" + root, ".entry.assistant", ".talk"],
  ["200 runs", "#/runs", "table.runs tbody tr:nth-child(200)", ".pane.page"],
]) {
  if (!only.test(what)) continue;
  const paints = [], theres = [];
  for (let i = 0; i < 3; i++) {
    const { context, paint, there } = await opened(address, wanted);
    paints.push(paint);
    theres.push(there);
    await context.close();
  }
  const { context, page } = await opened(address, wanted);
  if (what.startsWith("lineage")) { // all thousand lanes in sight, one under the other
    const all = await page.evaluate(async () => {
      const start = performance.now();
      [...document.querySelectorAll(".lineage .tools button")].find((b) => b.textContent === "All").click();
      while (document.querySelectorAll(".lane").length < 1000) await new Promise(requestAnimationFrame);
      await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
      return performance.now() - start;
    });
    say("lineage: all 1,000 lanes drawn at once, after the click", Math.round(all), "ms", 1000);
    await page.getByRole("button", { name: "Names" }).click();
  }
  if (what.startsWith("10,000")) { // as many as a stretch holds
    for (let i = 0; i < 4; i++) {
      await page.getByRole("button", { name: "Show earlier messages" }).click();
      await page.waitForFunction(() => !document.querySelector("button.more")?.disabled);
    }
  }
  const s = await scrolled(page, box);
  say(what + ": first paint (fastest of 3)", best(paints), "ms", 1000);
  say(what + ": shown (fastest of 3; slowest " + Math.round(Math.max(...theres)) + " ms)", best(theres), "ms", 1000);
  sayScroll(what, s, empty);
  say(what + ": heap", await heap(page), "MB", 80);
  await context.close();
}
console.log(`load ${loadavg()[0].toFixed(1)} at the end`);
await browser.close();
