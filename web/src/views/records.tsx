// Records of telemetry, newest first: turns of agents, calls, and what runs are made of.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Run } from "../api/types";
import { useCell } from "../cell";
import { Ago, Empty, Failure, Loading, Said, Status, Title, words } from "../parts/small";
import { put, route, to } from "../route";
import { useTicks } from "../runs";
import { lasting, time } from "../text/format";
import { recordTitle } from "../text/record";
import { brief, oneLine } from "../text/visible";

const kinds = ["launch", "orchestrator_node", "worker", "gate", "llm_call", "mcp_tool_call", "commit_service"];
const statuses = ["running", "success", "failure", "partial", "timeout", "cancelled"];

export function RecordsView() {
  const q = useCell(route).query;
  const job_type = q.get("kind") ?? "launch", status = q.get("status") ?? "", agent_name = q.get("agent") ?? "";
  const [got, set] = useState<{ of: string; runs: Run[]; next: string; error: unknown; busy: boolean }>({ of: "", runs: [], next: "", error: null, busy: true });
  const of = JSON.stringify([job_type, status, agent_name]);
  const busy = useRef(true), pages = useRef(0);
  // look reads the newest again; what was there stays until the answer is here.
  const look = () => {
    busy.current = true;
    const asked = of;
    api.runs({ job_type: job_type === "any" ? "" : job_type, status, agent_name, limit: 100 }).then((x) => set((old) => (old.of !== asked || old.busy || JSON.stringify(x.runs) === JSON.stringify(old.runs) ? old : { ...old, runs: x.runs, next: x.next, error: null })), () => {})
      .finally(() => { busy.current = false; });
  };
  const read = (cursor: string) => {
    busy.current = true;
    pages.current = cursor ? pages.current + 1 : 1;
    const stop = new AbortController();
    set((old) => ({ ...old, of, busy: true, error: null, runs: cursor ? old.runs : [] }));
    api.runs({ job_type: job_type === "any" ? "" : job_type, status, agent_name, cursor, limit: 100 }, stop.signal).then(
      (x) => { if (!stop.signal.aborted) set((old) => ({ of, runs: cursor ? [...old.runs, ...x.runs] : x.runs, next: x.next, error: null, busy: false })); busy.current = false; },
      (error) => { if (!stop.signal.aborted) set((old) => ({ ...old, of, error, busy: false })); busy.current = false; });
    return () => stop.abort();
  };
  useEffect(() => read(""), [of]);
  useTicks(() => { if (!busy.current && pages.current < 2) look(); }, true);
  return (
    <div class="pane page">
      <Title say="Records" />
      <form class="tools" onSubmit={(e) => e.preventDefault()}>
        <label>Kind <select value={job_type} onChange={(e) => put({ kind: e.currentTarget.value })}>
          {kinds.map((k) => <option key={k} value={k}>{words(k)}</option>)}<option value="any">any</option>
        </select></label>
        <label>Status <select value={status} onChange={(e) => put({ status: e.currentTarget.value })}>
          <option value="">any</option>{statuses.map((k) => <option key={k} value={k}>{k}</option>)}
        </select></label>
        <label>Agent <input value={agent_name} size={14} onChange={(e) => put({ agent: e.currentTarget.value.trim() })} /></label>
        <a href={to(["runs"])}>Runs</a>
      </form>
      {got.error != null && <Failure error={got.error} again={() => { read(""); }} />}
      {got.runs.length > 0 && <RunTable runs={got.runs} />}
      {got.busy && <Loading what="records" />}
      {!got.busy && got.error == null && got.runs.length === 0 && <Empty title="No such records."><p>Each launch of <code>ramet run</code> and each turn of an agent is recorded here.</p>{job_type === "launch" && <p><button type="button" onClick={() => put({ kind: "worker" })}>Show turns of agents</button></p>}</Empty>}
      {got.next && !got.busy && <button type="button" onClick={() => { read(got.next); }}>Show older records</button>}
    </div>
  );
}

export function RunTable({ runs }: { runs: Run[] }) {
  return (
    <table class="list">
      <thead><tr><th scope="col">Record</th><th scope="col">Status</th><th scope="col" class="opt">Kind</th><th scope="col" class="opt">Agent</th><th scope="col">Started</th><th scope="col" class="num">Took</th></tr></thead>
      <tbody>
        {runs.map((r) => (
          <tr key={r.event_id}>
            <td class="grow"><a href={to(["runs", r.event_id])} title={oneLine(r.run_id, 300)}><Said text={recordTitle(r, "")} most={120} /></a> <span class="soft small"><Said text={brief(r.run_id)} most={80} /></span>{r.error_summary && <div class="bad small"><Said text={r.error_summary} most={160} /></div>}</td>
            <td><Status of={r.status} /></td>
            <td class="opt">{words(r.job_type)}</td>
            <td class="opt"><Said text={r.agent_name} most={60} /></td>
            <td title={time(r.start_time)}><Ago at={r.start_time} /> ago</td>
            <td class="num">{r.duration_ms != null ? lasting(r.duration_ms) : r.end_time ? lasting(Date.parse(r.end_time) - Date.parse(r.start_time)) : "\u2014"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
