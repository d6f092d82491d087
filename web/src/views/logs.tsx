// The runs, in one list, and the ledger.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api } from "../api/client";
import type { LogRow } from "../api/types";
import { useLoad } from "../cell";
import { memo } from "../parts/memo";
import { RunActs, StartRun } from "../parts/runacts";
import { Ago, Empty, Failure, Loading, Said, Show, Status, Title, words } from "../parts/small";
import { to } from "../route";
import { useRuns, useTicks } from "../runs";
import { money, plural, time, whole } from "../text/format";
import { oneLine } from "../text/visible";

// RunsView has everything that was launched: runs with a log, and launches that other programs recorded.
export function RunsView() {
  const runs = useRuns();
  const [filter, setFilter] = useState("");
  const [launches] = useLoad((s) => api.runs({ job_type: "launch", limit: 1000 }, s), [runs.rows]);
  const recorded = launches.state === "ready" ? launches.value.runs : [];
  const line = useMemo(() => new Map(recorded.map((r) => [r.run_id, r.event_id])), [recorded]);
  const own = new Set(runs.rows.map((r) => r.run_id));
  const others = runs.state === "ready" ? recorded.filter((r) => ![...own].some((id) => r.run_id === id || r.run_id.startsWith(id + "-"))) : [];
  const q = filter.trim().toLowerCase();
  const fits = (...s: (string | null | undefined)[]) => !q || s.some((x) => (x ?? "").toLowerCase().includes(q));
  const rows = runs.rows.filter((r) => fits(r.run_id, r.status, r.repo, r.recipe, r.reason, r.run_state));
  const more = others.filter((r) => fits(r.run_id, r.status, r.git_repo, r.agent_name));
  return (
    <div class="pane page">
      <Title say="Runs" />
      <div class="tools">
        <StartRun />
        <input type="search" aria-label="Filter runs" placeholder="Filter by id, state or repository" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <span class="soft" role="status">{plural(rows.length + more.length, "run")}</span>
        <a href={to(["records"], { kind: "worker" })}>Records</a><a href={to(["ledger"])}>Ledger of sub-agents</a>
      </div>
      {runs.state === "loading" && <Loading what="runs" />}
      {runs.state === "failed" && <Failure error={runs.error} />}
      {runs.state === "ready" && rows.length + more.length === 0 && <Empty title={q ? "No run matches the filter." : "No runs yet."}>{!q && <p>Start one here, or with <code>ramet run start</code>.</p>}</Empty>}
      {rows.length + more.length > 0 && (
        <table class="list runs" role="table">
          <thead role="rowgroup"><tr role="row">{columns.map(([word, is]) => <th key={word} scope="col" role="columnheader" class={is}>{word}</th>)}</tr></thead>
          <tbody role="rowgroup">
            {rows.map((r) => <Row key={r.run_id} r={r} timeline={line.get(r.run_id)} />)}
            {more.map((r) => (
              <Cells key={r.event_id} of={[
                <><a href={to(["runs", r.event_id])}><Said text={r.run_id} most={120} /></a><div class="soft small">recorded by <Said text={r.agent_name} most={60} /></div></>,
                <Status of={r.status} />, <Said text={place(r.git_repo)} most={120} />, "", "", <><Ago at={r.updated_at} /> ago</>]} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

// place is a repository without what all of them begin with.
const place = (repo: string | null | undefined) => (repo ?? "").replace(/^https?:\/\//, "");

const columns = [["Run", "grow"], ["State", ""], ["Repository", "opt repo"], ["Cost", "num"], ["Pull request", "opt"], ["Changed", ""]] as const;

// Cells are a row. The style sheet makes each a box of its own, so that the browser keeps its picture; to readers
// it is then a row of a table only if it says so.
function Cells({ of }: { of: ComponentChildren[] }) {
  return <tr role="row">{of.map((said, i) => <td key={i} role="cell" class={columns[i]![1]}>{said}</td>)}</tr>;
}

const Row = memo(function Row({ r, timeline }: { r: LogRow; timeline: string | undefined }) {
  return <Cells of={[
    <>
      <a href={to(["logs", r.run_id])}><Said text={r.run_id} most={120} /></a> <span class="soft small">{r.recipe && <Said text={r.recipe} most={60} />} {"\u00b7"} {plural(r.event_count, "event")}{timeline && <> {"\u00b7"} <a href={to(["runs", timeline])}>timeline</a></>}</span>
      {r.error && <div class="bad small"><Said text={r.error} most={200} /></div>}
      {r.reason && <div class={"small wrap" + (r.status === "failed" ? " bad" : "")}>{oneLine(r.reason, 300)}</div>}
      {!r.error && r.status !== "done" && r.status !== "cancelled" && r.status !== "kept" && <RunActs run={r} />}
    </>,
    r.status ? <><Status of={r.status} />{!["done", "failed", "cancelled"].includes(r.status) && <div class="soft small">{words(r.run_state)}</div>}</> : "\u2014",
    <Said text={place(r.repo)} most={120} />,
    <span title={whole(r.calls) + " calls of models"}>{money(r.cost_nano_usd)}</span>,
    <PullRequest url={r.pr_url} />,
    r.updated_at ? <><Ago at={r.updated_at} /> ago</> : "\u2014",
  ]} />;
});

export function PullRequest({ url }: { url: string | null }) {
  if (!url) return null;
  if (!/^https?:\/\//.test(url)) return <Said text={url} most={80} />;
  const number = /\/(?:pull|pulls|merge_requests)\/(\d+)/.exec(url)?.[1];
  return <a href={url} rel="noopener noreferrer" target="_blank">{number ? "#" + number : <Said text={url} most={60} />}</a>;
}

export function LedgerView() {
  const [entries, again] = useLoad((s) => api.track(s), []);
  useTicks(again, true);
  return (
    <div class="pane page">
      <Title say="Ledger" />
      <p class="soft">Sub-agents that tools reported, oldest first.</p>
      <Show of={entries} what="the ledger" again={again}>
        {(list) => list.length === 0 ? <Empty title="The ledger is empty."><p><code>ramet track install</code> lets your tools write to it.</p></Empty> : (
          <table class="list">
            <thead><tr><th scope="col">Agent</th><th scope="col">Status</th><th scope="col" class="opt">Type</th><th scope="col">Spawned</th></tr></thead>
            <tbody>{list.map((e) => (
              <tr key={e.agent_id}><td class="grow"><Said text={e.agent_id} most={80} /><div class="soft small"><Said text={e.task_description} most={200} /></div></td>
                <td><Status of={e.status} /></td><td class="opt">{words(e.agent_type ?? "")}</td><td>{time(e.timestamp)}</td></tr>
            ))}</tbody>
          </table>
        )}
      </Show>
    </div>
  );
}
