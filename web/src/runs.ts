// The runs of the project. While somebody looks at them they are read again and again, for other
// processes carry them out; nothing is drawn unless something changed.
import { useEffect } from "preact/hooks";
import { api } from "./api/client";
import type { LogRow } from "./api/types";
import { Cell, useCell } from "./cell";

export interface Runs { state: "loading" | "ready" | "failed"; rows: LogRow[]; error?: unknown }

const runs = new Cell<Runs>({ state: "loading", rows: [] });
let lookers = 0, timer = 0;
const every = 1500;

export async function readRuns() {
  try {
    const rows = (await api.logs()).sort((x, y) => ((x.created_at || x.updated_at) < (y.created_at || y.updated_at) ? 1 : -1));
    // A row that says what it said before stays the same one, and is not drawn anew.
    const before = new Map(runs.get().rows.map((r) => [r.run_id, r])), same = rows.map((r) => {
      const old = before.get(r.run_id);
      return old && JSON.stringify(old) === JSON.stringify(r) ? old : r;
    });
    const now = runs.get();
    if (now.state !== "ready" || same.length !== now.rows.length || same.some((r, i) => r !== now.rows[i])) runs.set({ state: "ready", rows: same });
  } catch (error) {
    if (runs.get().state !== "ready") runs.set({ state: "failed", rows: [], error });
  }
}

async function round() {
  timer = -1;
  const begin = performance.now();
  if (!document.hidden) await readRuns();
  if (lookers > 0) timer = window.setTimeout(round, Math.max(every, 5 * (performance.now() - begin)));
  else timer = 0;
}

// useRuns are the runs as they are now, newest first.
export function useRuns(): Runs {
  useEffect(() => {
    lookers++;
    if (!timer) round();
    return () => {
      lookers--;
      if (lookers === 0 && timer > 0) {
        clearTimeout(timer);
        timer = 0;
      }
    };
  }, []);
  return useCell(runs);
}

// useTicks counts on while a view is looked at, for what has to be read again.
export function useTicks(read: () => void, on: boolean) {
  useEffect(() => {
    if (!on) return;
    const t = setInterval(() => { if (!document.hidden) read(); }, every);
    return () => clearInterval(t);
  }, [on]);
}
