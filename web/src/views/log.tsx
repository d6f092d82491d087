// One orchestrated run: its state, what it is made of, and its events with marks that
// say what was verified.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import type { LogRow, RunEvent, Snapshot, Verified } from "../api/types";
import { useCell, useLoad, type Loaded } from "../cell";
import { Output } from "../parts/entry";
import { ForkRunDialog, RunActs } from "../parts/runacts";
import { Ago, Badge, Empty, Failure, Loading, reason, Said, Show, Status, Title, words } from "../parts/small";
import { Rows } from "../parts/rows";
import { usePlace } from "../parts/window";
import { put, route, to } from "../route";
import { useRuns } from "../runs";
import { clock, money, plural, time, whole } from "../text/format";
import { check, type Mark } from "../text/proof";
import { oneLine } from "../text/visible";

const states = ["CREATED", "CLONED_INPUTS", "INGESTED", "FACTS_READY", "PLAN_READY", "DRAFTING", "DRAFT_READY", "LINKING", "VALIDATING", "FIXING", "READY_FOR_PR", "PR_OPENED", "DONE"];
const tabs = ["events", "items", "issues", "sections", "gates", "artifacts"] as const;

export function LogView({ id }: { id: string }) {
  const [log, again] = useLoad((s) => api.log(id, s), [id]);
  const events = log.state === "ready" ? log.value.event_count : 0, runs = useRuns();
  const row = runs.rows.find((r) => r.run_id === id), works = !row || row.status === "running";
  const [proof] = useLoad((s) => api.verify(id, s), [id, works ? Math.ceil(events / 50) : events, works]); // not after every event, while it works
  useEffect(() => { if (row && row.event_count !== events) again(); }, [row?.event_count, row?.status]);
  return (
    <div class="pane runlog">
      {log.state !== "ready" && <Title say="Run log" />}
      <Show of={log} what="the run" again={again}>{(s) => <One s={s} id={id} proof={proof} row={row} again={again} />}</Show>
    </div>
  );
}

function Seal({ proof }: { proof: Loaded<Verified> }) {
  if (proof.state === "loading") return <Badge tone="busy">verifying</Badge>;
  if (proof.state === "failed") {
    const broken = proof.error instanceof Refusal && /BROKEN|DAMAGED/.test(proof.error.code);
    return <><Badge tone={broken ? "bad" : "warn"}>{broken ? "chain broken" : "not verified"}</Badge> <span class="soft wrap">{oneLine(reason(proof.error), 300)}</span></>;
  }
  const v = proof.value;
  if (!v.ok) return <Badge tone="bad">chain broken</Badge>;
  return <><Badge tone="good">verified</Badge> <span class="soft">{plural(v.events, "event")} chained, {whole(v.covered)} of {whole(v.lines)} under a signed checkpoint{v.snapshot === "behind" ? ", snapshot behind" : ""}</span></>;
}

