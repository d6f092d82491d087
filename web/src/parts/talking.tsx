// The conversation of an agent on the page: where the reader is in it, and what is drawn.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Agent, Message } from "../api/types";
import { useCell } from "../cell";
import { go } from "../route";
import { Conversation, type Call } from "../talk";
import { plural } from "../text/format";
import { oneLine } from "../text/visible";
import { asks } from "../world";
import { Coming, Entry, permitted, type Results } from "./entry";
import { Find, type SaidLine } from "./find";
import { Empty, Failure, Loading, stateOf } from "./small";

const noCalls: Call[] = [], noResults: Results = new Map();
const calling = (m: Message) => (m.parts ?? []).some((p) => p.type === "tool_call" || p.type === "tool_result");

// grouped puts a few entries together, for the style sheet (.many). One that is in a group stays there,
// whatever comes before or behind it: known has the group of each.
function grouped(list: Message[], known: Map<number, number>): { key: number; of: Message[] }[] {
  const out: { key: number; of: Message[] }[] = [], taken = new Set<number>();
  for (const m of list) {
    const last = out.at(-1);
    let key = known.get(m.id) ?? (last && last.of.length < 12 ? last.key : m.id);
    if (key !== last?.key && taken.has(key)) key = m.id; // something came into the midst of it
    known.set(m.id, key);
    taken.add(key);
    if (last?.key === key) last.of.push(m);
    else out.push({ key, of: [m] });
  }
  return out;
}

