// What was spent: by agent, subtree, model and day, as a chart with its table.
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { Usage, UsageRow } from "../api/types";
import { useCell, useLoad } from "../cell";
import { Bars, Columns } from "../parts/chart";
import { AgentLink, Empty, Said, Show, Title } from "../parts/small";
import { useHome } from "../home";
import { put, route, to } from "../route";
import { useRuns } from "../runs";
import { lasting, money, short, whole } from "../text/format";
import { oneLine } from "../text/visible";
import { agents, named, useSpent } from "../world";

const spans: [string, string][] = [["", "Since the beginning"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"]];
const parts: [string, string][] = [["day", "By day"], ["model", "By model"], ["agent", "By agent"], ["subtree", "By subtree"]];
export const tokens = (r: UsageRow) => r.input + r.output + r.cache_read + r.cache_write;

export function UsageView() {
  const q = useCell(route).query;
  const span = spans.find(([k]) => k === q.get("since")) ?? spans[0]!;
  const spent = useHome().home?.spent, free = !!spent && spent.cost_nano_usd === 0 && (spent.tokens ?? 0) > 0; // where nothing costs anything, tokens are what there is to see
  const of = (q.get("of") ?? (free ? "tokens" : "cost")) === "tokens" ? "tokens" : "cost";
  const since = span[0];
  return (
    <div class="pane page usage">
      <Title say="Usage" />
      <form class="tools" onSubmit={(e) => e.preventDefault()}>
        <label>Time <select value={since} onChange={(e) => put({ since: e.currentTarget.value })}>{spans.map(([k, w]) => <option key={k} value={k}>{w}</option>)}</select></label>
        <div class="tabs" role="group" aria-label="Show">
          <button type="button" aria-pressed={of === "cost"} onClick={() => put({ of: "cost" })}>Cost</button>
          <button type="button" aria-pressed={of === "tokens"} onClick={() => put({ of: "tokens" })}>Tokens</button>
        </div>
      </form>
      <Budget />
      {parts.map(([by, title]) => <Part key={by} by={by} title={title} since={since} of={of} />)}
      {of === "cost" && <ByRun />}
    </div>
  );
}

// Budget is what was spent against what may be: the budget is the line.
function Budget() {
  const home = useHome().home, most = home?.budget?.cost_nano_usd, spent = home?.spent.cost_nano_usd ?? 0;
  if (most == null || most <= 0) return null;
  const full = Math.max(most, spent) * 1.1, says = money(spent) + " of " + money(most);
  return (
    <section class="part budget" aria-label="Budget">
      <h2>Budget</h2>
      <p>{says} spent, by all agents since the beginning{spent > most && <strong class="bad"> {"\u00b7"} it is used up</strong>}</p>
      <svg role="img" aria-label={says} viewBox="0 0 1000 28" preserveAspectRatio="none" width="100%" height="28">
        <rect class="ground" x="0" y="8" width="1000" height="12" />
        <rect class="value" x="0" y="8" width={(spent / full) * 1000} height="12" />
        <rect class="limit" x={(most / full) * 1000 - 1} y="0" width="3" height="28" />
      </svg>
    </section>
  );
}

// ByRun is what the calls of each run cost, since its beginning.
function ByRun() {
  const runs = useRuns(), [all, setAll] = useState(false);
  const rows = runs.rows.filter((r) => r.cost_nano_usd > 0 || r.calls > 0).sort((x, y) => y.cost_nano_usd - x.cost_nano_usd);
  if (!rows.length) return null;
  return (
    <section class="part byrun" aria-label="By run">
      <h2>By run</h2>
      <div class="both">
        <Bars data={rows.slice(0, few).map((r) => ({ key: r.run_id, name: oneLine(r.run_id, 60), value: r.cost_nano_usd, says: money(r.cost_nano_usd) }))} title="By run" />
        <div class="scroll" tabIndex={0} role="group" aria-label="By run, table">
          <table class="figures">
            <thead><tr><th scope="col">Run</th><th scope="col" class="num">Cost</th><th scope="col" class="num">Calls</th><th scope="col">State</th></tr></thead>
            <tbody>{(all ? rows : rows.slice(0, few)).map((r) => <tr key={r.run_id}><th scope="row"><a href={to(["logs", r.run_id])}><Said text={r.run_id} most={60} /></a></th><td class="num">{money(r.cost_nano_usd)}</td><td class="num">{whole(r.calls)}</td><td>{oneLine(r.status, 20)}</td></tr>)}</tbody>
          </table>
          {rows.length > few && <button type="button" class="quiet" onClick={() => setAll(!all)}>{all ? "Show fewer" : "Show all " + whole(rows.length)}</button>}
        </div>
      </div>
    </section>
  );
}

function Part({ by, title, since, of }: { by: string; title: string; since: string; of: "cost" | "tokens" }) {
  const [usage, again] = useLoad((s) => api.usage(by, since, s), [by, since]);
  useSpent(again);
  return (
    <section class="part" aria-label={title}>
      <h2>{title}</h2>
      <Show of={usage} what="usage" again={again}>{(u) => <Both u={u} by={by} of={of} title={title} />}</Show>
    </section>
  );
}

const few = 12;

function Both({ u, by, of, title }: { u: Usage; by: string; of: "cost" | "tokens"; title: string }) {
  const world = useCell(agents);
  const [all, setAll] = useState(false);
  const rows = u.rows ?? [];
  if (!rows.length) return <Empty title="Nothing was spent in this time." />;
  const value = (r: UsageRow) => (of === "cost" ? r.cost_nano_usd : tokens(r));
  const write = (n: number) => (of === "cost" ? money(n) : short(n));
  const name = (r: UsageRow) => {
    const a = r.agent_uuid && by !== "model" && by !== "day" ? world.all.get(r.agent_uuid) : undefined;
    return a ? named(a) : r.key;
  };
  // The budget of an agent binds all below it: its line stands at the subtree.
  const limit = (r: UsageRow) => (of === "cost" && by === "subtree" && r.agent_uuid ? world.all.get(r.agent_uuid)?.budget?.cost_nano_usd ?? undefined : undefined);
  const sorted = by === "day" ? [...rows].sort((a, b) => (a.key < b.key ? -1 : 1)) : [...rows].sort((a, b) => value(b) - value(a));
  const shown = all ? sorted : by === "day" ? sorted.slice(-few) : sorted.slice(0, few);
  const data = (by === "day" ? sorted.slice(-60) : sorted.slice(0, few)).map((r) => ({ key: r.key, name: oneLine(name(r), 60), value: value(r), says: write(value(r)), limit: limit(r) }));
  return (
    <div class="both">
      {by === "day" ? <Columns data={data} title={title} write={write} /> : <Bars data={data} title={title} />}
      <div class="scroll" tabIndex={0} role="group" aria-label={title + ", table"}>
        <table class="figures">
          <thead><tr><th scope="col">{by === "day" ? "Day" : by === "model" ? "Model" : "Agent"}</th><th scope="col" class="num">Cost</th><th scope="col" class="num">Calls</th><th scope="col" class="num">Input</th><th scope="col" class="num">Output</th><th scope="col" class="num">Cache read</th><th scope="col" class="num">Cache write</th><th scope="col" class="num">Time</th></tr></thead>
          <tbody>{shown.map((r) => <Row key={r.key} r={r} first={r.agent_uuid && by !== "model" && by !== "day" ? <AgentLink uuid={r.agent_uuid} /> : <Said text={name(r)} most={60} />} />)}</tbody>
          {u.total && <tfoot><Row r={u.total} first="Total" /></tfoot>}
        </table>
        {sorted.length > few && <button type="button" class="quiet" onClick={() => setAll(!all)}>{all ? "Show fewer" : "Show all " + whole(sorted.length)}</button>}
        {u.total?.unpriced > 0 && <p class="soft small">{whole(u.total.unpriced)} calls have no known price and count as nothing.</p>}
      </div>
    </div>
  );
}

function Row({ r, first }: { r: UsageRow; first: preact.ComponentChildren }) {
  return <tr><th scope="row">{first}</th><td class="num">{money(r.cost_nano_usd)}</td><td class="num">{whole(r.calls)}{r.failed ? <span class="bad"> ({whole(r.failed)} failed)</span> : null}</td><td class="num">{short(r.input)}</td><td class="num">{short(r.output)}</td><td class="num">{short(r.cache_read)}</td><td class="num">{short(r.cache_write)}</td><td class="num">{lasting(r.took_ms)}</td></tr>;
}
