// Long lists while one scrolls: whatever one jumps to, all rows in sight are there with the next frame, and
// when the list rests, its elements stand in the order of its rows.
import assert from "node:assert/strict";

export function listTests({ plan, open, launch }) {
  const all = {};
  all["a long list is whole wherever one scrolls"] = async () => {
    const page = await open(plan.big + "/#/agents", { viewport: { width: 1440, height: 900 }, name: "lists" });
    for (const [address, row, place] of [["#/agents", ".hrow, .hgroup", "aria-posinset"], ["#/runs/" + launch, ".frow:not(.head)", "aria-rowindex"]]) {
      await page.goto(plan.big + "/" + address);
      await page.locator(row).nth(9).waitFor();
      const wrong = await page.evaluate(async ([row, place]) => {
        const box = document.querySelector(".rows"), space = box.querySelector(".space"), wrong = [];
        const tall = document.querySelector(row).offsetHeight, first = Number(document.querySelector(row).getAttribute(place));
        const frame = () => new Promise(requestAnimationFrame);
        for (const to of [0, 137, 274, 9000, 9100, 60_000, 59_000, 300_000, 0, 1e9, 150_000, 150_400]) {
          box.scrollTop = to;
          await frame();
          await frame();
          const { left, bottom, width } = box.getBoundingClientRect(), zero = space.getBoundingClientRect().top;
          for (let i = Math.ceil(box.scrollTop / tall) + 1; zero + (i + 1) * tall < bottom; i++) {
            const e = document.elementFromPoint(left + width / 3, zero + (i + 0.5) * tall)?.closest(row);
            if (Number(e?.getAttribute(place)) !== i + first) wrong.push(`at ${box.scrollTop}, row ${i}: ${e?.getAttribute(place)} ${e?.textContent}`);
          }
        }
        for (let i = 0; i < 3000; i++) { // it rests: the bound is reached only when something is wrong
          await new Promise((go) => setTimeout(go, 20));
          const places = [...document.querySelectorAll(row)].map((e) => Number(e.getAttribute(place)));
          if (places.every((n, i) => i === 0 || n > places[i - 1])) return wrong;
        }
        return [...wrong, "the rows do not stand in order"];
      }, [row, place]);
      assert.deepEqual(wrong, [], address);
    }
    await page.leave();
  };
  return all;
}