// Talking shows the end, or the entry that is aimed at. `end` grows when the reader wants to be at the end.
export function Talking({ a, aim, end }: { a: Agent; aim: number; end: number }) {
  const talk = useMemo(() => new Conversation(a.uuid, aim), [a.uuid]);
  useEffect(() => () => talk.close(), [talk]);
  const t = useCell(talk.now), open = useCell(asks);
  const box = useRef<HTMLDivElement>(null), column = useRef<HTMLDivElement>(null), stick = useRef(!aim), wish = useRef(false); // wish: to be at the end, as soon as it is here
  const [said, setSaid] = useState(""), [usage, setUsage] = useState(false), [reading, setReading] = useState(false), [why, setWhy] = useState<unknown>(null);

  const results = useMemo(() => {
    const out: Results = new Map(), calls = new Set<string>();
    for (const m of t.messages) (m.parts ?? []).forEach((part, i) => {
      if (part.type === "tool_call" && part.call_id) calls.add(part.call_id);
      if (part.type === "tool_result" && part.call_id) out.set(part.call_id, { part, message: m.id, i, called: calls.has(part.call_id), permission: m.meta?.permission });
    });
    return out;
  }, [t.messages]);

  // What stands at a call and not in what was said: who let it run, or not. It is drawn with the call, if that is here.
  const lines = useMemo(() => {
    const out: SaidLine[] = [];
    for (const m of t.messages) for (const part of m.parts ?? []) {
      const of = results.get(part.call_id ?? ""), drawn = part.type === "tool_call" || !of?.called;
      if (of?.permission && drawn) out.push({ message: m.id, text: permitted(of.permission) });
    }
    return out;
  }, [t.messages, results]);

  // Follow the end as long as the reader is there; keep the place when earlier
  // messages come in above.
  const kept = useRef({ height: 0, first: 0 });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const first = t.messages[0]?.id ?? 0;
    if (wish.current && t.last) {
      stick.current = true;
      wish.current = false;
    }
    if (stick.current) el.scrollTop = el.scrollHeight;
    else if (kept.current.first && first < kept.current.first) el.scrollTop += el.scrollHeight - kept.current.height;
    kept.current = { height: el.scrollHeight, first };
  });
  // What comes into sight is measured only then, and what is read may grow.
  useEffect(() => {
    if (!column.current) return;
    const sized = new ResizeObserver(() => { if (stick.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
    sized.observe(column.current);
    return () => sized.disconnect();
  }, [t.state]);
  const there = aim > 0 && t.messages.some((m) => m.id === aim);
  useEffect(() => {
    if (!aim) return;
    stick.current = false;
    read(() => talk.seek(aim));
  }, [talk, aim]);
  useLayoutEffect(() => {
    if (there) document.getElementById("m" + aim)?.scrollIntoView({ block: "center" });
  }, [talk, aim, there]);
  const busy = useRef(false);
  useEffect(() => {
    if (busy.current && !t.busy) setSaid(t.notice ? "The turn ended: " + t.notice : "The agent has answered.");
    busy.current = t.busy;
  }, [t.busy]);

  const read = (what: () => Promise<void>, then = () => {}) => {
    setReading(true);
    setWhy(null);
    what().then(then, setWhy).finally(() => setReading(false));
  };
  const toEnd = () => {
    wish.current = stick.current = true;
    if (!t.last) read(() => talk.end());
    else if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  const toStart = () => {
    wish.current = stick.current = false;
    const top = () => setTimeout(() => { if (box.current) box.current.scrollTop = 0; }, 40);
    if (t.whole) top();
    else read(() => talk.start(), top);
  };
  useEffect(() => { if (end) toEnd(); }, [end]);

  const known = useRef(new Map<number, number>());
  const groups = useMemo(() => grouped(t.messages.filter((m) => (usage || m.kind !== "usage") && !m.meta?.run), known.current), [t.messages, usage]);
  const spoken = t.messages.some((m) => m.kind === "user" || m.kind === "assistant");
  // The question may stand in another program, which has this agent's turn: its history says so.
  const elsewhere = (a.state?.word === "asks" && t.messages.findLast((m) => m.kind === "command" && m.meta?.command === "ask")?.meta?.call_id) || "";
  const asking = open.find((q) => q.agent_uuid === a.uuid)?.call_id ?? elsewhere, works = stateOf(a).busy;
  const last = t.messages.findLast((m) => m.kind === "assistant")?.id;
  const stored = new Set(t.messages.slice(-20).flatMap((m) => (m.parts ?? []).filter((p) => p.type === "tool_call").map((p) => p.call_id)));
  const coming = t.calls.filter((c) => !stored.has(c.id));
  return (
    <>
      {(t.messages.length > 0 || t.state === "loading") && (
        <div class="tools talktools">
          <button type="button" class="quiet" disabled={reading} onClick={toStart}>Beginning</button>
          <button type="button" class="quiet" disabled={reading} onClick={toEnd}>End{t.behind > 0 && <span class="unread">{t.behind}<span class="hidden"> new</span></span>}</button>
          <Find uuid={a.uuid} aim={aim} lines={lines} />
          <label class="check"><input type="checkbox" checked={usage} onChange={(e) => setUsage(e.currentTarget.checked)} /> model calls</label>
          <span class="soft">{plural(t.messages.length, "message")} here</span>
        </div>
      )}
      <div class="talk" ref={box} tabIndex={0} role="region" aria-label="Conversation"
        onScroll={(e) => { const el = e.currentTarget; if (!wish.current) stick.current = t.last && el.scrollHeight - el.scrollTop - el.clientHeight < 60; }}>
        <div class="column" ref={column}>
          <h2 class="hidden">Conversation</h2>
          {t.state === "loading" && <Loading what="the conversation" />}
          {t.state === "failed" && <Failure error={t.error} again={() => { talk.retry(); }} />}
          {why != null && <Failure error={why} />}
          {aim > 0 && !there && !reading && t.state === "ready" && <p class="note">Message {aim} is not in this conversation. <button type="button" class="quiet" onClick={() => go(["agents", a.uuid])}>Go to its end</button></p>}
          {!t.whole && t.state === "ready" && <button type="button" class="quiet more" disabled={reading} onClick={() => { stick.current = false; read(() => talk.earlier()); }}>{reading ? "Reading\u2026" : "Show earlier messages"}</button>}
          {!spoken && !works && !t.busy && t.whole && t.state === "ready" && <Empty title={t.messages.length ? "No messages to this agent yet." : "No messages yet."}><p>{a.status === "dead" ? "It was killed before anyone wrote to it." : <>Write to it below. <kbd>Enter</kbd> sends.</>}</p>{!a.parent_uuid && a.status !== "dead" && <p>It has the files of this project, and it can fork children that know all it knows.</p>}</Empty>}
          {groups.map(({ key, of }) => (
            <div key={key} class={"many" + (there && of.some((m) => m.id === aim) ? " shown" : "")}>
              {of.map((m) => {
                const calls = calling(m), live = m.id === last && calls;
                return <div key={m.id} class={m.id === aim ? "one shown" : "one"}><Entry m={m} results={calls ? results : noResults} own={a.uuid} aimed={m.id === aim} calls={live ? t.calls : noCalls} busy={live && works} asking={live ? asking : ""} /></div>;
              })}
            </div>
          ))}
          {t.last && <Coming text={t.text} thinking={t.thinking} calls={coming} />}
          {t.last && t.busy && !t.text && !t.calls.length && <p class="note"><span class="spin" aria-hidden="true" />Working{"\u2026"}</p>}
          {!t.last && <button type="button" class="quiet more" disabled={reading} onClick={() => read(() => talk.later())}>{reading ? "Reading\u2026" : "Show later messages"}</button>}
          {t.notice && <p class="note wrap"><bdi>{oneLine(t.notice, 1000)}</bdi></p>}
          <p class="hidden" role="status">{said}</p>
        </div>
      </div>
    </>
  );
}
