// The agents as a tree that is drawn row by row. It is one stop for the Tab key;
// arrows move in it as the ARIA practices say.
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import type { Agent } from "../api/types";
import { useCell } from "../cell";
import { go, to } from "../route";
import { money, plural, whole } from "../text/format";
import { oneLine } from "../text/visible";
import { agents, named, refresh, type Agents } from "../world";
import { Ago, Badge, Empty, Failure, Loading, Said, stateOf } from "./small";
import { Rows } from "./rows";
import { usePlace } from "./window";

interface Row { agent: Agent; level: number; last: boolean[]; kids: number; place: number; of: number }

const deepest = 14; // levels that are indented; what is deeper says so

// flatten lists the rows in sight, parents before children. It does not recurse: a
// chain of forks may be as long as it likes. `last` says of each drawn level whether
// its line ends there.
export function flatten(world: Agents, closed: ReadonlySet<string>, keep: ((a: Agent) => boolean) | null, unfold = true): Row[] {
  let wanted: Set<string> | null = null;
  if (keep) {
    wanted = new Set();
    for (const a of world.all.values()) {
      if (!keep(a)) continue;
      for (let at: Agent | undefined = a; at && !wanted.has(at.uuid); at = world.all.get(at.parent_uuid ?? "")) wanted.add(at.uuid);
    }
  }
  const rows: Row[] = [];
  const seen = new Set<string>();
  const of = (id: string) => {
    const list = world.below.get(id) ?? [];
    return wanted ? list.filter((x) => wanted.has(x)) : list;
  };
  const stack: { list: string[]; i: number; level: number; lines: boolean[] }[] = [{ list: of(""), i: 0, level: 1, lines: [] }];
  while (stack.length) {
    const top = stack[stack.length - 1]!;
    const uuid = top.list[top.i++];
    if (uuid === undefined) {
      stack.pop();
      continue;
    }
    const agent = world.all.get(uuid);
    if (!agent || seen.has(uuid)) continue;
    seen.add(uuid);
    const kids = of(uuid), ends = top.i === top.list.length;
    const lines = top.level === 1 ? [] : [...top.lines, ends].slice(-deepest);
    rows.push({ agent, level: top.level, last: lines, kids: kids.length, place: top.i, of: top.list.length });
    if (kids.length && (!closed.has(uuid) || (wanted && unfold))) stack.push({ list: kids, i: 0, level: top.level + 1, lines });
  }
  return rows;
}

function Lines({ last, extra, row }: { last: boolean[]; extra: number; row: number }) {
  const step = 16, w = last.length * step;
  return (
    <>
      {extra > 0 && <span class="deep" title={plural(extra, "level") + " more"}>+{extra}</span>}
      <svg class="lines" width={w} height={row} viewBox={`0 0 ${w} ${row}`} aria-hidden="true">
        {last.map((ends, i) => {
          const x = i * step + 7.5, mid = row / 2;
          if (i === last.length - 1) return <path key={i} d={`M${x} 0V${ends ? mid : row}M${x} ${mid}H${x + 8}`} />;
          return ends ? null : <path key={i} d={`M${x} 0V${row}`} />;
        })}
      </svg>
    </>
  );
}

