// A window on a long list: only the rows in sight are elements, and a few above and below them, in blocks. What
// is in sight is drawn at once; of the rest a block with each frame, so that no frame of a scroll has much to do,
// not even one that goes somewhere else. A block that is not wanted any more stays what and where it is until
// another takes its elements over: while one scrolls, none is made, taken out or put elsewhere among the others,
// which would cost the browser more than all that they say. They are put in order when the list rests.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export interface Place { box: { current: HTMLDivElement | null }; show(i: number): void }
export interface Block { slot: number; at: number } // the elements, and which rows they are: from at * step on
export interface Window { first: number; end: number; step: number; blocks: Block[] }

const spare = 2; // steps above and below

// stepOf is how many rows come and go together: some hundred pixels of them.
export const stepOf = (row: number) => Math.max(4, Math.ceil(100 / row));

// usePlace is the box of a list, and a way to bring a row into its sight; above is what covers its upper edge.
export function usePlace(row: number, above = 0): Place {
  const box = useRef<HTMLDivElement>(null);
  const show = useCallback((i: number) => {
    const el = box.current;
    if (!el) return;
    const top = i * row, bottom = top + row, seen = el.clientHeight - above;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (bottom > el.scrollTop + seen) el.scrollTop = bottom - seen;
  }, [row, above]);
  return useMemo(() => ({ box, show }), [show]);
}

interface Stretch { from: number; to: number } // in steps

// grown is what is drawn after what was drawn before, where a stretch is in sight: of the spare, one step more.
function grown(old: Stretch, sight: Stretch): Stretch {
  const apart = old.to <= sight.from || old.from >= sight.to;
  const from = apart ? sight.from : Math.max(sight.from - spare, Math.min(old.from, sight.from));
  const to = apart ? sight.to : Math.min(sight.to + spare, Math.max(old.to, sight.to));
  if (apart || to > old.to || from < old.from) return { from, to }; // enough for a frame
  if (to < sight.to + spare) return { from, to: to + 1 };
  return from > sight.from - spare ? { from: from - 1, to } : { from, to };
}

// taken gives the blocks of a stretch their elements.
function taken(old: Block[], slots: number, { from, to }: Stretch): Block[] {
  const out = old.some((b) => b.slot >= slots || b.at % slots !== b.slot) ? [] : [...old];
  for (let at = Math.max(0, from); at < to; at++) {
    const i = out.findIndex((b) => b.slot === at % slots);
    if (i < 0) out.push({ slot: at % slots, at });
    else if (out[i]!.at !== at) out[i] = { slot: at % slots, at };
  }
  return out;
}

// useWindow is the part of a list that is drawn.
export function useWindow(box: Place["box"], count: number, row: number): Window {
  const step = stepOf(row);
  const [view, set] = useState<Stretch & { blocks: Block[] }>(() => {
    const some = { from: 0, to: Math.ceil(800 / row / step) };
    return { ...some, blocks: taken([], some.to, some) };
  });
  const now = useRef(view), look = useRef<() => unknown>(() => {});
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    let tall = el.clientHeight, rest = 0;
    const read = () => {
      const top = el.scrollTop, sight = { from: Math.floor(top / row / step), to: Math.ceil((top + tall) / row / step) };
      const old = now.current, next = grown(old, sight), blocks = taken(old.blocks, Math.ceil(tall / row / step) + 1 + 2 * spare, next);
      if (old.from === next.from && old.to === next.to && old.blocks.length === blocks.length) return false;
      set(now.current = { ...next, blocks });
      clearTimeout(rest);
      rest = window.setTimeout(settle, 120);
      return true;
    };
    // settle draws the rest of the spare, and then puts the blocks in order.
    const settle = () => {
      if (!read()) set(now.current = { ...now.current, blocks: [...now.current.blocks].sort((a, b) => a.at - b.at) });
    };
    look.current = read;
    read();
    el.addEventListener("scroll", read, { passive: true });
    const sized = new ResizeObserver(() => {
      tall = el.clientHeight;
      read();
    });
    sized.observe(el);
    return () => {
      clearTimeout(rest);
      el.removeEventListener("scroll", read);
      sized.disconnect();
    };
  }, [count > 0, row]);
  useEffect(() => { look.current(); }, [count]); // a list that became shorter has moved its box
  const first = Math.max(0, view.from) * step, end = Math.min(count, view.to * step);
  return { first: Math.min(first, Math.max(0, Math.floor((count - 1) / step) * step)), end, step, blocks: view.blocks.filter((b) => b.at * step < count) };
}
