// The API, one function per route. Every failure is a Refusal, which says what to
// show; 401 is also told to whoever listens (signedOut).
import { prefix } from "./prefix";
import type { Agent, Ask, Branch, Choice, FileChange, Hit, Home, Lineage, Letter, LogRow, Message, Mode, Piece, Project, Run, RunEvent, Snapshot, Tracked, Trust, Usage, Verified } from "./types";

export class Refusal extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly details: { pointer?: string; message: string; suggestion?: string }[] = []) {
    super(message);
  }
}

export const signedOut = { tell: () => {} };

const at = (path: string, query: Record<string, string | number | undefined | null> = {}) => {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== "") q.set(key, String(value));
  const tail = q.toString();
  return prefix + "/api/v1" + path + (tail ? "?" + tail : "");
};

const seg = encodeURIComponent;

export async function refusal(answer: Response): Promise<Refusal> {
  if (answer.status === 401) signedOut.tell();
  let body: { code?: unknown; message?: unknown; details?: unknown } = {};
  try {
    body = await answer.json();
  } catch {
    // Not ours: the status has to do.
  }
  return new Refusal(answer.status, typeof body.code === "string" ? body.code : "HTTP_" + answer.status,
    typeof body.message === "string" ? body.message : "the server answers " + answer.status + " " + answer.statusText,
    Array.isArray(body.details) ? body.details : []);
}

