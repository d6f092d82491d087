// A window on a long list: only the rows in sight are elements. It moves by several rows at once, so that
// most frames of a scroll draw nothing anew.
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Window { box: { current: HTMLDivElement | null }; first: number; end: number; height: number; show(i: number): void }

const step = 4, spare = 8; // rows

export function useWindow(count: number, row: number, above = 0): Window {
  const box = useRef<HTMLDivElement>(null);
  const [view, set] = useState({ from: 0, to: Math.ceil(800 / row) });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const read = () => {
      const top = el.scrollTop, from = Math.floor(top / row / step) * step, to = Math.ceil((top + el.clientHeight) / row / step) * step;
      set((old) => (old.from === from && old.to === to ? old : { from, to }));
    };
    read();
    el.addEventListener("scroll", read, { passive: true });
    const sized = new ResizeObserver(read);
    sized.observe(el);
    return () => {
      el.removeEventListener("scroll", read);
      sized.disconnect();
    };
  }, [count > 0, row]);
  const show = useCallback((i: number) => {
    const el = box.current;
    if (!el) return;
    const top = i * row, bottom = top + row, seen = el.clientHeight - above;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (bottom > el.scrollTop + seen) el.scrollTop = bottom - seen;
  }, [row, above]);
  return { box, first: Math.max(0, Math.min(count, view.from) - spare), end: Math.min(count, view.to + spare), height: count * row, show };
}
