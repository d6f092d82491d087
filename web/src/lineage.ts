// Everybody who ever was, as the server tells it; read again while it is looked at, after events that
// may change it.
import { useEffect } from "preact/hooks";
import { api } from "./api/client";
import type { Lineage } from "./api/types";
import { Cell, useCell } from "./cell";
import { hear } from "./world";

export interface LineageNow { state: "loading" | "ready" | "failed"; lineage?: Lineage; error?: unknown }

const now = new Cell<LineageNow>({ state: "loading" });
const changes = new Set(["state", "entry", "forked", "killed", "mailed"]);
let lookers = 0, reading = false, wanted = false, last = "";

async function read() {
  wanted = true;
  if (reading || lookers === 0) return;
  reading = true;
  wanted = false;
  const begin = performance.now();
  try {
    const lineage = await api.lineage(), text = JSON.stringify(lineage);
    if (text !== last || now.get().state !== "ready") now.set({ state: "ready", lineage });
    last = text;
  } catch (error) {
    if (now.get().state !== "ready") now.set({ state: "failed", error });
  }
  // The more it takes, the longer it rests.
  setTimeout(() => {
    reading = false;
    if (wanted) read();
  }, Math.max(400, 5 * (performance.now() - begin)));
}

// useLineage is the lineage as it is now.
export function useLineage(): LineageNow {
  useEffect(() => {
    lookers++;
    read();
    const deaf = hear({ line: (l) => { if (changes.has(l.type)) read(); }, anew: read });
    return () => {
      lookers--;
      deaf();
    };
  }, []);
  return useCell(now);
}
