// One agent: what it is, its conversation, its mail, and what can be done with it.
import { useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Agent, Mode as HowPermitted } from "../api/types";
import { useCell, useLoad } from "../cell";
import { Acts } from "../parts/acts";
import { Asks, Elsewhere } from "../parts/asks";
import { AgentLink, Ago, Badge, Empty, Failure, Loading, Said, Show, stateOf, Title, useBusy } from "../parts/small";
import { Composer } from "../parts/composer";
import { OneChange } from "../parts/changes";
import { ForkDialog, KillDialog } from "../parts/dialogs";
import { HomeList } from "../parts/home";
import { ProgramFacts } from "../parts/program";
import { Talking } from "../parts/talking";
import { useWide } from "../parts/wide";
import { put, route, to } from "../route";
import { money, short, time } from "../text/format";
import { Markdown } from "../text/markdown";
import { agents, named } from "../world";
import { stopTurn } from "../stop";

export function AgentView({ uuid }: { uuid: string }) {
  const world = useCell(agents), wide = useWide(1100);
  const known = world.all.get(uuid);
  const [read] = useLoad((s) => (known ? Promise.resolve(known) : api.agent(uuid, s)), [uuid, world.state === "ready" && !known]);
  const agent = known ?? (read.state === "ready" ? read.value : null);
  const body = agent ? <One key={agent.uuid} a={agent} /> : read.state === "failed" ? <div class="pane"><Title say="Agent" /><Failure error={read.error} /><p><a href={to(["agents"])}>All agents</a></p></div> : <div class="pane"><Title say="Agent" /><Loading what="the agent" /></div>;
  if (!wide) return body;
  return <div class="split"><aside class="side" aria-label="All agents"><HomeList narrow current={uuid} /></aside>{body}</div>;
}

function One({ a }: { a: Agent }) {
  const where = useCell(route);
  const asked = where.query.get("tab"), tab = asked === "mail" || asked === "files" ? asked : "talk";
  const aim = Number(where.query.get("at")) || 0;
  const s = stateOf(a);
  const [dialog, setDialog] = useState<"" | "fork" | "kill">("");
  const [end, setEnd] = useState(0);
  const stop = useBusy();
  const [now, again] = useLoad((s) => (a.status === "dead" ? Promise.resolve(null) : api.mode(a.uuid, s)), [a.uuid, a.head_message_id]);
  const had = useRef<HowPermitted | null>(null); // stays while it is read again
  if (now.state === "ready") had.current = now.value;
  const mode = had.current;
  const interrupt = () => stop.run(async () => { await stopTurn(a.uuid); });
  return (
    <div class="pane agent">
      <div class="agenthead">
        <p class="crumbs"><a href={to(["agents"])}>Agents</a>{a.parent_uuid && <> / <AgentLink uuid={a.parent_uuid} /></>}</p>
        <div class="titled">
          <Title say={named(a)}><Said text={named(a)} most={120} /></Title>
          <span role="status"><Badge tone={stop.busy ? "warn" : s.tone} title={s.more}>{stop.busy ? "stopping" : s.word}</Badge></span>
          <span class="buttons">
            <button type="button" onClick={() => setDialog("fork")} disabled={a.status === "dead"}>Fork{"\u2026"}</button>
            <button type="button" onClick={interrupt} disabled={!s.busy || stop.busy}>Interrupt</button>
            <button type="button" class="danger" onClick={() => setDialog("kill")} disabled={a.status === "dead" || !a.parent_uuid}>Kill{"\u2026"}</button>
          </span>
        </div>
        {stop.error != null && <Failure error={stop.error} />}
        <dl class="facts">
          {a.state?.foreign_content && <div><dt>Foreign content</dt><dd title="Rules that leave the sandbox or reach the network ask again"><Said text={a.state.foreign_content} most={80} /></dd></div>}
          {a.model && <div class="opt"><dt>Model</dt><dd><Said text={a.model} most={60} /></dd></div>}
          <div><dt>Cost</dt><dd>{money(a.spent?.cost_nano_usd)}</dd></div>
          <div class="opt"><dt>Tokens</dt><dd>{short(a.spent?.tokens ?? 0)}</dd></div>
          <div><dt>Age</dt><dd><Ago at={a.created_at} /></dd></div>
          {a.parent_uuid && a.fork_message_id != null && <div><dt>Forked at</dt><dd><a href={to(["agents", a.parent_uuid], { at: String(a.fork_message_id) })}>message {a.fork_message_id}</a></dd></div>}
          {a.status !== "dead" && <Mode a={a} known={mode?.mode ?? ""} again={again} />}
          {a.status !== "dead" && mode?.program && <ProgramFacts a={a} p={mode.program} again={again} />}
          {a.end_reason && <div><dt>Ended</dt><dd><Said text={a.end_reason} most={120} /></dd></div>}
        </dl>
        <div class="tabs" role="group" aria-label="What to show">
          <button type="button" aria-pressed={tab === "talk"} onClick={() => put({ tab: "" })}>Conversation</button>
          <button type="button" aria-pressed={tab === "mail"} onClick={() => put({ tab: "mail" })}>Mail{a.unread_mail > 0 && <span class="unread">{a.unread_mail}<span class="hidden"> unread</span></span>}</button>
          <button type="button" aria-pressed={tab === "files"} onClick={() => put({ tab: "files" })}>Files</button>
        </div>
      </div>
      <Acts when={s.word} />
      {tab === "mail" ? <Mail a={a} /> : tab === "files" ? <Files a={a} /> : <Talking a={a} aim={aim} end={end} />}
      <Asks of={a.uuid} />
      {s.word === "asks" && <Elsewhere of={a.uuid} />}
      <Composer a={a} program={mode?.program} mail={tab === "mail"} write={where.query.get("write") === "1"} stop={s.busy && !stop.busy ? interrupt : null} sent={() => {
        if (aim) put({ at: "", find: "" });
        setEnd((n) => n + 1);
      }} />
      {dialog === "fork" && <ForkDialog a={a} close={() => setDialog("")} />}
      {dialog === "kill" && <KillDialog a={a} close={() => setDialog("")} />}
    </div>
  );
}

const modes: [string, string][] = [["ask", "ask"], ["edits", "accept edits"], ["box", "box"], ["read-only", "read-only"]];

// Mode is how the calls of the agent are permitted.
function Mode({ a, known, again }: { a: Agent; known: string; again: () => void }) {
  const { busy, error, run } = useBusy();
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

// Files are what the agent changed since its last turn began.
function Files({ a }: { a: Agent }) {
  const [changes, again] = useLoad((s) => api.lastChanges(a.uuid, s), [a.uuid, a.head_message_id]);
  return (
    <div class="talk" tabIndex={0} role="region" aria-label="Files">
      <div class="column">
        <h2 class="hidden">Files</h2>
        <Show of={changes} what="the files" again={again}>
          {(list) => list.length === 0 ? <Empty title="No files were changed since its last turn began." /> : list.map((c) => <OneChange key={c.path} change={c} />)}
        </Show>
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
          {(list) => list.length === 0 ? <Empty title="No mail." /> : list.map((l) => (
            <article class={"entry letter" + (l.read_at ? "" : " new")} key={l.id} aria-label={"Mail " + l.number}>
              <header><strong>Mail {l.number}</strong><span>from <AgentLink uuid={l.from_uuid} /></span><span class="soft">{time(l.created_at)}</span>{l.read_at ? <span class="soft">read {time(l.read_at)}</span> : <Badge tone="warn">unread</Badge>}</header>
              <Markdown text={l.body} />
            </article>
          ))}
        </Show>
      </div>
    </div>
  );
}
