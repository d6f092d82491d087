// Orchestrated runs and the ledger: what there is.
import { api } from "../api/client";
import { useLoad } from "../cell";
import { Ago, Empty, Said, Show, Status, Title, words } from "../parts/small";
import { to } from "../route";
import { time, whole } from "../text/format";

const why = (e: unknown) => (typeof e === "string" ? e : e && typeof e === "object" && "message" in e ? String((e as { message: unknown }).message) : "");

export function LogsView() {
  const [logs, again] = useLoad((s) => api.logs(s), []);
  return (
    <div class="pane page">
      <Title say="Run logs" />
      <div class="tools"><button type="button" class="quiet" onClick={again}>Reload</button><a href={to(["ledger"])}>Ledger of sub-agents</a></div>
      <Show of={logs} what="run logs" again={again}>
        {(list) => list.length === 0 ? <Empty title="No orchestrated runs yet."><p><code>ramet run</code> starts one.</p></Empty> : (
          <table class="list">
            <thead><tr><th scope="col">Run</th><th scope="col">State</th><th scope="col" class="num">Events</th><th scope="col">Changed</th></tr></thead>
            <tbody>{list.map((r) => (
              <tr key={r.run_id}>
                <td class="grow"><a href={to(["logs", r.run_id])}><Said text={r.run_id} most={120} /></a>{r.error && <div class="bad small"><Said text={why(r.error)} most={200} /></div>}</td>
                <td>{r.run_state ? <Status of={r.run_state} /> : "\u2014"}</td><td class="num">{whole(r.event_count)}</td><td>{r.updated_at ? <><Ago at={r.updated_at} /> ago</> : "\u2014"}</td>
              </tr>
            ))}</tbody>
          </table>
        )}
      </Show>
    </div>
  );
}

export function LedgerView() {
  const [entries, again] = useLoad((s) => api.track(s), []);
  return (
    <div class="pane page">
      <Title say="Ledger" />
      <p class="soft">Sub-agents that tools have reported, oldest first.</p>
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
