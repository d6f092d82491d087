// One agent's conversation: its newest messages, earlier ones on request, and what
// comes in while it is open.
import { api } from "./api/client";
import type { Line, Message } from "./api/types";
import { Cell } from "./cell";
import { hear } from "./world";

export interface Call { id: string; tool: string; text: string; done: boolean; failed: boolean }

export interface Talk {
  state: "loading" | "ready" | "failed";
  error?: unknown;
  messages: Message[];
  whole: boolean; // it begins at the beginning
  text: string; // of the reply that is coming in, not durable yet
  thinking: string;
  calls: Call[];
  busy: boolean;
  notice: string; // what the kernel says of the turn
}

const page = 100, farthest = 5_000, longest = 2_000_000;

// shown is what the open conversation shows, for the search.
export const shown = new Cell<{ uuid: string; messages: Message[] }>({ uuid: "", messages: [] });

export class Conversation {
  readonly now = new Cell<Talk>({ state: "loading", messages: [], whole: false, text: "", thinking: "", calls: [], busy: false, notice: "" });
  private stop = new AbortController();
  private deaf: () => void;
  private early: Message[] = []; // entries that came before the first page
  private due = false;
  private next: Talk;

  constructor(readonly uuid: string, private aim = 0) {
    this.next = this.now.get();
    this.deaf = hear({ line: (l) => { if (l.agent_uuid === uuid) this.take(l); }, anew: () => { this.catchUp(); } });
    this.begin();
  }

  close() {
    this.stop.abort();
    this.deaf();
  }

  // put shows a change with the next frame: a fast reply is many pieces.
  private put(change: Partial<Talk>) {
    this.next = { ...this.next, ...change };
    if (this.due) return;
    this.due = true;
    setTimeout(() => {
      this.due = false;
      if (this.stop.signal.aborted) return;
      this.now.set(this.next);
      shown.set({ uuid: this.uuid, messages: this.next.messages });
    }, 33);
  }

  // behind reads all messages behind an id.
  private async behind(after: number): Promise<Message[]> {
    const out: Message[] = [];
    for (;;) {
      const got = await api.messages(this.uuid, { after }, page, this.stop.signal);
      const list = got.messages ?? [];
      out.push(...list);
      if (!list.length || !got.next || got.next <= after) return out;
      after = got.next;
    }
  }

  // before reads a page in front of an id, or several until one id is there.
  private async before(end: number, aim = 0): Promise<{ list: Message[]; whole: boolean }> {
    let list: Message[] = [];
    for (;;) {
      const got = await api.messages(this.uuid, { before: end }, page, this.stop.signal);
      const more = got.messages ?? [], first = more[0];
      list = [...more, ...list];
      if (!first || !got.previous) return { list, whole: true };
      if (first.id <= aim || !aim || list.length >= farthest) return { list, whole: false };
      end = got.previous;
    }
  }

  private async begin() {
    try {
      const { list, whole } = await this.before(Number.MAX_SAFE_INTEGER, this.aim);
      this.put({ state: "ready", whole, messages: merge(list, this.early) });
    } catch (error) {
      if (!this.stop.signal.aborted) this.put({ state: "failed", error });
    }
  }

  async earlier() {
    const first = this.next.messages[0];
    if (!first) return;
    const { list, whole } = await this.before(first.id);
    this.put({ whole, messages: merge(list, this.next.messages) });
  }

  async retry() {
    this.put({ state: "loading" });
    await this.begin();
  }

  // catchUp reads what may have been missed.
  async catchUp() {
    try {
      if (this.next.state !== "ready") return;
      const list = await this.behind(this.next.messages.at(-1)?.id ?? 0);
      if (list.length) this.put({ messages: merge(this.next.messages, list) });
    } catch {
      // The next event tries again.
    }
  }

  private take(l: Line) {
    const n = this.next;
    switch (l.type) {
      case "turn_started":
        this.put({ busy: true, text: "", thinking: "", calls: [], notice: "" });
        break;
      case "text_delta":
        this.put({ busy: true, text: (n.text + (l.text ?? "")).slice(-longest), notice: "" });
        break;
      case "thinking_delta":
        this.put({ busy: true, thinking: (n.thinking + (l.text ?? "")).slice(-longest) });
        break;
      case "call_started":
        this.put({ busy: true, calls: [...n.calls.filter((c) => c.id !== l.call_id), { id: l.call_id ?? "", tool: l.tool ?? "", text: "", done: false, failed: false }] });
        break;
      case "call_output":
        this.put({ calls: n.calls.map((c) => (c.id === l.call_id ? { ...c, text: (c.text + (l.text ?? "")).slice(-longest) } : c)) });
        break;
      case "call_ended":
        this.put({ calls: n.calls.map((c) => (c.id === l.call_id ? { ...c, text: l.text || c.text, done: true, failed: !!l.is_error } : c)) });
        break;
      case "entry":
        if (l.message) this.entry(l.message);
        break;
      case "retrying":
        this.put({ notice: `The model did not answer (${l.attempt?.error?.code ?? "error"}); attempt ${l.attempt?.number ?? "?"} of ${l.attempt?.of ?? "?"}.` });
        break;
      case "waiting": case "compacting": case "note": case "asking":
        this.put({ notice: l.text ?? "" });
        break;
      case "turn_ended":
        this.put({ busy: false, text: "", thinking: "", calls: [], notice: l.error ? `${l.error.code}: ${l.error.message}` : "" });
        this.catchUp();
    }
  }

  private entry(m: Message) {
    const done = new Set((m.parts ?? []).filter((p) => p.type === "tool_result").map((p) => p.call_id));
    this.put({
      ...(m.kind === "assistant" && { text: "", thinking: "" }),
      calls: this.next.calls.filter((c) => !done.has(c.id)),
      ...(this.next.state === "ready" ? { messages: merge(this.next.messages, [m]) } : {}),
    });
    if (this.next.state !== "ready") this.early.push(m);
  }
}

export function merge(a: Message[], b: Message[]): Message[] {
  const last = a.at(-1), first = b[0];
  if (!first) return a;
  if (!last || last.id < first.id) return [...a, ...b];
  const all = new Map(a.map((m) => [m.id, m]));
  for (const m of b) all.set(m.id, m);
  return [...all.values()].sort((x, y) => x.id - y.id);
}
