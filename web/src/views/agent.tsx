// One agent: what it is, its conversation, its mail, and what can be done with it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Agent } from "../api/types";
import { useCell, useLoad } from "../cell";
import { Acts } from "../parts/acts";
import { Asks } from "../parts/asks";
import { Coming, Entry, type Results } from "../parts/entry";
import { AgentLink, Ago, Badge, Empty, Failure, Loading, Said, Show, stateOf, Title, useBusy } from "../parts/small";
import { Composer } from "../parts/composer";
import { ForkDialog, KillDialog } from "../parts/dialogs";
import { Tree } from "../parts/tree";
import { useWide } from "../parts/wide";
import { put, route, to } from "../route";
import { Conversation } from "../talk";
import { money, plural, short, time } from "../text/format";
import { Markdown } from "../text/markdown";
import { oneLine } from "../text/visible";
import { agents, named } from "../world";

export function AgentView({ uuid }: { uuid: string }) {
  const world = useCell(agents), wide = useWide(1100);
  const known = world.all.get(uuid);
  const [read] = useLoad((s) => (known ? Promise.resolve(known) : api.agent(uuid, s)), [uuid, world.state === "ready" && !known]);
  const agent = known ?? (read.state === "ready" ? read.value : null);
  const body = agent ? <One key={agent.uuid} a={agent} /> : read.state === "failed" ? <div class="pane"><Title say="Agent" /><Failure error={read.error} /><p><a href={to(["agents"])}>All agents</a></p></div> : <div class="pane"><Title say="Agent" /><Loading what="the agent" /></div>;
  if (!wide) return body;
  return <div class="split"><aside class="side" aria-label="All agents"><Tree narrow current={uuid} /></aside>{body}</div>;
}

function One({ a }: { a: Agent }) {
  const where = useCell(route);
  const tab = where.query.get("tab") === "mail" ? "mail" : "talk";
  const aim = Number(where.query.get("at")) || 0;
  const s = stateOf(a);
  const [dialog, setDialog] = useState<"" | "fork" | "kill">("");
  const stop = useBusy();
  return (
    <div class="pane agent">
      <div class="agenthead">
        <p class="crumbs"><a href={to(["agents"])}>Agents</a>{a.parent_uuid && <> / <AgentLink uuid={a.parent_uuid} /></>}</p>
        <div class="titled">
          <Title say={named(a)}><Said text={named(a)} most={120} /></Title>
          <span role="status"><Badge tone={stop.busy ? "warn" : s.tone} title={s.more}>{stop.busy ? "stopping" : s.word}</Badge></span>
          <span class="buttons">
            <button type="button" onClick={() => setDialog("fork")} disabled={a.status === "dead"}>Fork{"\u2026"}</button>
            <button type="button" onClick={() => stop.run(async () => { await api.interrupt(a.uuid); })} disabled={!s.busy || stop.busy}>Interrupt</button>
            <button type="button" class="danger" onClick={() => setDialog("kill")} disabled={a.status === "dead" || !a.parent_uuid}>Kill{"\u2026"}</button>
          </span>
        </div>
        {stop.error != null && <Failure error={stop.error} />}
        <dl class="facts">
          <div class="opt"><dt>Model</dt><dd><Said text={a.model || "\u2014"} most={60} /></dd></div>
          <div><dt>Cost</dt><dd>{money(a.spent?.cost_nano_usd)}</dd></div>
          <div class="opt"><dt>Tokens</dt><dd>{short(a.spent?.tokens ?? 0)}</dd></div>
          <div><dt>Age</dt><dd><Ago at={a.created_at} /></dd></div>
          {a.parent_uuid && a.fork_message_id != null && <div><dt>Forked at</dt><dd><a href={to(["agents", a.parent_uuid], { at: String(a.fork_message_id) })}>message {a.fork_message_id}</a></dd></div>}
          {a.status !== "dead" && <Mode a={a} />}
          {a.end_reason && <div><dt>Ended</dt><dd><Said text={a.end_reason} most={120} /></dd></div>}
        </dl>
        <div class="tabs" role="group" aria-label="What to show">
          <button type="button" aria-pressed={tab === "talk"} onClick={() => put({ tab: "" })}>Conversation</button>
          <button type="button" aria-pressed={tab === "mail"} onClick={() => put({ tab: "mail" })}>Mail{a.unread_mail > 0 && <span class="unread">{a.unread_mail}<span class="hidden"> unread</span></span>}</button>
        </div>
      </div>
      <Acts when={s.word} />
      {tab === "mail" ? <Mail a={a} /> : <Talking a={a} aim={aim} />}
      <Asks of={a.uuid} />
      <Composer a={a} mail={tab === "mail"} />
      {dialog === "fork" && <ForkDialog a={a} close={() => setDialog("")} />}
      {dialog === "kill" && <KillDialog a={a} close={() => setDialog("")} />}
    </div>
  );
}

const modes: [string, string][] = [["ask", "ask"], ["edits", "accept edits"], ["box", "box"], ["read-only", "read-only"]];