export function Tree({ current, narrow }: { current?: string | undefined; narrow?: boolean | undefined }) {
  const world = useCell(agents);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState("");
  const [alive, setAlive] = useState(true);
  const [at, setAt] = useState(current ?? "");
  const base = useId();
  const row = narrow ? 38 : 40;
  const rows = useMemo(() => {
    const q = filter.trim().toLowerCase();
    const keep = q || alive
      ? (a: Agent) => (!alive || a.status !== "dead") && (!q || (a.name ?? "").toLowerCase().includes(q) || a.uuid.toLowerCase().startsWith(q) || (a.model ?? "").toLowerCase().includes(q))
      : null;
    return flatten(world, closed, keep, q !== "");
  }, [world, closed, filter, alive]);
  const w = usePlace(row, narrow ? 0 : 34);
  const index = Math.max(0, rows.findIndex((r) => r.agent.uuid === at));

  useEffect(() => {
    if (!current) return;
    setAt(current);
    const i = rows.findIndex((r) => r.agent.uuid === current);
    if (i >= 0) w.show(i);
  }, [current, rows.length > 0]);

  const move = (i: number) => {
    const r = rows[Math.max(0, Math.min(rows.length - 1, i))];
    if (!r) return;
    setAt(r.agent.uuid);
    w.show(rows.indexOf(r));
  };
  const fold = (uuid: string, shut: boolean) => {
    const next = new Set(closed);
    if (shut) next.add(uuid);
    else next.delete(uuid);
    setClosed(next);
  };
  const key = (e: KeyboardEvent) => {
    const r = rows[index];
    if (!r || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor((w.box.current?.clientHeight ?? 400) / row) - 2);
    const shut = closed.has(r.agent.uuid);
    switch (e.key) {
      case "ArrowDown": move(index + 1); break;
      case "ArrowUp": move(index - 1); break;
      case "PageDown": move(index + page); break;
      case "PageUp": move(index - page); break;
      case "Home": move(0); break;
      case "End": move(rows.length - 1); break;
      case "ArrowRight":
        if (r.kids && shut) fold(r.agent.uuid, false);
        else if (r.kids) move(index + 1);
        break;
      case "ArrowLeft":
        if (r.kids && !shut) fold(r.agent.uuid, true);
        else move(rows.findIndex((x) => x.agent.uuid === r.agent.parent_uuid));
        break;
      case "Enter": case " ": go(["agents", r.agent.uuid]); break;
      default: return;
    }
    e.preventDefault();
  };

  if (world.state === "loading") return <Loading what="agents" />;
  if (world.state === "failed") return <Failure error={world.error} again={refresh} />;
  const parents = [...world.below.keys()].filter(Boolean);
  return (
    <section class={narrow ? "tree narrow" : "tree"} aria-label="Agents">
      <div class="tools">
        <input type="search" aria-label="Filter agents" placeholder="Filter by name, id or model" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <label class="check"><input type="checkbox" checked={!alive} onChange={(e) => setAlive(!e.currentTarget.checked)} /> include dead agents</label>
        {!narrow && <button type="button" class="quiet" onClick={() => setClosed(closed.size ? new Set() : new Set(parents))} disabled={!parents.length}>{closed.size ? "Unfold all" : "Fold all"}</button>}
        <span class="soft" role="status">{whole(rows.length)} of {plural(world.all.size, "agent")}</span>
      </div>
      {rows.length === 0 ? <Empty title={world.all.size ? "No agent matches the filter." : "No agents yet."}>{!world.all.size && <p>Start one with <code>ramet exec "hello"</code>.</p>}</Empty> : (
        <div class="rows" ref={w.box} role="treegrid" aria-label="Agent tree" aria-rowcount={rows.length + 1} aria-readonly="true" tabIndex={0}
          aria-activedescendant={`${base}-${index}`} onKeyDown={key} onFocus={() => w.show(index)}>
          <div class="trow head" role="row" aria-rowindex={1}>
            <span role="columnheader" class="name">Agent</span>
            <span role="columnheader" class="state">State</span>
            <span role="columnheader" class="fork">Forked at</span>
            <span role="columnheader" class="model">Model</span>
            <span role="columnheader" class="num mail">Mail</span>
            <span role="columnheader" class="num cost">Cost</span>
            <span role="columnheader" class="num age">Age</span>
          </div>
          <div role="rowgroup" class="space" style={{ height: rows.length * row + "px" }}>
            <Rows place={w} count={rows.length} row={row} draw={(i) => {
              const r = rows[i]!, a = r.agent, s = stateOf(a), shut = closed.has(a.uuid);
              return (
                <div id={`${base}-${i}`} role="row" class={"trow" + (i === index ? " at" : "") + (a.uuid === current ? " current" : "") + (a.status === "dead" ? " dead" : "")}
                  aria-level={r.level} aria-posinset={r.place} aria-setsize={r.of} aria-rowindex={i + 2}
                  {...(r.kids ? { "aria-expanded": !shut } : {})} aria-selected={a.uuid === current}
                  onClick={(e) => {
                    setAt(a.uuid);
                    if (!(e.target as Element).closest("a,.twist")) go(["agents", a.uuid]);
                  }}>
                  <span role="gridcell" class="name">
                    <Lines last={r.last} extra={Math.max(0, r.level - 1 - deepest)} row={row} />
                    <span class={"twist" + (r.kids ? "" : " none")} aria-hidden="true" onClick={() => r.kids && fold(a.uuid, !shut)}>{r.kids ? (shut ? "\u25b8" : "\u25be") : ""}</span>
                    <a href={to(["agents", a.uuid])} tabIndex={-1} class="label" title={oneLine(a.name || a.uuid, 300)}>{a.name ? <Said text={a.name} most={120} /> : <span class="soft">{named(a)}</span>}</a>
                    {shut && r.kids > 0 && <span class="count">{whole(r.kids)}</span>}
                  </span>
                  <span role="gridcell" class="state"><Badge tone={s.tone} title={s.more}>{s.word}</Badge></span>
                  <span role="gridcell" class="fork">{a.parent_uuid && a.fork_message_id != null && <a tabIndex={-1} href={to(["agents", a.parent_uuid], { at: String(a.fork_message_id) })}>message {a.fork_message_id}</a>}</span>
                  <span role="gridcell" class="model"><Said text={a.model} most={60} /></span>
                  <span role="gridcell" class="num mail">{a.unread_mail > 0 && <span class="unread">{whole(a.unread_mail)}<span class="hidden"> unread</span></span>}</span>
                  <span role="gridcell" class="num cost">{money(a.spent?.cost_nano_usd)}</span>
                  <span role="gridcell" class="num age"><Ago at={a.created_at} /></span>
                </div>
              );
            }} />
          </div>
        </div>
      )}
    </section>
  );
}
