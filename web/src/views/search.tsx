// Search over the workspace: what was said (the server looks), agents, runs and records.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api } from "../api/client";
import { useCell, useLoad } from "../cell";
import { AgentLink, Badge, Empty, Failure, Said, stateOf, Status, Title, words } from "../parts/small";
import { put, route, to } from "../route";
import { useRuns } from "../runs";
import { plural, time } from "../text/format";
import { brief, oneLine } from "../text/visible";
import { agents } from "../world";

const most = 50;

export function SearchView() {
  const q = useCell(route).query.get("q") ?? "";
  const [typed, setTyped] = useState(q), [all, setAll] = useState(false);
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed === q) return;
    const timer = setTimeout(() => put({ q: typed }), 150);
    return () => clearTimeout(timer);
  }, [typed]);
  const world = useCell(agents), books = useRuns();
  const want = q.trim().toLowerCase();
  const [runs] = useLoad((s) => api.runs({ limit: 1000 }, s), []);
  const [said] = useLoad(async (s) => (want ? await api.search(want, "", 200, s) : { found: [], more: false }), [want]);
  const has = (...s: (string | null | undefined)[]) => want !== "" && s.some((x) => (x ?? "").toLowerCase().includes(want));
  const people = [...world.all.values()].filter((a) => has(a.name, a.uuid, a.model, a.cwd));
  const records = runs.state === "ready" ? runs.value.runs.filter((r) => has(r.run_id, r.agent_name, r.event_id, r.error_summary, r.input_summary, r.output_summary, r.product)) : [];
  const logs = (books.state === "ready" ? books.rows : []).filter((r) => has(r.run_id, r.status, r.repo, r.recipe, r.reason));
  const hits = said.state === "ready" ? said.value.found : [];
  const total = people.length + records.length + logs.length + hits.length;
  return (
    <div class="pane page">
      <Title say="Search" />
      <form class="tools" onSubmit={(e) => { e.preventDefault(); put({ q: typed }); }}>
        <input class="wide" type="search" aria-label="Search for" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} placeholder="A name, an id, a model, or a word of a message" />
      </form>
      <p role="status" class="soft">{want ? said.state === "loading" ? "Looking\u2026" : plural(total, "result") + (said.state === "ready" && said.value.more ? ", and there are more messages" : "") : "Searches all messages of all agents, live and dead; agents, runs, and the newest 1,000 records."}</p>
      {runs.state === "failed" && <Failure error={runs.error} />}
      {said.state === "failed" && <Failure error={said.error} />}
      {want && total === 0 && said.state !== "loading" && <Empty title="No results." />}
      <Group title="Agents" n={people.length}>{people.slice(0, most).map((a) => { const s = stateOf(a); return <li key={a.uuid}><AgentLink uuid={a.uuid} /> <Badge tone={s.tone}>{s.word}</Badge> <span class="soft"><Said text={a.model} most={60} /> {a.uuid}</span></li>; })}</Group>
      <Group title="Messages" n={hits.length}>{hits.slice(0, all ? hits.length : most).map((h) => <li key={h.message_id}><a href={to(["agents", h.agent_uuid], { at: String(h.message_id), find: q.trim() })}>message {h.message_id}</a> <span class="soft">{words(h.kind)} {"\u00b7"} <AgentLink uuid={h.agent_uuid} /> {"\u00b7"} {time(h.created_at)}</span> <div class="small"><Around text={h.around} want={want} /></div></li>)}{hits.length > most && !all && <li><button type="button" class="quiet" onClick={() => setAll(true)}>Show all {hits.length}</button></li>}</Group>
      <Group title="Runs" n={logs.length}>{logs.slice(0, most).map((r) => <li key={r.run_id}><a href={to(["logs", r.run_id])}><Said text={r.run_id} most={120} /></a> <Status of={r.status || "unknown"} /> <span class="soft"><Said text={r.repo} most={120} /></span></li>)}</Group>
      <Group title="Records" n={records.length}>{records.slice(0, most).map((r) => <li key={r.event_id}><a href={to(["runs", r.event_id])}><Said text={brief(r.run_id)} most={120} /></a> <Status of={r.status} /> <span class="soft">{words(r.job_type)}</span></li>)}</Group>
    </div>
  );
}

function Group({ title, n, children }: { title: string; n: number; children?: ComponentChildren }) {
  if (!n) return null;
  return <section aria-label={title}><h2>{title} <span class="count">{n}</span></h2><ul class="found">{children}</ul>{n > most && <p class="soft">{n - most} more</p>}</section>;
}

// Around is the text near the word that was found.
function Around({ text, want }: { text: string; want: string }) {
  const at = text.toLowerCase().indexOf(want), from = Math.max(0, at - 80);
  const cut = text.slice(from, at + want.length + 120);
  const i = cut.toLowerCase().indexOf(want);
  if (i < 0) return <bdi>{oneLine(cut, 300)}</bdi>;
  return <bdi>{from ? "\u2026" : ""}{oneLine(cut.slice(0, i), 200) + (/\s$/.test(cut.slice(0, i)) ? " " : "")}<mark>{oneLine(cut.slice(i, i + want.length), 200)}</mark>{(/^\s/.test(cut.slice(i + want.length)) ? " " : "") + oneLine(cut.slice(i + want.length), 200)}</bdi>;
}
