// One entry of a conversation.
import { memo } from "./memo";
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { Actor, Message, Part, Permission } from "../api/types";
import type { Call } from "../talk";
import { lasting, money, plural, short, time, whole } from "../text/format";
import { Markdown } from "../text/markdown";
import { oneLine, visible } from "../text/visible";
import { to } from "../route";
import { diffIn, diffLines } from "../text/diff";
import { Changes, DiffTable, filesSaid } from "./changes";
import { Copy } from "./copy";
import { joined, Searched, Sources } from "./sources";
import { AgentLink, Badge, Failure, Said, useBusy } from "./small";

const cut = 20_000; // characters of an output that are shown at first

// Place is where the content of a part can be read, if it does not stand in the list.
export interface Place { agent: string; message: number; i: number }
export type Results = Map<string, { part: Part; message: number; i: number; called: boolean; permission?: Permission | undefined }>;

const person = (a: Actor | undefined) => (a ? oneLine(a.who + " (" + a.face + ")", 80) : "a person");

// permitted is one line: who let a call run, or not. It says what the terminal and `ramet log` say.
export function permitted(p: Permission): string {
  const choice: Record<string, string> = { once: ", once", agent: ", for this agent and its children", project: ", for this project" };
  let out = p.answer;
  if (p.by === "person") out += " by " + person(p.actor) + (choice[p.choice ?? ""] ?? "") + (p.rule ? ": " + p.rule : "");
  else if (p.by === "rule") out += " by rule " + p.rule + (p.actor ? ", granted by " + person(p.actor) : p.from ? " (" + p.from + ")" : "");
  else if (p.by === "mode") out += " by mode " + p.mode;
  else out += ": nobody could be asked";
  return oneLine(out + (p.confined ? ", in the box" : ""), 1200);
}

export function Output({ text, size, from }: { text: string; size?: number | undefined; from?: Place | undefined }) {
  const [all, setAll] = useState(false);
  if (!text && size && from) return <Elsewhere size={size} from={from} />;
  const clean = visible(all ? text : text.slice(0, cut)), diff = diffIn(text);
  if (diff) return <DiffTable lines={diffLines(diff.text)} path={diff.path} above={visible(diff.above)} />;
  return (
    <>
      <pre class="plain" tabIndex={0} aria-label="output">{clean || "(nothing)"}</pre>
      {text.length > cut && !all && <button type="button" class="quiet" onClick={() => setAll(true)}>Show all {whole(text.length)} characters</button>}
    </>
  );
}

// Elsewhere is read on request, piece by piece.
function Elsewhere({ size, from }: { size: number; from: Place }) {
  const [got, set] = useState<{ text: string; next: number | null; kind?: string; data?: string }>({ text: "", next: 0 });
  const { busy, error, run } = useBusy();
  const more = () => run(async () => {
    const p = await api.part(from.agent, from.message, from.i, got.next ?? 0);
    set({ text: got.text + p.text, next: p.next, ...(p.media_type && { kind: p.media_type }), ...(p.data && { data: p.data }) });
  });
  return (
    <>
      {got.data ? <Picture part={{ type: "image", media_type: got.kind ?? "", data: got.data }} /> : got.text && <pre class="plain" tabIndex={0} aria-label="output">{visible(got.text)}</pre>}
      {got.next !== null && <button type="button" class="quiet" disabled={busy} onClick={more}>{got.text ? "Show more" : "Show " + plural(size, "byte")}</button>}
      {error != null && <Failure error={error} />}
    </>
  );
}

function Thinking({ text, open, size, from }: { text: string; open?: boolean; size?: number | undefined; from?: Place }) {
  if (!text.trim() && !size) return null;
  return <details class="fold thinking" open={open ?? false}><summary>Thinking</summary><div class="inner"><Output text={text} size={size} from={from} /></div></details>;
}

function gist(args: unknown): string {
  if (args && typeof args === "object") {
    const { steps, title, kind } = args as { steps?: unknown; title?: unknown; kind?: unknown };
    if (typeof title === "string" && typeof kind === "string") return oneLine(title, 120); // of a program's call
    if (Array.isArray(steps)) return plural(steps.length, "step");
    for (const value of Object.values(args)) if (typeof value === "string") return oneLine(value, 120);
    return Object.keys(args).length ? oneLine(JSON.stringify(args), 120) : "";
  }
  return "";
}

// Running is how a call stands that has no result yet; null: its turn is over, and it never had one.
export type Running = { state: "runs" | "asks"; call?: Call | undefined } | null;

