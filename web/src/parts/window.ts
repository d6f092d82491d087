// A window on a long list: only the rows in sight are elements.
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Window { box: { current: HTMLDivElement | null }; first: number; end: number; height: number; show(i: number): void }

export function useWindow(count: number, row: number, above = 0): Window {
  const box = useRef<HTMLDivElement>(null);
  const [view, set] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const read = () => set((old) => (old.top === el.scrollTop && old.height === el.clientHeight ? old : { top: el.scrollTop, height: el.clientHeight }));
    read();
    el.addEventListener("scroll", read, { passive: true });
    const sized = new ResizeObserver(read);
    sized.observe(el);
    return () => {
      el.removeEventListener("scroll", read);
      sized.disconnect();
    };
  }, [count > 0]);
  const show = useCallback((i: number) => {
    const el = box.current;
    if (!el) return;
    const top = i * row, bottom = top + row, seen = el.clientHeight - above;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (bottom > el.scrollTop + seen) el.scrollTop = bottom - seen;
  }, [row, above]);
  const spare = 8;
  const first = Math.max(0, Math.min(count, Math.floor(view.top / row)) - spare);
  return { box, first, end: Math.min(count, Math.ceil((view.top + view.height) / row) + spare), height: count * row, show };
}
