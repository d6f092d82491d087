// The picture of the page in docs/walkthrough.md: node picture.mjs CHROMIUM LINK FILE, started by the Go
// tests of internal/app with -update.
import { chromium } from "playwright-core";

const [path, link, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: path, headless: true, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1120, height: 640 }, colorScheme: "dark" })).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(link);
  await page.getByText("tests", { exact: true }).first().click();
  await page.getByText("wc -l server.go").first().waitFor();
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