// Mode is how the calls of the agent are permitted.
function Mode({ a }: { a: Agent }) {
  const [now, again] = useLoad((s) => api.mode(a.uuid, s), [a.uuid, a.head_message_id]);
  const { busy, error, run } = useBusy();
  const known = now.state === "ready" ? now.value.mode : ""; // the place is kept while it is read
  return (
    <div>
      <dt><label for="mode">Mode</label></dt>
      <dd>
        <select id="mode" disabled={busy || !known} value={known} onChange={(e) => { const mode = e.currentTarget.value; run(async () => { await api.setMode(a.uuid, mode); again(); }); }}>
          {!known && <option value="">{"\u2026"}</option>}
          {modes.map(([key, word]) => <option key={key} value={key}>{word}</option>)}
        </select>
        {error != null && <Failure error={error} />}
      </dd>
    </div>
  );
}

const most = 300; // entries drawn at first

function Talking({ a, aim }: { a: Agent; aim: number }) {
  const talk = useMemo(() => new Conversation(a.uuid, aim), [a.uuid, aim]);
  useEffect(() => () => talk.close(), [talk]);
  const t = useCell(talk.now);
  const box = useRef<HTMLDivElement>(null), stick = useRef(!aim);
  const [drawn, setDrawn] = useState(most);
  const [said, setSaid] = useState("");
  const [usage, setUsage] = useState(false);
  const [older, setOlder] = useState(false);

  const results = useMemo(() => {
    const out: Results = new Map(), calls = new Set<string>();
    for (const m of t.messages) (m.parts ?? []).forEach((part, i) => {
      if (part.type === "tool_call" && part.call_id) calls.add(part.call_id);
      if (part.type === "tool_result" && part.call_id) out.set(part.call_id, { part, message: m.id, i, called: calls.has(part.call_id), permission: m.meta?.permission });
    });
    return out;
  }, [t.messages]);

  // Follow the end as long as the reader is there; keep the place when earlier
  // messages come in above.
  const kept = useRef({ height: 0, first: 0 });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const first = t.messages[Math.max(0, t.messages.length - drawn)]?.id ?? 0;
    if (stick.current) el.scrollTop = el.scrollHeight;
    else if (kept.current.first && first < kept.current.first) el.scrollTop += el.scrollHeight - kept.current.height;
    kept.current = { height: el.scrollHeight, first };
  });
  useEffect(() => {
    if (aim && t.state === "ready") document.getElementById("m" + aim)?.scrollIntoView({ block: "center" });
  }, [aim, t.state]);
  const busy = useRef(false);
  useEffect(() => {
    if (busy.current && !t.busy) setSaid(t.notice ? "The turn ended: " + t.notice : "The agent has answered.");
    busy.current = t.busy;
  }, [t.busy]);

  if (t.state !== "ready") return <div class="talk"><div class="column">{t.state === "loading" ? <Loading what="the conversation" /> : <Failure error={t.error} again={() => { talk.retry(); }} />}</div></div>;
  const list = t.messages.slice(-drawn).filter((m) => (usage || m.kind !== "usage") && !m.meta?.run);
  const more = t.messages.length > drawn || !t.whole;
  return (
    <div class="talk" ref={box} tabIndex={0} role="region" aria-label="Conversation"
      onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60; }}>
      <div class="column">
        <h2 class="hidden">Conversation</h2>
        <div class="tools">
          {more && <button type="button" class="quiet" disabled={older} onClick={() => {
            stick.current = false;
            if (t.messages.length > drawn) setDrawn(drawn + most);
            else {
              setOlder(true);
              setDrawn(drawn + most);
              talk.earlier().catch(() => {}).finally(() => setOlder(false));
            }
          }}>{older ? "Reading\u2026" : "Show earlier messages"}</button>}
          <label class="check"><input type="checkbox" checked={usage} onChange={(e) => setUsage(e.currentTarget.checked)} /> model calls</label>
          <span class="soft">{plural(t.messages.length, "message")} here</span>
        </div>
        {t.messages.length === 0 && !t.busy && <Empty title="Nothing has been said yet." />}
        {list.map((m) => <Entry key={m.id} m={m} results={results} own={a.uuid} aimed={m.id === aim} />)}
        <Coming text={t.text} thinking={t.thinking} calls={t.calls} />
        {t.busy && !t.text && !t.calls.length && <p class="note"><span class="spin" aria-hidden="true" />Working{"\u2026"}</p>}
        {t.notice && <p class="note wrap"><bdi>{oneLine(t.notice, 1000)}</bdi></p>}
        <p class="hidden" role="status">{said}</p>
      </div>
    </div>
  );
}

function Mail({ a }: { a: Agent }) {
  const [letters, again] = useLoad((s) => api.mail(a.uuid, s), [a.uuid, a.unread_mail]);
  return (
    <div class="talk" tabIndex={0} role="region" aria-label="Mail">
      <div class="column">
        <h2 class="hidden">Mail</h2>
        <Show of={letters} what="mail" again={again}>
          {(list) => list.length === 0 ? <Empty title="No letters." /> : list.map((l) => (
            <article class={"entry letter" + (l.read_at ? "" : " new")} key={l.id} aria-label={"Letter " + l.number}>
              <header><strong>Letter {l.number}</strong><span>from <AgentLink uuid={l.from_uuid} /></span><span class="soft">{time(l.created_at)}</span>{l.read_at ? <span class="soft">read {time(l.read_at)}</span> : <Badge tone="warn">unread</Badge>}</header>
              <Markdown text={l.body} />
            </article>
          ))}
        </Show>
      </div>
    </div>
  );
}
