// What the page knows of the workspace: its agents and open questions, read once and
// then kept up by the live events.
import { useEffect } from "preact/hooks";
import { api } from "./api/client";
import { listen, type Link } from "./api/stream";
import type { Agent, Ask, Line, State } from "./api/types";
import { Cell } from "./cell";

export interface Agents {
  state: "loading" | "ready" | "failed";
  error?: unknown;
  all: Map<string, Agent>;
  below: Map<string, string[]>; // children in order of birth; "" has the roots
}

export const agents = new Cell<Agents>({ state: "loading", all: new Map(), below: new Map() });
export const asks = new Cell<Ask[]>([]);
export const link = new Cell<Link>("connecting");

const hearers = new Set<{ line(l: Line): void; anew(): void }>();
export function hear(h: { line(l: Line): void; anew(): void }): () => void {
  hearers.add(h);
  return () => { hearers.delete(h); };
}

// useSpent tells when something was spent, once in two seconds at most.
export function useSpent(tell: () => void) {
  useEffect(() => {
    let due = 0;
    const later = () => { due ||= window.setTimeout(() => { due = 0; tell(); }, 2000); };
    const deaf = hear({ line: (l) => { if (l.type === "spent" || l.type === "turn_ended") later(); }, anew: later });
    return () => {
      deaf();
      clearTimeout(due);
    };
  }, []);
}

export function order(list: Iterable<Agent>): Map<string, string[]> {
  const below = new Map<string, string[]>();
  const known = new Set<string>();
  const sorted = [...list].sort((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : a.uuid < b.uuid ? -1 : 1));
  for (const a of sorted) known.add(a.uuid);
  for (const a of sorted) {
    const parent = a.parent_uuid && known.has(a.parent_uuid) ? a.parent_uuid : "";
    const row = below.get(parent);
    if (row) row.push(a.uuid);
    else below.set(parent, [a.uuid]);
  }
  return below;
}

let reading = false;

// wanted is whose rows are to be read next; "all" if nobody knows whose.
let wanted: Set<string> | "all" = new Set();

// most is how many are read by their ids; of more, all are read.
const most = 100;

// fresh is what agents did since the reading began: the answer may be older.
const fresh = new Map<string, State>();

// refresh reads agents anew: those that are named, or all of them. While it reads, further
// wishes become one; the more it takes, the longer it rests.
export function refresh(...uuids: string[]) {
  if (!uuids.length || agents.get().state !== "ready") wanted = "all";
  if (wanted !== "all") for (const uuid of uuids) wanted.add(uuid);
  if (!reading) read();
}

async function read() {
  const some = wanted !== "all" && wanted.size <= most ? [...wanted] : null;
  wanted = new Set();
  reading = true;
  const begin = performance.now();
  fresh.clear();
  try {
    const list = some ? await api.some(some) : await api.agents();
    const all = some ? agents.get().all : new Map<string, Agent>();
    let below = agents.get().below;
    const born = list.some((a) => !all.has(a.uuid));
    for (const a of list) {
      const state = fresh.get(a.uuid);
      all.set(a.uuid, state ? { ...a, state } : a);
    }
    if (born || !some) below = order(all.values());
    agents.set({ state: "ready", all, below });
  } catch (error) {
    const now = agents.get();
    agents.set(now.all.size ? { ...now } : { ...now, state: "failed", error });
  }
  setTimeout(() => {
    reading = false;
    if (wanted === "all" || wanted.size) read();
  }, Math.max(100, 5 * (performance.now() - begin)));
}

// subtree is an agent with all that are known below it.
function subtree(uuid: string): string[] {
  const out = [uuid], below = agents.get().below;
  for (const one of out) out.push(...(below.get(one) ?? []));
  return out;
}

// readAsks reads the open questions. While it reads, further wishes become one: no older answer is put over a
// newer one, and many events do not keep other questions from the server.
let asking: Promise<void> | null = null, next: Promise<void> | null = null;
export function readAsks(): Promise<void> {
  if (asking) return next ??= asking.then(() => {
    next = null;
    return readAsks();
  });
  return asking = api.asks().then((open) => asks.set(open), () => {}).finally(() => { asking = null; }); // if it fails, the next event tries again
}

// change puts a new version of an agent in, and shows it with the next frame.
let shown = true;
function change(uuid: string, to: (a: Agent) => Agent) {
  const now = agents.get(), a = now.all.get(uuid);
  if (!a) return;
  now.all.set(uuid, to(a));
  if (!shown) return;
  shown = false;
  setTimeout(() => {
    shown = true;
    agents.set({ ...agents.get() });
  }, 50);
}

// became puts in what an agent does from now on. Whatever else happens, only this changes
// what is shown of that.
function became(uuid: string, state: State) {
  fresh.set(uuid, state);
  change(uuid, (a) => ({ ...a, state }));
}

function take(l: Line) {
  const who = l.agent_uuid ?? "";
  switch (l.type) {
    case "state":
      if (who && l.state) became(who, l.state);
      else refresh();
      break;
    case "asking": case "answered":
      readAsks();
      break;
    case "turn_ended":
      readAsks();
      reread(who);
      break;
    case "spent":
      change(who, (a) => ({ ...a, spent: {
        cost_nano_usd: (a.spent?.cost_nano_usd ?? 0) + (l.cost_nano_usd ?? 0),
        tokens: (a.spent?.tokens ?? 0) + (l.usage ? l.usage.input + l.usage.output + l.usage.cache_read + l.usage.cache_write : 0),
      } }));
      break;
    case "entry":
      if (l.message && ["fork", "killed", "command"].includes(l.message.kind)) reread(who);
      change(who, (a) => ({ ...a, own_messages: a.own_messages + 1, head_message_id: l.message?.id ?? a.head_message_id }));
      break;
    case "forked": case "mailed":
      reread(who, ...(l.children ?? []));
      break;
    case "killed":
      reread(...(who ? subtree(who) : []), ...(l.children ?? []));
  }
}

// reread reads those anew whom an event is about; all, if it does not say.
function reread(who?: string, ...more: string[]) {
  if (who) refresh(who, ...more);
  else refresh();
}

// start reads the agents when the stream is there, so that nothing happens in between;
// and if it does not come, without it.
export function start() {
  listen({
    link: (now) => {
      link.set(now);
      if (now === "waiting" && agents.get().state === "loading") {
        refresh();
        readAsks();
      }
    },
    line: (l) => {
      take(l);
      for (const h of hearers) h.line(l);
    },
    anew: () => {
      refresh();
      readAsks();
      for (const h of hearers) h.anew();
    },
  });
}

export const named = (a: Agent) => a.name || (a.parent_uuid ? a.uuid.slice(0, 8) : "agent 0");

// label is how an agent is called: by its name, else by the beginning of its id.
export function label(uuid: string | null | undefined): string {
  if (!uuid) return "you";
  const a = agents.get().all.get(uuid);
  return a ? named(a) : uuid.slice(0, 8);
}
