// The chain of a run's events, checked here and not by the server: each hash is that
// of id, time, type, payload and the hash before (docs/run-log.md). The payload's bytes
// are its RFC 8785 form, which is what JSON.stringify writes when keys are sorted.
import type { RunEvent } from "../api/types";

export function canonical(v: unknown): string {
  if (Array.isArray(v)) return "[" + v.map(canonical).join(",") + "]";
  if (v && typeof v === "object") {
    const o = v as Record<string, unknown>;
    return "{" + Object.keys(o).sort().map((k) => JSON.stringify(k) + ":" + canonical(o[k])).join(",") + "}";
  }
  return JSON.stringify(v);
}

export type Mark = "ok" | "hash" | "link";

// check marks each event; null where the browser cannot hash (the page is not local).
export async function check(events: RunEvent[], before: string | null): Promise<Mark[] | null> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) return null;
  const utf8 = new TextEncoder();
  let prev = before;
  return Promise.all(events.map(async (e): Promise<Mark> => {
    const linked = prev === null || e.prev_hash === prev;
    prev = e.event_hash;
    const sum = await subtle.digest("SHA-256", utf8.encode(e.event_id + e.ts + e.type + canonical(e.payload) + e.prev_hash));
    const hex = Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, "0")).join("");
    return hex !== e.event_hash ? "hash" : linked ? "ok" : "link";
  }));
}
