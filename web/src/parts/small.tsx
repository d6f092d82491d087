// Small parts that every view uses.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../api/client";
import type { Agent, State } from "../api/types";
import { Cell, useCell, type Loaded } from "../cell";
import { age, time } from "../text/format";
import { oneLine, visible } from "../text/visible";
import { projectName } from "../project";
import { to } from "../route";
import { agents, label } from "../world";

// Said is foreign text on one line.
export function Said({ text, most }: { text: string | null | undefined; most?: number }) {
  return <bdi>{oneLine(text ?? "", most)}</bdi>;
}

export function AgentLink({ uuid }: { uuid: string | null | undefined }) {
  useCell(agents);
  return uuid ? <a href={to(["agents", uuid])}><Said text={label(uuid)} most={80} /></a> : <span>you</span>;
}

export type Tone = "good" | "busy" | "bad" | "warn" | "quiet";

export function Badge({ tone, title, children }: { tone: Tone; title?: string | undefined; children?: ComponentChildren }) {
  return <span class={"badge " + tone} title={title}><i aria-hidden="true" />{children}</span>;
}

const stateTones: Record<State["word"], Tone> = {
  working: "busy", asks: "warn", waits: "busy", "needs a key": "warn", idle: "quiet", done: "good", failed: "bad", interrupted: "warn", killed: "quiet",
};

// stateOf is what an agent does, as the server says it; busy says that it can be stopped.
export function stateOf(a: Agent): { word: string; more: string; tone: Tone; busy: boolean } {
  const s = a.state ?? { word: "idle" as const }, detail = s.detail ?? "";
  const busy = s.word === "working" || s.word === "asks" || s.word === "waits" || s.word === "needs a key";
  const word = s.word === "working" && detail ? detail : s.word === "waits" && detail ? "waits " + detail : s.word;
  return { word: oneLine(word, 40), more: oneLine(s.word + (detail ? ": " + detail : ""), 300), tone: stateTones[s.word] ?? "quiet", busy };
}

const tones: Record<string, Tone> = {
  running: "busy", success: "good", failure: "bad", partial: "warn", timeout: "bad", cancelled: "quiet",
  done: "good", stopped: "warn", kept: "quiet",
  DONE: "good", FAILED: "bad", CANCELLED: "quiet", completed: "good", in_progress: "busy", failed: "bad", skipped: "quiet", pending: "quiet",
  OPEN: "warn", IN_PROGRESS: "busy", RESOLVED: "good", spawned: "busy", timed_out: "bad", interrupted: "warn",
};
export const Status = ({ of }: { of: string | null | undefined }) => <Badge tone={tones[of ?? ""] ?? "busy"}>{words(of ?? "unknown")}</Badge>;
export const words = (s: string) => oneLine(s, 40).replaceAll("_", " ").toLowerCase();

// now moves on once in a while, for ages.
const now = new Cell(Date.now());
setInterval(() => { if (!document.hidden) now.set(Date.now()); }, 10_000);
export function Ago({ at }: { at: string | null | undefined }) {
  const t = useCell(now);
  if (!at) return <span>{"\u2014"}</span>;
  return <time dateTime={at} title={time(at)}>{age(at, t)}</time>;
}

// useSecond is the time, by the second while work is under way, else once in a while.
const second = new Cell(Date.now());
let tickers = 0, tick = 0;
export function useSecond(works: boolean): number {
  useEffect(() => {
    if (!works) return;
    if (tickers++ === 0) {
      second.set(Date.now());
      tick = window.setInterval(() => { if (!document.hidden) second.set(Date.now()); }, 1000);
    }
    return () => { if (--tickers === 0) clearInterval(tick); };
  }, [works]);
  return Math.max(useCell(now), useCell(second));
}

export function Loading({ what }: { what: string }) {
  return <p class="note" role="status"><span class="spin" aria-hidden="true" />Reading {what}{"\u2026"}</p>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><p class="lead">{title}</p>{children}</div>;
}

export function reason(error: unknown): string {
  if (error instanceof Refusal) return error.message + (error.details.length ? ": " + error.details.map((d) => d.message).join("; ") : "");
  return error instanceof Error ? error.message : String(error);
}

export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  const code = error instanceof Refusal ? error.code : "PAGE";
  return (
    <div class="failure" role="alert">
      <p><strong>{oneLine(code, 60)}</strong> <span class="wrap">{visible(reason(error)).slice(0, 2000)}</span></p>
      {again && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

// Show draws what was loaded, or why there is nothing.
export function Show<T>({ of, what, again, children }: { of: Loaded<T>; what: string; again?: () => void; children: (value: T) => ComponentChildren }) {
  if (of.state === "loading") return <Loading what={what} />;
  if (of.state === "failed") return again ? <Failure error={of.error} again={again} /> : <Failure error={of.error} />;
  return <>{children(of.value)}</>;
}

// Title is the heading of a view. It takes the focus when the view is entered, so
// that the keyboard and readers go on from there.
let entered = false;
export function Title({ children, say }: { children?: ComponentChildren; say: string }) {
  const h = useRef<HTMLHeadingElement>(null), project = useCell(projectName);
  useEffect(() => {
    document.title = [oneLine(say, 60), project, "ramet"].filter(Boolean).join(" \u00b7 ");
  }, [say, project]);
  useEffect(() => {
    if (entered) h.current?.focus({ preventScroll: true });
    entered = true;
  }, []);
  return <h1 ref={h} tabIndex={-1}>{children ?? say}</h1>;
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children?: ComponentChildren }) {
  const d = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const el = d.current, before = document.activeElement;
    el?.showModal();
    return () => {
      el?.close(); // while it is open, nothing behind it takes the focus
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={d} aria-labelledby="dialog-title" onCancel={(e) => { e.preventDefault(); close(); }}>
      <h2 id="dialog-title" class="wrap">{title}</h2>
      {children}
    </dialog>
  );
}

// useBusy runs one action at a time and keeps why it failed.
export function useBusy(): { busy: boolean; error: unknown; run(f: () => Promise<void>): void } {
  const [s, set] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: null });
  return {
    ...s,
    run: (f) => {
      set({ busy: true, error: null });
      f().then(() => set({ busy: false, error: null }), (error) => set({ busy: false, error }));
    },
  };
}
