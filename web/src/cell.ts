// A value that tells when it changes. All shared state of the page is in cells.
import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  private heard = new Set<() => void>();
  constructor(private value: T) {}
  get(): T { return this.value; }
  set(value: T) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const f of [...this.heard]) f();
  }
  on(f: () => void): () => void {
    this.heard.add(f);
    return () => { this.heard.delete(f); };
  }
}

export function useCell<T>(c: Cell<T>): T {
  const [, again] = useState({});
  useEffect(() => {
    again({}); // it may have changed between drawing and listening
    return c.on(() => again({}));
  }, [c]);
  return c.get();
}

export type Loaded<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; error: unknown };

// useLoad reads something when the keys change, and gives up what is no longer
// wanted. What was there before stays until the new is here.
export function useLoad<T>(read: (s: AbortSignal) => Promise<T>, keys: readonly unknown[]): [Loaded<T>, () => void] {
  const [got, set] = useState<{ of: string; now: Loaded<T> }>({ of: "", now: { state: "loading" } });
  const [round, again] = useState(0);
  const of = JSON.stringify(keys);
  useEffect(() => {
    const stop = new AbortController();
    read(stop.signal).then(
      (value) => { if (!stop.signal.aborted) set({ of, now: { state: "ready", value } }); },
      (error) => { if (!stop.signal.aborted) set({ of, now: { state: "failed", error } }); });
    return () => stop.abort();
  }, [of, round]);
  return [got.of === of ? got.now : { state: "loading" }, () => again((n) => n + 1)];
}
