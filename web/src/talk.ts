// One agent's conversation: a stretch of it that can be moved to its beginning, its end or any
// entry, and what comes in while it is open.
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
  last: boolean; // it ends at the end, and goes on as the agent does
  behind: number; // entries that came in behind a stretch that does not end at the end
  text: string; // of the reply that is coming in, not durable yet
  thinking: string;
  calls: Call[];
  busy: boolean;
  notice: string; // what the kernel says of the turn
}

// A stretch has room for so many messages: the more there are, the more leave at the other end.
const page = 60, room = 300, longest = 2_000_000;

export class Conversation {
  readonly now = new Cell<Talk>({ state: "loading", messages: [], whole: false, last: true, behind: 0, text: "", thinking: "", calls: [], busy: false, notice: "" });
  private stop = new AbortController();
  private deaf: () => void;
  private early: Message[] = []; // entries that came while a page is read: its answer may be older
  private readers = 0;
  private wish = 0; // counts the stretches that were wanted: the answer to an earlier wish is not shown
  private missed = false; // events were, before the first page
  private due = false;
  private next: Talk;

  constructor(readonly uuid: string, private aim = 0) {
    this.next = this.now.get();
    this.deaf = hear({ line: (l) => { if (l.agent_uuid === uuid) this.take(l); }, anew: () => { this.catchUp(); } });
    this.retry();
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
      if (!this.stop.signal.aborted) this.now.set(this.next);
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

  private async before(end: number): Promise<{ list: Message[]; whole: boolean }> {
    const got = await api.messages(this.uuid, { before: end }, page, this.stop.signal);
    return { list: got.messages ?? [], whole: !got.previous };
  }

  private async after(at: number): Promise<{ list: Message[]; last: boolean }> {
    const got = await api.messages(this.uuid, { after: at }, page, this.stop.signal);
    return { list: got.messages ?? [], last: !got.next };
  }

  // during keeps what comes in while something is read; it gives null if another stretch is wanted by then.
  private async during<T>(read: Promise<T>): Promise<T | null> {
    const wish = this.wish;
    if (this.readers++ === 0) this.early = [];
    try {
      const got = await read;
      return wish === this.wish ? got : null;
    } finally {
      this.readers--;
    }
  }

  // retry reads the stretch that is wanted first: around the aim, else the end.
  async retry() {
    this.put({ state: "loading" });
    try {
      await (this.aim ? this.around(this.aim) : this.end());
    } catch (error) {
      if (!this.stop.signal.aborted) this.put({ state: "failed", error });
    }
  }

  // show puts a stretch in the place of what was shown.
  private show(stretch: { whole: boolean; last: boolean; messages: Message[] }) {
    this.put({ state: "ready", behind: 0, ...stretch, messages: stretch.last ? merge(stretch.messages, this.early) : stretch.messages });
    if (this.missed) this.catchUp();
  }

  private async around(at: number) {
    this.wish++;
    const got = await this.during(Promise.all([this.before(at + 1), this.after(at)]));
    if (!got) return;
    const [up, down] = got;
    this.show({ whole: up.whole, last: down.last, messages: merge(up.list, down.list) });
  }

  // seek goes to an entry, unless it is in the stretch, or in that which is being read.
  async seek(at: number) {
    const { state, messages } = this.next, here = state === "ready" ? messages.some((m) => m.id === at) : at === this.aim;
    this.aim = at;
    if (!here && state !== "failed") await this.around(at);
  }

  // start goes to the beginning, end to the end.
  async start() {
    this.wish++;
    const got = await this.during(this.after(0));
    if (got) this.show({ whole: true, last: got.last, messages: got.list });
  }

  async end() {
    this.wish++;
    const got = await this.during(this.before(Number.MAX_SAFE_INTEGER));
    if (got) this.show({ whole: got.whole, last: true, messages: got.list });
  }

  async earlier() {
    const first = this.next.messages[0];
    if (!first) return;
    const got = await this.during(this.before(first.id));
    if (!got) return;
    const all = merge(got.list, this.next.messages);
    this.put({ whole: got.whole, messages: all.slice(0, room), ...(all.length > room && { last: false }) });
  }

  async later() {
    const end = this.next.messages.at(-1);
    if (!end) return;
    const got = await this.during(this.after(end.id));
    if (!got) return;
    const { list, last } = got, all = merge(merge(this.next.messages, list), last ? this.early : []);
    this.put({ last, ...(last && { behind: 0 }), messages: all.slice(-room), ...(all.length > room && { whole: false }) });
  }

  // catchUp reads what may have been missed.
  async catchUp() {
    this.missed = this.next.state !== "ready";
    try {
      if (this.missed || !this.next.last) return;
      const list = await this.during(this.behind(this.next.messages.at(-1)?.id ?? 0));
      if (list?.length) this.grow(list);
    } catch {
      // The next event tries again.
    }
  }

  // grow puts new entries at the end; what is far above goes, and can be read again.
  private grow(list: Message[]) {
    const all = merge(this.next.messages, list);
    this.put({ messages: all.length > 2 * room ? all.slice(-room) : all, ...(all.length > 2 * room && { whole: false }) });
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
      case "asking":
        this.put({ notice: "" }); // the question stands below
        break;
      case "waiting": case "compacting": case "note":
        this.put({ notice: l.text ?? "" });
        break;
      case "turn_ended":
        this.put({ busy: false, text: "", thinking: "", calls: [], notice: l.error ? `${l.error.code}: ${l.error.message}` : "" });
        this.catchUp();
    }
  }

  private entry(m: Message) {
    const done = new Set((m.parts ?? []).filter((p) => p.type === "tool_result").map((p) => p.call_id));
    this.put({ ...(m.kind === "assistant" && { text: "", thinking: "" }), calls: this.next.calls.filter((c) => !done.has(c.id)) });
    if (this.readers > 0) this.early.push(m);
    if (this.next.state !== "ready") return;
    if (this.next.last) this.grow([m]);
    else this.put({ behind: this.next.behind + 1 });
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
