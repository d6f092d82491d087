// A walk through the page in Chromium, started by the Go tests of internal/face/web with
// fake servers. It ends with 1 if anything was wrong, and prints what.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { parsers } from "./parsers.mjs";
import { Tests } from "./tests.mjs";

const plan = JSON.parse(process.env.RAMET_WEB_PLAN);
if (plan.shots) mkdirSync(plan.shots, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"];

const faults = [];
const wanted = (name) => new RegExp(plan.only ?? "").test(name);
const began = performance.now();
const starting = chromium.launch({ executablePath: plan.chromium, headless: true, args: flags });
if (wanted("readers")) await test("readers of foreign text", () => parsers(process.cwd()));
const browser = await starting;

// open returns a page without data and watches it: it may send no request to another host, open no dialog and write no
// error to the console. A new context costs a second and a half of the processor, each navigation that changes the context
// or the host a new process: all pages are of one context, each in a window of its own, for what is hidden is not drawn. One
// that a test has left is emptied where it is and used again, with the size and the colours of the next.
const context = await browser.newContext({ reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
const windows = await browser.newBrowserCDPSession();
const [browserContextId] = (await windows.send("Target.getBrowserContexts")).browserContextIds;
const idle = [];
let made = Promise.resolve();
async function open(url, { name = url, viewport = { width: 1024, height: 768 }, colorScheme = "light" } = {}) {
  const page = idle.pop() ?? (await (made = made.then(watched)));
  Object.assign(page.watch, { name, origin: new URL(url).origin, over: false });
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  await page.goto(url);
  return page;
}

// watched makes a page that reports faults under the name of the test that uses it, until the test leaves it.
async function watched() {
  const coming = context.waitForEvent("page");
  await windows.send("Target.createTarget", { url: "about:blank", browserContextId, newWindow: true });
  const page = await coming, watch = (page.watch = {});
  page.setDefaultTimeout(60_000); // reached only when something is wrong
  if (!plan.shots) page.screenshot = async () => {};
  const fault = (text) => { if (!watch.over) faults.push(`${watch.name}: ${text}`); };
  page.on("dialog", (d) => { fault("a dialog opened: " + d.message()); d.dismiss(); });
  page.on("pageerror", (e) => fault(e.stack ?? e));
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource/.test(m.text())) fault("console: " + m.text()); });
  page.on("request", (r) => { if (!r.url().startsWith(watch.origin) && !r.url().startsWith("data:")) fault("asks " + r.url()); });
  page.on("popup", () => fault("a window opened"));
  page.leave = async () => {
    watch.over = true;
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.goto(watch.origin + "/robots.txt"); // of the same origin, and without code
    await page.evaluate(() => { localStorage.clear(); sessionStorage.clear(); });
    idle.push(page);
  };
  return page;
}

// sound says what is wrong with the page as it is now.
async function sound(page, where) {
  const wrong = await page.evaluate(() => {
    const out = [];
    if ("pwned" in window) out.push("foreign code ran: " + window.pwned);
    const injected = document.querySelector(".injected, iframe, object, embed, style, [onerror], [onload], [onclick], base, form[action], #page script, #page link, #page img:not(.picture)");
    if (injected) out.push("an element was injected: " + injected.outerHTML.slice(0, 120));
    for (const a of document.querySelectorAll("a[href]")) if (!/^(#|https?:|mailto:)/.test(a.getAttribute("href"))) out.push("a link to " + a.getAttribute("href").slice(0, 80));
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) out.push(`wider than the window: ${root.scrollWidth} > ${root.clientWidth}`);
    for (const box of document.querySelectorAll(".talk, .pane.page, .details")) if (box.scrollWidth > box.clientWidth + 1) out.push(`${box.className} is wider than its box: ${box.scrollWidth} > ${box.clientWidth}`);
    return out;
  });
  for (const w of wrong) faults.push(`${where}: ${w}`);
}

// boxes says which controls and headings cover each other, of those that are in sight: each is cut to what
// the boxes around it let through.
async function boxes(page) {
  return page.evaluate(() => {
    const seen = [];
    for (const e of [...document.querySelectorAll("h1, h2, button, input, select, textarea, summary, nav a, .badge")].slice(0, 250)) {
      let { left, top, right, bottom } = e.getBoundingClientRect();
      if (e.closest(".hidden, .skip") || getComputedStyle(e).visibility === "hidden") continue;
      for (let up = e.parentElement; up; up = up.parentElement) {
        if (getComputedStyle(up).overflow === "visible" && up !== document.documentElement) continue;
        const r = up === document.documentElement ? { left: 0, top: 0, right: innerWidth, bottom: innerHeight } : up.getBoundingClientRect();
        left = Math.max(left, r.left); top = Math.max(top, r.top); right = Math.min(right, r.right); bottom = Math.min(bottom, r.bottom);
      }
      if (right - left > 2 && bottom - top > 2) seen.push({ e, left, top, right, bottom });
    }
    const out = [], name = (x) => x.e.tagName.toLowerCase() + " " + (x.e.textContent || x.e.getAttribute("aria-label") || "").slice(0, 30);
    for (let i = 0; i < seen.length; i++) for (let j = i + 1; j < seen.length; j++) {
      const a = seen[i], b = seen[j];
      if (a.e.contains(b.e) || b.e.contains(a.e)) continue;
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) out.push(name(a) + " covers " + name(b));
    }
    return out.slice(0, 5);
  });
}

// texts is what a view says in its headings, tabs and columns, whatever the width.
const texts = (page) => page.evaluate(() => [...document.querySelectorAll("h1, nav a, main .tabs button, main h2:not(.hidden)")].map((e) => e.textContent.replace(/\d[\d,.]*/g, "0").trim()));

// accessible asks axe about WCAG AA and what is good practice: all of it, or of the
// colours only, or without them.
async function accessible(page, where, colours = "too") {
  const options = {
    too: { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] },
    only: { runOnly: ["color-contrast"] },
    not: { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules: { "color-contrast": { enabled: false } } },
  }[colours];
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate((options) => window.axe.run(document, { ...options, resultTypes: ["violations"] }), options);
  for (const v of found.violations) faults.push(`${where}: axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target + " " + (n.any[0]?.message ?? n.all[0]?.message ?? "")).join(" | ")}`);
}

async function test(name, f) {
  const start = performance.now();
  try {
    await f();
  } catch (e) {
    faults.push(`${name}: ${e.stack ?? e}`);
  }
  console.log(`${name}: ${Math.round(performance.now() - start)} ms`);
}

const hand = (base) => ({
  post: (path, body = {}) => fetch(base + "/_test/" + path, { method: "POST", body: JSON.stringify(body) }),
  seen: async () => (await (await fetch(base + "/_test/seen")).json()) ?? [],
});

// Tests run in three lanes. Those that change what a server holds run one after the other on a server of their lane;
// those that only look have a lane of their own.
const lanes = plan.ordinary.map((ordinary, i) => {
  const { looking, doing } = Tests({ plan: { ...plan, ordinary }, open, sound, boxes, texts, accessible, hand, faults });
  return Object.entries(i === 0 ? looking : doing).filter(([name], n) => wanted(name) && (i === 0 || n % 2 === i % 2));
});
await Promise.all(lanes.map(async (lane) => { for (const [name, f] of lane) await test(name, f); }));
await browser.close();
console.log(`all: ${Math.round(performance.now() - began)} ms`);
if (faults.length) {
  console.error(`\n${faults.length} faults:\n` + [...new Set(faults)].map((f) => "- " + f).join("\n"));
  process.exit(1);
}
