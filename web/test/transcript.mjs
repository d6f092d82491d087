// Opens exported files in Chromium without a network, and says what they say. It reads one plan a
// line from standard input and answers each with one line of JSON.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"];
const browser = await chromium.launch({ executablePath: process.argv[2], headless: true, args: flags });
const context = await browser.newContext({ offline: true });

let shared = null; // a new page costs half a second of the processor

async function look({ file, at, plain, search, books }) {
  const page = (!plain && shared) || (await context.newPage()), asked = [], wrong = [];
  page.setDefaultTimeout(120_000); // reached only when something is wrong
  const watch = {
    request: (r) => asked.push(r.url()),
    dialog: (d) => { wrong.push("dialog " + d.message()); d.dismiss(); },
    popup: () => wrong.push("a window"),
    pageerror: (e) => wrong.push(String(e)),
  };
  for (const [event, f] of Object.entries(watch)) page.on(event, f);
  if (plain) await page.addInitScript(() => Object.defineProperty(Crypto.prototype, "subtle", { value: undefined }));
  await page.goto("file://" + file + (at ?? ""));
  await page.waitForFunction(() => document.getElementById("verdict").className !== "busy");
  if (await page.evaluate(() => document.getElementById("verdict").className === "valid")) await page.waitForFunction(() => document.querySelector("#page main"));
  if (search) {
    await page.fill("input[type=search]", search);
    await page.waitForFunction(() => document.querySelector(".found li"));
  }
  // Other data, for the script of this file.
  const proved = await page.evaluate(async (books) => {
    const out = [];
    for (const b of books) out.push(await (async () => prove(open(b).book, () => {}))().then(() => "", (e) => e.message));
    return out;
  }, books ?? []);
  const said = await page.evaluate(() => ({
    verdict: document.getElementById("verdict").className, words: document.getElementById("verdict").textContent,
    native: Boolean(globalThis.crypto?.subtle), page: document.getElementById("page").innerText, pwned: "pwned" in window,
    elements: [...new Set([...document.querySelectorAll("#page *")].map((e) => e.tagName.toLowerCase()))].sort(),
    links: [...document.querySelectorAll("#page a")].map((a) => a.getAttribute("href")).filter((h) => !h.startsWith("#")),
    attributes: [...document.querySelectorAll("#page *")].flatMap((e) => [...e.attributes]).filter((a) => /^on|^style$|^srcdoc$/.test(a.name) || (a.name === "src" && !a.value.startsWith("data:image/"))).map((a) => a.name),
    found: document.querySelector(".found")?.innerText ?? "", aimed: document.querySelector(".aimed")?.id ?? "",
    agents: document.querySelectorAll("[data-agent]").length, diffs: document.querySelectorAll(".diff .added, .diff .removed").length, images: document.querySelectorAll("img").length,
  }));
  for (const [event, f] of Object.entries(watch)) page.off(event, f);
  if (plain) await page.close();
  else await (shared = page).goto("about:blank");
  return { ...said, proved, asked: asked.filter((u) => !u.startsWith("file://") && !u.startsWith("data:")), files: asked.filter((u) => u.startsWith("file://")).length, wrong };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await look(JSON.parse(line))));
await browser.close();