export function ToolCall({ part, result, from, answer, permission, running }: { part: Part; result?: Part | undefined; from: Place; answer?: Place | undefined; permission?: Permission | undefined; running?: Running }) {
  const failed = result?.is_error || (!result && running?.call?.failed), live = result ? undefined : running?.call;
  const done = result || live?.done, output = result ? result.show || result.text || "" : live?.text.slice(-cut) ?? "";
  return (
    <details class={"fold call" + (failed ? " failed" : "")} open={(live !== undefined && !live.done && live.text !== "") || (part.name === "plan" && !!done)}>
      <summary>
        <strong class="tool"><Said text={part.name} most={60} /></strong> <span class="gist"><bdi>{gist(part.args)}</bdi></span>
        {failed ? <Badge tone="bad">failed</Badge> : done ? <Badge tone="good">done</Badge> : running?.state === "asks" ? <Badge tone="warn">asks you</Badge> : running ? <Badge tone="busy">running</Badge> : <Badge tone="quiet">not finished</Badge>}
      </summary>
      <div class="inner">
        {permission && <p class="soft wrap permitted">{permitted(permission)}{permission.at && <>, <time dateTime={permission.at}>{time(permission.at)}</time></>}</p>}
        {part.name !== "plan" && <p class="soft">Arguments</p>}
        {part.name !== "plan" && <Output text={part.malformed ?? (part.cut ? "" : JSON.stringify(part.args ?? {}, null, 2))} size={part.size} from={from} />}
        {(result || output) && <p class="soft between">{done ? "Output" : "Output so far"} {output && <Copy text={() => output} what="the output" />}</p>}
        {(result || output) && <Output text={output} size={result?.size} from={answer} />}
      </div>
    </details>
  );
}

export function LiveCall({ call }: { call: Call }) {
  return (
    <details class={"fold call" + (call.failed ? " failed" : "")} open={!call.done}>
      <summary><strong class="tool"><Said text={call.tool} most={60} /></strong> {call.failed ? <Badge tone="bad">failed</Badge> : call.done ? <Badge tone="good">done</Badge> : <Badge tone="busy">running</Badge>}</summary>
      <div class="inner"><Output text={call.text.slice(-cut)} /></div>
    </details>
  );
}

function Picture({ part }: { part: Part }) {
  const kind = part.media_type ?? "";
  if (!part.data || !/^image\/(png|jpeg|gif|webp)$/.test(kind)) return <p class="soft">A picture ({oneLine(kind, 40) || "unknown type"}{part.size ? ", " + whole(part.size) + " bytes" : ""}).</p>;
  return <img class="picture" alt="picture in the conversation" src={"data:" + kind + ";base64," + part.data} />;
}

const speakers: Record<string, string> = { user: "You", assistant: "Agent", system: "System", tool_result: "Tool" };

// quiet kinds say in one line what happened.
function happened(m: Message) {
  const meta = m.meta ?? {};
  switch (m.kind) {
    case "fork":
      if (meta.children?.length) return <>forked {meta.children.slice(0, 20).map((c, i) => <span key={c}>{i ? ", " : ""}<AgentLink uuid={c} /></span>)}{meta.children.length > 20 ? " and " + whole(meta.children.length - 20) + " more" : ""}</>;
      return meta.parent_uuid ? <>forked from <AgentLink uuid={meta.parent_uuid} /></> : <>created</>;
    case "clear": return <>cleared: the context starts empty here</>;
    case "mark": return <>mark <Said text={meta.label} most={80} /></>;
    case "rewind": return <>rewound to {meta.label ? <Said text={meta.label} most={80} /> : "message " + oneLine(meta.target ?? "", 30)}</>;
    case "compact": return <>compacted</>;
    case "killed": return <>killed{meta.reason ? <>: <Said text={meta.reason} /></> : ""}</>;
    case "interrupted": return <>interrupted</>;
    case "redact": return <>message {oneLine(meta.target ?? "", 30)} was redacted</>;
    case "mail": return <>mail sent{meta.to ? <> to <AgentLink uuid={meta.to} /></> : ""}</>;
    case "command":
      if (meta.command === "mode") return <>mode <Said text={meta.mode} most={40} />, by {person(meta.actor)}</>;
      if (meta.command === "model" && meta.model) return <>model <Said text={(meta.provider && meta.provider !== "driver" ? meta.provider + "/" : "") + meta.model} most={80} />{meta.actor && <>, by {person(meta.actor)}</>}</>;
      if (meta.command === "driver_mode") return <>{oneLine(meta.driver?.name ?? "its program", 40)} mode <Said text={meta.mode} most={40} />{meta.actor && <>, by {person(meta.actor)}</>}</>;
      if (meta.command === "driver") return <>{oneLine((meta.driver?.name ?? "a program") + " " + (meta.driver?.version ?? ""), 60)} {meta.driver?.rendered ? "got the earlier conversation as text" : "continues in a fork of its session"}</>;
      if (meta.command === "ask") return <>asked for permission</>;
      if (meta.command === "permit" && meta.permission) return <>a call was {permitted(meta.permission)}</>;
      return <>command <Said text={meta.command} most={80} /></>;
    case "usage": {
      const c = meta.call;
      if (!c) return <>a model call</>;
      return <><Said text={c.model} most={60} /> {"\u00b7"} {short(c.input + c.cache_read + c.cache_write)} in, {short(c.output)} out {"\u00b7"} {c.priced ? money(c.cost_nano_usd) : "price unknown"} {"\u00b7"} {lasting(c.took_ms)}{c.outcome && c.outcome !== "stop" ? " \u00b7 " + oneLine(c.outcome, 40) : ""}</>;
    }
    default: return <Said text={m.kind} most={40} />;
  }
}