function One({ s, id, proof, row, again }: { s: Snapshot; id: string; proof: Loaded<Verified>; row: LogRow | undefined; again: () => void }) {
  const asked = useCell(route).query.get("tab");
  const tab = tabs.find((t) => t === asked) ?? "events";
  const sections = Object.entries(s.section_states ?? {});
  const counts: Record<string, number> = { events: s.event_count, items: s.work_items?.length ?? 0, issues: s.issues?.length ?? 0, sections: sections.length, gates: s.gates?.length ?? 0, artifacts: s.artifacts?.length ?? 0 };
  return (
    <>
      <div class="agenthead">
        <p class="crumbs"><a href={to(["runs"])}>Runs</a></p>
        <div class="titled"><Title say={s.run_id}><Said text={s.run_id} most={120} /></Title><Status of={row?.status || s.run_state} /></div>
        {row && <dl class="facts">
          {row.recipe && <div><dt>Recipe</dt><dd><Said text={row.recipe} most={60} /></dd></div>}
          {row.repo && <div><dt>Repository</dt><dd><Said text={row.repo} most={120} /></dd></div>}
          <div><dt>Cost</dt><dd>{money(row.cost_nano_usd)}</dd></div>
          <div><dt>Changed</dt><dd><Ago at={s.updated_at} /> ago</dd></div>
        </dl>}
        {row && <RunActs run={row} after={again} />}
        <p class="seal"><Seal proof={proof} /></p>
        <Way now={s.run_state} from={s.failure?.from_state} />
        {s.failure && <p class="failure"><strong>{oneLine(s.failure.code, 60)}</strong> <bdi class="wrap">{oneLine(s.failure.message, 600)}</bdi></p>}
        {s.pr && <p>Pull request: {s.pr.url && /^https?:\/\//.test(s.pr.url) ? <a href={s.pr.url} rel="noopener noreferrer" target="_blank"><Said text={s.pr.url} most={200} /></a> : <Said text={s.pr.bundle ?? s.pr.url ?? ""} />}</p>}
        <div class="tabs" role="group" aria-label="What to show">
          {tabs.map((t) => <button key={t} type="button" aria-pressed={t === tab} onClick={() => put({ tab: t })}>{t} <span class="count">{whole(counts[t] ?? 0)}</span></button>)}
        </div>
      </div>
      {tab === "events" && <Events id={id} upTo={s.event_count} proof={proof} />}
      {tab !== "events" && <div class="sheet" tabIndex={0} role="region" aria-label={tab}>
        {!counts[tab] && <Empty title={"No " + tab + "."} />}
        {tab === "items" && counts[tab]! > 0 && <table class="list"><thead><tr><th scope="col">Item</th><th scope="col">Status</th><th scope="col" class="opt">Worker</th><th scope="col" class="num">Attempt</th></tr></thead><tbody>{s.work_items.map((w) => (
          <tr key={w.work_item_id + w.attempt}><td class="grow"><Said text={w.work_item_id.startsWith(s.run_id + ":") ? w.work_item_id.slice(s.run_id.length + 1) : w.work_item_id} most={120} /><div class="soft small"><Said text={w.scope_key} most={160} /></div>{w.error && <div class="bad small"><Said text={w.error.code + ": " + w.error.message} /></div>}</td><td><Status of={w.status} /></td><td class="opt"><Said text={w.worker} most={80} /></td><td class="num">{w.attempt}</td></tr>))}</tbody></table>}
        {tab === "issues" && counts[tab]! > 0 && <table class="list"><thead><tr><th scope="col">Issue</th><th scope="col">Status</th><th scope="col">Severity</th><th scope="col" class="opt">Gate</th></tr></thead><tbody>{s.issues.map((x) => (
          <tr key={x.issue_id}><td class="grow"><Said text={x.message} most={400} />{x.files?.length ? <div class="soft small"><Said text={x.files.join(", ")} most={300} /></div> : null}{x.suggested_fix && <div class="small">Suggested: <Said text={x.suggested_fix} most={300} /></div>}</td><td><Status of={x.status} /></td><td><Badge tone={x.severity === "blocker" || x.severity === "error" ? "bad" : x.severity === "warn" ? "warn" : "quiet"}>{words(x.severity)}</Badge></td><td class="opt"><Said text={x.gate} most={60} /></td></tr>))}</tbody></table>}
        {tab === "sections" && sections.length > 0 && <table class="list"><thead><tr><th scope="col">Section</th><th scope="col">State</th></tr></thead><tbody>{sections.map(([k, v]) => <tr key={k}><td class="grow"><Said text={k} most={120} /></td><td><Status of={typeof v === "string" ? v : JSON.stringify(v)} /></td></tr>)}</tbody></table>}
        {tab === "gates" && counts[tab]! > 0 && <table class="list"><thead><tr><th scope="col">Gate</th><th scope="col">Result</th><th scope="col" class="num">Runs</th><th scope="col" class="num">Issues</th></tr></thead><tbody>{s.gates.map((g) => <tr key={g.name}><td class="grow"><Said text={g.name} most={120} /></td><td>{g.ok === null ? <Badge tone="busy">running</Badge> : g.ok ? <Badge tone="good">passed</Badge> : <Badge tone="bad">failed</Badge>}</td><td class="num">{g.runs}</td><td class="num">{g.issues?.length ?? 0}</td></tr>)}</tbody></table>}
        {tab === "artifacts" && counts[tab]! > 0 && <table class="list"><thead><tr><th scope="col">Artifact</th><th scope="col" class="opt">SHA-256</th><th scope="col">Written</th></tr></thead><tbody>{s.artifacts.map((x) => <tr key={x.name}><td class="grow"><Said text={x.name} most={120} /><div class="soft small"><Said text={x.path} most={200} /></div></td><td class="opt"><code>{oneLine(x.sha256, 16)}</code></td><td>{time(x.ts)}</td></tr>)}</tbody></table>}
      </div>}
    </>
  );
}

function Way({ now, from }: { now: string; from?: string | undefined }) {
  const at = states.indexOf(from ?? now);
  return <ol class="way" aria-label={"State: " + words(now)}>{states.map((s, i) => <li key={s} class={i < at || now === "DONE" ? "done" : i === at ? "here" : ""} {...(i === at ? { "aria-current": "step" as const } : {})}><span>{words(s)}</span></li>)}</ol>;
}

const page = 1000;

function Events({ id, upTo, proof }: { id: string; upTo: number; proof: Loaded<Verified> }) {
  const [got, set] = useState<{ events: RunEvent[]; marks: (Mark | null)[]; done: boolean; error: unknown }>({ events: [], marks: [], done: false, error: null });
  const [open, setOpen] = useState(-1);
  const [type, setType] = useState(""), [fork, setFork] = useState(false);
  const had = useRef<{ id: string; events: RunEvent[]; marks: (Mark | null)[] }>({ id, events: [], marks: [] });
  useEffect(() => {
    const stop = new AbortController();
    (async () => {
      // What was read stays, and the rest is put behind it.
      if (had.current.id !== id || had.current.events.length > upTo) had.current = { id, events: [], marks: [] };
      const { events, marks } = had.current;
      try {
        for (let after = events.length; ;) {
          const x = await api.events(id, after, page, stop.signal);
          const more = x.events ?? [];
          const seen = await check(more, events.at(-1)?.event_hash ?? null);
          events.push(...more);
          marks.push(...(seen ?? more.map(() => null)));
          const done = !more.length || !x.next || x.next <= after || events.length >= 200_000;
          set({ events: [...events], marks: [...marks], done, error: null });
          if (done || stop.signal.aborted) return;
          after = x.next!;
        }
      } catch (error) {
        if (!stop.signal.aborted) set({ events, marks, done: true, error });
      }
    })();
    return () => stop.abort();
  }, [id, upTo]);
  const kinds = useMemo(() => [...new Set(got.events.map((e) => e.type))].sort(), [got.events]);
  const list = useMemo(() => got.events.map((e, i) => ({ e, i })).filter(({ e }) => !type || e.type === type), [got.events, type]);
  const row = 34, w = usePlace(row), base = useId();
  const chosen = list.find(({ i }) => i === open);
  const place = chosen ? list.indexOf(chosen) : -1;
  const bad = got.marks.filter((m) => m === "hash" || m === "link").length;
  const checked = got.marks.filter((m) => m !== null).length;
  const own = proof.state === "ready" ? proof.value : null;
  const inherited = own ? own.events - own.lines : 0;
  const move = (n: number) => {
    const next = list[Math.max(0, Math.min(list.length - 1, n))];
    if (next) {
      setOpen(next.i);
      w.show(list.indexOf(next));
    }
  };
  return (
    <div class="events">
      <div class="tools">
        <label>Type <select value={type} onChange={(e) => setType(e.currentTarget.value)}><option value="">all</option>{kinds.map((k) => <option key={k} value={k}>{words(k)}</option>)}</select></label>
        <span role="status" class={bad ? "bad" : "soft"}>{bad ? plural(bad, "event does", "events do") + " not fit the chain" : checked ? plural(checked, "hash", "hashes") + " checked in this browser: all agree" : got.done && got.events.length ? "hashes are not checked in this browser" : ""}</span>
        {!got.done && <Loading what="events" />}
      </div>
      {got.error != null && <Failure error={got.error} />}
      {got.done && !list.length && got.error == null && <Empty title="No events." />}
      {list.length > 0 && <div class="fallsplit">
        <div class="rows log" ref={w.box} tabIndex={0} role="listbox" aria-label="Events" {...(place >= 0 ? { "aria-activedescendant": `${base}-${open}` } : {})} onKeyDown={(e) => {
          const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -list.length, End: list.length }[e.key];
          if (step === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
          e.preventDefault();
          move(place < 0 ? (step > 1 ? list.length - 1 : 0) : place + step);
        }}>
          <div class="space" role="presentation" style={{ height: list.length * row + "px" }}>
            <Rows place={w} count={list.length} row={row} draw={(n) => {
              const { e, i } = list[n]!, m = got.marks[i], signed = own && i - inherited < own.covered;
              return (
                <div id={`${base}-${i}`} role="option" aria-selected={i === open} aria-posinset={n + 1} aria-setsize={list.length} class={"erow" + (i === open ? " at" : "")} onClick={() => setOpen(i)}>
                  <span class="num soft nr">{i + 1}</span>
                  <span class={"mark " + (m === "ok" ? "good" : m ? "bad" : "quiet")}><span aria-hidden="true">{m === "ok" ? (signed ? "\u2713\u2713" : "\u2713") : m ? "\u2717" : "\u00b7"}</span><span class="hidden">{m === "ok" ? (signed ? "hash agrees, signed" : "hash agrees") : m === "hash" ? "hash does not agree" : m === "link" ? "not linked" : "not checked"}</span></span>
                  <span class="etype">{words(e.type)}</span>
                  <span class="gist soft"><bdi>{summary(e.payload, e.run_id)}</bdi></span>
                  <code class="soft opt">{oneLine(e.event_hash, 10).replace("\u2026", "")}</code>
                  <time class="soft" dateTime={e.ts} title={time(e.ts)}>{clock(e.ts)}</time>
                </div>
              );
            }} />
          </div>
        </div>
        {chosen && <aside class="details" aria-label="Selected event" tabIndex={0}>
          <h2>{words(chosen.e.type)}</h2>
          <p><button type="button" class="quiet" onClick={() => setFork(true)}>Fork from here{"\u2026"}</button></p>
          {fork && <ForkRunDialog run={id} at={String(chosen.i + 1)} close={() => setFork(false)} />}
          <dl>
            <div><dt>Number</dt><dd>{chosen.i + 1}</dd></div><div><dt>Time</dt><dd>{time(chosen.e.ts)}</dd></div>
            <div><dt>Check</dt><dd>{got.marks[chosen.i] === "ok" ? "the hash agrees and is linked to the one before" : got.marks[chosen.i] === "hash" ? "the hash is not that of this event" : got.marks[chosen.i] === "link" ? "not linked to the event before" : "not checked in this browser"}</dd></div>
            <div><dt>Hash</dt><dd class="wrap"><code>{oneLine(chosen.e.event_hash, 80)}</code></dd></div>
            <div><dt>Before</dt><dd class="wrap"><code>{oneLine(chosen.e.prev_hash, 80) || "(first)"}</code></dd></div>
            <div><dt>Event id</dt><dd class="wrap"><code>{oneLine(chosen.e.event_id, 80)}</code></dd></div>
            <div><dt>Span</dt><dd class="wrap"><code>{oneLine(chosen.e.span_id, 40)}</code> in <code>{oneLine(chosen.e.trace_id, 60)}</code></dd></div>
          </dl>
          <h3>Payload</h3>
          <Output key={chosen.i} text={JSON.stringify(chosen.e.payload, null, 2)} />
        </aside>}
      </div>}
    </div>
  );
}

function summary(p: unknown, run: string): string {
  if (!p || typeof p !== "object") return "";
  const o = p as Record<string, unknown>;
  if (typeof o["new_state"] === "string") return words(String(o["old_state"] ?? "")) + " \u2192 " + words(o["new_state"]);
  for (const k of ["work_item_id", "gate", "name", "section_id", "message", "model", "issue_id", "url", "run_id"]) if (typeof o[k] === "string") return oneLine(o[k].startsWith(run + ":") ? o[k].slice(run.length + 1) : o[k], 120);
  return "";
}