async function ask<T>(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(url, {
      method, signal: signal ?? null, credentials: "same-origin", cache: "no-store",
      headers: body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new Refusal(0, "UNREACHABLE", "The server does not answer. `ramet web` starts it again.");
  }
  if (!answer.ok) throw await refusal(answer);
  if (answer.status === 204) return undefined as T;
  return await answer.json() as T;
}

const get = <T>(url: string, signal?: AbortSignal) => ask<T>("GET", url, undefined, signal);
const post = <T>(url: string, body: unknown = {}) => ask<T>("POST", url, body);

export const api = {
  projects: () => get<{ current: string; projects: Project[] }>(at("/projects")),
  signOut: () => ask<unknown>("POST", at("/sign-out")),
  agents: (s?: AbortSignal) => get<{ agents: Agent[] | null }>(at("/agents", { all: 1 }), s).then((x) => x.agents ?? []),
  some: (uuids: string[], s?: AbortSignal) => get<{ agents: Agent[] | null }>(at("/agents", { of: uuids.join(",") }), s).then((x) => x.agents ?? []),
  home: (s?: AbortSignal) => get<Home>(at("/home"), s),
  lineage: (s?: AbortSignal) => get<Lineage>(at("/lineage"), s),
  agent: (ref: string, s?: AbortSignal) => get<Agent>(at("/agents/" + seg(ref)), s),
  search: (q: string, agent: string, limit: number, s?: AbortSignal) =>
    get<{ found: Hit[] | null; more: boolean }>(at("/search", { q, agent, limit }), s).then((x) => ({ found: x.found ?? [], more: x.more })),
  // From after on, or the newest before; not both.
  messages: (ref: string, from: { after: number } | { before: number }, limit: number, s?: AbortSignal) =>
    get<{ messages: Message[] | null; next: number | null; previous: number | null }>(at("/agents/" + seg(ref) + "/messages", { ...from, limit, own: 0 }), s),
  part: (ref: string, message: number, part: number, offset: number) =>
    get<Piece>(at("/agents/" + seg(ref) + "/messages/" + message + "/parts/" + part, { offset })),
  changes: (ref: string, state: number, s?: AbortSignal) => get<{ changes: FileChange[] | null }>(at("/agents/" + seg(ref) + "/diff", { state }), s).then((x) => x.changes ?? []),
  lastChanges: (ref: string, s?: AbortSignal) => get<{ changes: FileChange[] | null }>(at("/agents/" + seg(ref) + "/diff"), s).then((x) => x.changes ?? []),
  mail: (ref: string, s?: AbortSignal) => get<{ letters: Letter[] | null }>(at("/agents/" + seg(ref) + "/mail"), s).then((x) => x.letters ?? []),
  prompt: (ref: string, text: string, more: { model?: string; effort?: string; ticket?: string } = {}) => post<{ agent_uuid: string; turn: number }>(at("/agents/" + seg(ref) + "/prompt"), { text, ...more }),
  send: (ref: string, body: string) => post<Letter>(at("/agents/" + seg(ref) + "/send"), { body }),
  fork: (ref: string, name: string, prompt: string, after = 0) =>
    post<Agent>(at("/agents/" + seg(ref) + "/fork"), { ...(name && { name }), ...(prompt && { prompt }), ...(after && { at: after }) }),
  interrupt: (ref: string, tickets: string[]) =>
    post<{ taken_back: string[] | null }>(at("/agents/" + seg(ref) + "/interrupt"), tickets.length ? { tickets } : {}).then((x) => ({ taken_back: x.taken_back ?? [] })),
  victims: (ref: string) => get<{ count: number }>(at("/agents/" + seg(ref) + "/kill-preview")).then((x) => x.count),
  kill: (ref: string, confirm: number) => post<{ count: number }>(at("/agents/" + seg(ref) + "/kill"), { cascade: true, confirm }),
  asks: (s?: AbortSignal) => get<{ asks: Ask[] | null }>(at("/permissions"), s).then((x) => x.asks ?? []),
  answer: (id: string, answer: Choice["choice"], more: { words?: string; rule?: string } = {}) => post<unknown>(at("/permissions/" + seg(id)), { answer, ...more }),
  mode: (ref: string, s?: AbortSignal) => get<Mode>(at("/agents/" + seg(ref) + "/mode"), s),
  setMode: (ref: string, mode: string) => post<Mode>(at("/agents/" + seg(ref) + "/mode"), { mode }),
  trust: (s?: AbortSignal) => get<Trust>(at("/trust"), s),
  accept: (digest: string) => post<Trust>(at("/trust"), { digest }),
  runs: (filter: { job_type?: string; status?: string; agent_name?: string; cursor?: string; limit?: number }, s?: AbortSignal) =>
    get<{ runs: Run[] | null; next_cursor: string | null }>(at("/runs", filter), s).then((x) => ({ runs: x.runs ?? [], next: x.next_cursor || "" })),
  tree: (id: string, s?: AbortSignal) => get<Branch>(at("/runs/" + seg(id) + "/tree"), s),
  logs: (s?: AbortSignal) => get<{ runs: LogRow[] | null }>(at("/run-logs"), s).then((x) => x.runs ?? []),
  log: (id: string, s?: AbortSignal) => get<Snapshot>(at("/run-logs/" + seg(id)), s),
  startRun: (run: { recipe: string; repo: string; into: string; model: string; set: Record<string, string> }) =>
    post<{ run_id: string }>(at("/run-logs"), Object.fromEntries(Object.entries(run).filter(([, v]) => v !== "" && (typeof v !== "object" || Object.keys(v).length > 0)))),
  resumeRun: (id: string, how: { from_failed?: boolean; limits?: Record<string, string> }) => post<{ run_id: string }>(at("/run-logs/" + seg(id) + "/resume"), how),
  cancelRun: (id: string, reason: string) => post<{ run_id: string }>(at("/run-logs/" + seg(id) + "/cancel"), reason ? { reason } : {}),
  forkRun: (id: string, at_: string, run_id: string) => post<{ run_id: string }>(at("/run-logs/" + seg(id) + "/fork"), { at: at_, ...(run_id && { run_id }) }),
  events: (id: string, after: number, limit: number, s?: AbortSignal) =>
    get<{ events: RunEvent[] | null; next: number | null }>(at("/run-logs/" + seg(id) + "/events", { after, limit }), s),
  verify: (id: string, s?: AbortSignal) => get<Verified>(at("/run-logs/" + seg(id) + "/verify"), s),
  track: (s?: AbortSignal) => get<{ entries: Tracked[] | null }>(at("/track"), s).then((x) => x.entries ?? []),
  usage: (by: string, since: string, s?: AbortSignal) => get<Usage>(at("/usage", { by, since }), s),
};
