// Find in a conversation, all of it: the server looks, and the page goes from one message to the
// next. The words are marked in what is drawn. Lines that the page writes itself, and the server has not, are
// looked through in what is here.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Hit } from "../api/types";
import { useLoad } from "../cell";
import { put, route } from "../route";
import { plural } from "../text/format";

export interface SaidLine { message: number; text: string }

// both are what the server found and the messages whose lines hold the words, newest first.
function both(hits: Hit[], lines: SaidLine[], want: string): number[] {
  const own = want ? lines.filter((l) => l.text.toLowerCase().includes(want.toLowerCase())).map((l) => l.message) : [];
  return [...new Set([...hits.map((h) => h.message_id), ...own])].sort((a, b) => b - a);
}

export function Find({ uuid, aim, lines }: { uuid: string; aim: number; lines: SaidLine[] }) {
  const [typed, setTyped] = useState(route.get().query.get("find") ?? "");
  const [want, setWant] = useState(typed.trim());
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => setWant(typed.trim()), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key !== "f" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || document.activeElement === box.current) return;
      e.preventDefault(); // a second one reaches the browser's own
      box.current?.focus();
      box.current?.select();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const [found] = useLoad(async (s) => (want ? await api.search(want, uuid, 1000, s) : { found: [], more: false }), [uuid, want]);
  const hits = both(found.state === "ready" ? found.value.found : [], lines, want);
  const at = hits.indexOf(aim);
  // Up is towards the beginning; the first step is to the newest.
  const step = (up: boolean) => {
    const next = hits[at < 0 ? (up ? 0 : hits.length - 1) : (at + (up ? 1 : -1) + hits.length) % hits.length];
    if (next) put({ at: String(next), find: want });
  };
  useMarks(want);
  return (
    <span class="finder" role="search" aria-label="Find in this conversation">
      <input ref={box} type="search" aria-label="Find in this conversation" placeholder="Find here" value={typed} aria-keyshortcuts="Control+F"
        onInput={(e) => setTyped(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape") setTyped("");
          if (e.key !== "Enter") return;
          e.preventDefault();
          if (typed.trim() !== want) setWant(typed.trim());
          else step(!e.shiftKey);
        }} />
      {want && <>
        <span class="soft" role="status">{found.state === "failed" ? "cannot look" : found.state === "loading" ? "\u2026" : hits.length === 0 ? "nothing" : at >= 0 ? `${hits.length - at} of ${hits.length}` : plural(hits.length, "message") + (found.value.more ? " or more" : "")}</span>
        <button type="button" class="quiet" disabled={!hits.length} aria-label="Previous match" onClick={() => step(true)}>{"\u2191"}</button>
        <button type="button" class="quiet" disabled={!hits.length} aria-label="Next match" onClick={() => step(false)}>{"\u2193"}</button>
      </>}
    </span>
  );
}

// useMarks marks the words in the conversation without changing it, where the browser can.
function useMarks(want: string) {
  useEffect(() => {
    const all = CSS.highlights, box = document.querySelector(".talk .column");
    if (!all || !want || !box) return;
    const low = want.toLowerCase(), opened = new WeakSet<Element>();
    let due = 0;
    const mark = () => {
      due = 0;
      const ranges: Range[] = [], walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
      for (let n = walk.nextNode(); n && ranges.length < 2000; n = walk.nextNode()) {
        const text = (n.textContent ?? "").toLowerCase();
        for (let i = text.indexOf(low); i >= 0; i = text.indexOf(low, i + low.length)) {
          const r = new Range();
          r.setStart(n, i);
          r.setEnd(n, Math.min(i + low.length, n.textContent!.length));
          ranges.push(r);
          const shut = n.parentElement?.closest(".aimed details:not([open])");
          if (shut instanceof HTMLDetailsElement && !opened.has(shut)) { // it can be shut again
            opened.add(shut);
            shut.open = true;
          }
        }
      }
      all.set("found", new Highlight(...ranges));
    };
    mark();
    const changed = new MutationObserver(() => { due ||= window.setTimeout(mark, 100); });
    changed.observe(box, { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["class"] });
    return () => {
      changed.disconnect();
      clearTimeout(due);
      all.delete("found");
    };
  }, [want]);
}