function plainOf(m: Message): string {
  return (m.parts ?? []).filter((p) => p.type === "text").map((p) => p.text ?? "").join("");
}

// Entry is drawn anew when its message, its results or (while it has calls that run) the live calls change.
export const Entry = memo(function Entry({ m, results, own, aimed, calls, busy, asking }: { m: Message; results: Results; own: string; aimed: boolean; calls: Call[]; busy: boolean; asking: string }) {
  const speaks = m.kind in speakers;
  const id = "m" + m.id;
  const inherited = m.agent_uuid !== own;
  if (m.kind === "files") {
    const said = filesSaid(m);
    if (!said) return null;
    return <div class={"happened " + (aimed ? "aimed" : "")} id={id} tabIndex={-1}>{m.meta?.files?.changed ? <Changes agent={own} m={m} /> : <span>{said}</span>}</div>;
  }
  // Each turn of a program begins so; it is worth a line where its session is a new one.
  if (m.meta?.command === "driver" && !m.meta.driver?.rendered && !m.meta.driver?.from) return null;
  if (!speaks) {
    const text = m.kind === "usage" ? "" : plainOf(m);
    return (
      <div class={"happened " + (aimed ? "aimed" : "")} id={id} tabIndex={-1}>
        <span>{happened(m)}</span>
        {text && (m.kind === "note" || m.kind === "compact" || m.kind === "interrupted") && <div class="inner"><Markdown text={text} /></div>}
      </div>
    );
  }
  const parts = joined((m.parts ?? []).map((p, i) => ({ p, from: { agent: own, message: m.id, i } }))
    .filter(({ p }) => p.type !== "tool_result" || !results.get(p.call_id ?? "")?.called));
  if (m.kind === "tool_result" && parts.length === 0) return null;
  return (
    <article class={"entry " + m.kind + (aimed ? " aimed" : "")} id={id} tabIndex={-1} aria-label={`${speakers[m.kind]}, message ${m.id}`}>
      <header>
        <strong>{speakers[m.kind]}</strong>
        <span class="soft"><time dateTime={m.created_at}>{time(m.created_at)}</time></span>
        <span class="soft ids">{m.in_context === false && <>no longer in its context {"\u00b7"} </>}{inherited && <>inherited from <AgentLink uuid={m.agent_uuid} /> {"\u00b7"} </>}<a href={to(["agents", own], { at: String(m.id) })}>message {m.id}</a> {"\u00b7"} <code title={"hash " + oneLine(m.hash ?? "", 80)}>{oneLine(m.hash ?? "", 8).replace("\u2026", "")}</code></span>
        {plainOf(m) && <Copy text={() => plainOf(m)} what={"message " + m.id} />}
      </header>
      {parts.length === 0 && <p class="soft">(no text)</p>}
      {parts.map(({ p, from }) => {
        switch (p.type) {
          case "text": return p.text ? <Markdown key={from.i} text={p.text} /> : p.size ? <Output key={from.i} text="" size={p.size} from={from} /> : null;
          case "thinking": return <Thinking key={from.i} text={p.text ?? ""} size={p.size} from={from} />;
          case "tool_call": {
            const r = results.get(p.call_id ?? "");
            const call = calls.find((c) => c.id === p.call_id);
            const running: Running = r ? null : p.call_id && p.call_id === asking ? { state: "asks", call } : call || busy ? { state: "runs", call } : null;
            return <ToolCall key={from.i} part={p} running={running} result={r?.part} from={from} answer={r && { agent: own, message: r.message, i: r.i }} permission={r?.permission} />;
          }
          case "tool_result": return <ToolCall key={from.i} part={{ type: p.type, name: p.name ?? "", args: {} }} result={p} from={from} answer={from} permission={m.meta?.permission} />;
          case "facts": return p.text ? <details key={from.i} class="fold"><summary class="soft">what else it is told: where it is, what changed</summary><div class="inner"><Output text={p.text} /></div></details> : null;
          case "search": return <Searched key={from.i} part={p} />;
          case "document": return <p key={from.i} class="soft">A document ({oneLine(p.media_type ?? "", 40)}{p.size ? ", " + whole(p.size) + " bytes" : ""}).</p>;
          case "image": return p.data ? <Picture key={from.i} part={p} /> : p.size ? <Output key={from.i} text="" size={p.size} from={from} /> : <Picture key={from.i} part={p} />;
          default: return <p key={from.i} class="soft">A part of type <Said text={p.type} most={40} />.</p>;
        }
      })}
      <Sources parts={m.parts ?? []} />
    </article>
  );
});

export function Coming({ text, thinking, calls }: { text: string; thinking: string; calls: Call[] }) {
  if (!text && !thinking && !calls.length) return null;
  return (
    <article class="entry assistant coming" aria-label="Agent, still writing" aria-live="off">
      <header><strong>Agent</strong><span class="soft">writing{"\u2026"}</span></header>
      <Thinking text={thinking} open={!text} />
      {text && <Markdown text={text} />}
      {calls.map((c) => <LiveCall key={c.id} call={c} />)}
    </article>
  );
}
