// What the screen of all agents shows: the server's rows (package home), read again after events
// that may change them, with the line that each agent writes at this moment.
import { useEffect } from "preact/hooks";
import { api } from "./api/client";
import type { Home, HomeRow, Line } from "./api/types";
import { Cell, useCell } from "./cell";
import { hear } from "./world";

export interface HomeNow { state: "loading" | "ready" | "failed"; home?: Home; error?: unknown }

const now = new Cell<HomeNow>({ state: "loading" });
export const writing = new Cell<ReadonlyMap<string, string>>(new Map()); // by uuid: the last line of what comes in

let lookers = 0, reading = false, wanted = false, last = "";

// kept is the row as it was before, if it says the same: it is not drawn anew.
const rows = new Map<string, { text: string; row: HomeRow }>();
function kept(row: HomeRow): HomeRow {
  const text = JSON.stringify(row), old = rows.get(row.uuid);
  if (old?.text === text) return old.row;
  rows.set(row.uuid, { text, row });
  return row;
}

async function read() {
  if (reading) {
    wanted = true;
    return;
  }
  reading = true;
  wanted = false;
  const begin = performance.now();
  try {
    const home = await api.home(), text = JSON.stringify(home);
    if (text !== last || now.get().state !== "ready") {
      home.rows = home.rows.map(kept);
      now.set({ state: "ready", home });
    }
    last = text;
  } catch (error) {
    if (now.get().state !== "ready") now.set({ state: "failed", error });
  }
  // The more it takes, the longer it rests.
  setTimeout(() => {
    reading = false;
    if (wanted && lookers > 0) read();
  }, Math.max(150, 5 * (performance.now() - begin)));
}

const changes = new Set(["state", "asking", "answered", "turn_started", "turn_ended", "entry", "forked", "killed", "mailed", "spent"]);
const texts = new Map<string, string>();
let due = false;

function take(l: Line) {
  const who = l.agent_uuid ?? "";
  if (changes.has(l.type)) read();
  if (l.type === "text_delta") texts.set(who, ((texts.get(who) ?? "") + (l.text ?? "")).slice(-600));
  else if (l.type === "turn_ended" || l.type === "turn_started" || l.type === "entry") texts.delete(who);
  else return;
  if (due) return;
  due = true;
  setTimeout(() => {
    due = false;
    const out = new Map<string, string>();
    for (const [uuid, text] of texts) {
      const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
      if (line) out.set(uuid, line);
    }
    writing.set(out);
  }, 100);
}

let listening = false;

// useHome are the rows as they are now.
export function useHome(): HomeNow {
  useEffect(() => {
    lookers++;
    if (!listening) {
      listening = true;
      hear({ line: take, anew: read });
    }
    read();
    return () => { lookers--; };
  }, []);
  return useCell(now);
}
