// What the screen of all agents shows: the server's rows (package home), read again after events
// that may change them, with the line that each agent writes at this moment.
import { useEffect } from "preact/hooks";
import { api } from "./api/client";
import type { Home, HomeRow, Line, State } from "./api/types";
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

// told is what agents do since the reading began, as the events say: the answer may be older, and comes later.
const told = new Map<string, State>();
const does = (s: State) => (s.word === "working" && s.detail ? s.detail.split(" ")[0]! : s.word);
const as = (row: HomeRow, state: State | undefined) => (state && !row.run ? { ...row, state, does: does(state) } : row);

function became(uuid: string, state: State) {
  told.set(uuid, state);
  last = ""; // what is shown is no answer of the server any more
  const { home } = now.get();
  if (home?.rows.some((r) => r.uuid === uuid && !r.run)) now.set({ state: "ready", home: { ...home, rows: home.rows.map((r) => (r.uuid === uuid ? as(r, state) : r)) } });
}

async function read() {
  if (reading) {
    wanted = true;
    return;
  }
  reading = true;
  wanted = false;
  const begin = performance.now();
  told.clear();
  try {
    const home = await api.home(), text = JSON.stringify(home);
    if (text !== last || told.size || now.get().state !== "ready") {
      home.rows = home.rows.map((r) => kept(as(r, told.get(r.uuid))));
      now.set({ state: "ready", home });
    }
    last = told.size ? "" : text;
  } catch (error) {
    if (now.get().state !== "ready") now.set({ state: "failed", error });
  }
  // The more it takes, the longer it rests.
  setTimeout(() => {
    reading = false;
    if (wanted && lookers > 0) read();
  }, Math.max(100, 2 * (performance.now() - begin)));
}

const changes = new Set(["state", "asking", "answered", "turn_started", "turn_ended", "entry", "forked", "killed", "mailed", "spent"]);
const texts = new Map<string, string>();
let due = false;

function take(l: Line) {
  const who = l.agent_uuid ?? "";
  if (l.type === "state" && l.state) became(who, l.state);
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
