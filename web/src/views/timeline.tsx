// A telemetry run with everything below it, as a waterfall.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Branch } from "../api/types";
import { useLoad } from "../cell";
import { Badge, Said, Show, Status, Title, words } from "../parts/small";
import { useWide } from "../parts/wide";
import { Rows } from "../parts/rows";
import { usePlace } from "../parts/window";
import { put, route, to } from "../route";
import { useTicks } from "../runs";
import { clock, lasting, money, plural, short, time, whole } from "../text/format";
import { recordTitle } from "../text/record";
import { brief, oneLine, visible } from "../text/visible";

interface Bar { run: Branch; level: number; kids: number; begin: number; end: number; place: number; of: number; up: number }

// bars lists all records, parents first, each with its time. It does not recurse.
export function bars(root: Branch): { rows: Bar[]; begin: number; end: number } {
  const rows: Bar[] = [];
  const now = Date.now();
  let begin = Infinity, end = -Infinity;
  const stack: { run: Branch; level: number; place: number; of: number; up: number }[] = [{ run: root, level: 1, place: 1, of: 1, up: -1 }];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const { run, level, place, of, up } = top;
    const from = Date.parse(run.start_time);
    let till = run.end_time ? Date.parse(run.end_time) : run.duration_ms != null ? from + run.duration_ms : run.status === "running" ? now : from;
    if (!(till >= from)) till = from;
    if (from < begin) begin = from;
    if (till > end) end = till;
    const kids = [...(run.children ?? [])].sort((x, y) => Date.parse(x.start_time) - Date.parse(y.start_time) || (x.run_id < y.run_id ? -1 : 1));
    rows.push({ run, level, kids: kids.length, begin: from, end: till, place, of, up });
    const me = rows.length - 1;
    for (let i = kids.length - 1; i >= 0; i--) stack.push({ run: kids[i]!, level: level + 1, place: i + 1, of: kids.length, up: me });
  }
  if (!Number.isFinite(begin)) begin = end = now;
  return { rows, begin, end: Math.max(end, begin + 1) };
}

export function TimelineView({ id }: { id: string }) {
  const [tree, again] = useLoad((s) => api.tree(id, s), [id]);
  useTicks(again, tree.state === "ready" && tree.value.status === "running");
  return (
    <div class="pane timeline">
      <Show of={tree} what="the run" again={again}>{(root) => <Waterfall root={root} />}</Show>
      {tree.state !== "ready" && <Title say="Run" />}
    </div>
  );
}

const tone: Record<string, string> = { launch: "k0", orchestrator_node: "k1", worker: "k2", gate: "k3", llm_call: "k4", mcp_tool_call: "k5", commit_service: "k5" };

function Waterfall({ root }: { root: Branch }) {
  const all = useMemo(() => bars(root), [root]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [view, setView] = useState<[number, number]>([all.begin, all.end]);
  const [selected, choose] = useState(() => route.get().query.get("record") ?? root.event_id);
  useEffect(() => { // a held key must not flood the address
    if (selected === root.event_id && !route.get().query.has("record")) return;
    const timer = setTimeout(() => put({ record: selected }), 300);
    return () => clearTimeout(timer);
  }, [selected]);
  const before = useRef([all.begin, all.end]); // whoever looks at all of it goes on doing so
  useEffect(() => {
    if (view[0] === before.current[0] && view[1] === before.current[1]) setView([all.begin, all.end]);
    before.current = [all.begin, all.end];
  }, [all]);
  const rows = useMemo(() => {
    if (!closed.size) return all.rows;
    const out: Bar[] = [];
    let hide = Infinity;
    for (const b of all.rows) {
      if (b.level > hide) continue;
      hide = closed.has(b.run.event_id) ? b.level : Infinity;
      out.push(b);
    }
    return out;
  }, [all, closed]);
  const row = 28, w = usePlace(row, 30), base = useId();
  const index = Math.max(0, rows.findIndex((b) => b.run.event_id === selected));
  const at = rows[index];
  const span = view[1] - view[0];
  const select = (i: number) => {
    const b = rows[Math.max(0, Math.min(rows.length - 1, i))];
    if (!b) return;
    choose(b.run.event_id);
    w.show(rows.indexOf(b));
  };
  const fold = (id: string, shut: boolean) => {
    const next = new Set(closed);
    if (shut) next.add(id);
    else next.delete(id);
    setClosed(next);
  };
  const zoom = (factor: number, middle = (view[0] + view[1]) / 2) => {
    const half = Math.min(all.end - all.begin, Math.max(1, span * factor)) / 2;
    let from = middle - half, till = middle + half;
    if (from < all.begin) { till += all.begin - from; from = all.begin; }
    if (till > all.end) { from -= till - all.end; till = all.end; }
    setView([Math.max(all.begin, from), Math.min(all.end, till)]);
  };
  const pan = (by: number) => {
    const d = Math.max(all.begin - view[0], Math.min(all.end - view[1], by * span));
    setView([view[0] + d, view[1] + d]);
  };
  const zoomTo = (b: Bar) => zoom(Math.max(1, (b.end - b.begin) * 1.1) / span, (b.begin + b.end) / 2);
  const key = (e: KeyboardEvent) => {
    if (!at || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor((w.box.current?.clientHeight ?? 400) / row) - 2);
    const shut = closed.has(at.run.event_id);
    switch (e.key) {
      case "ArrowDown": select(index + 1); break;
      case "ArrowUp": select(index - 1); break;
      case "PageDown": select(index + page); break;
      case "PageUp": select(index - page); break;
      case "Home": select(0); break;
      case "End": select(rows.length - 1); break;
      case "ArrowRight": if (at.kids && shut) fold(at.run.event_id, false); else if (at.kids) select(index + 1); break;
      case "ArrowLeft": if (at.kids && !shut) fold(at.run.event_id, true); else { const up = at.up >= 0 ? all.rows[at.up] : undefined; if (up) select(rows.indexOf(up)); } break;
      case "+": case "=": zoom(0.5, (at.begin + at.end) / 2); break;
      case "-": zoom(2); break;
      case "0": setView([all.begin, all.end]); break;
      case "z": case "Enter": zoomTo(at); break;
      case "[": pan(-0.25); break;
      case "]": pan(0.25); break;
      default: return;
    }
    e.preventDefault();
  };
  const pos = (t: number) => ((t - view[0]) / span) * 100;
  const shutAll = () => setClosed(closed.size ? new Set() : new Set(all.rows.filter((b) => b.kids && b.level > 1).map((b) => b.run.event_id)));

  return (
    <>
      <div class="agenthead">
        <p class="crumbs"><a href={to(["runs"])}>Runs</a></p>
        <div class="titled"><Title say={root.run_id}><Said text={brief(root.run_id)} most={120} /></Title><Status of={root.status} /></div>
        <dl class="facts">
          <div><dt>Started</dt><dd>{time(root.start_time)}</dd></div>
          <div><dt>Took</dt><dd>{lasting(all.end - all.begin)}</dd></div>
          <div><dt>Records</dt><dd>{whole(all.rows.length)}</dd></div>
          <div><dt>Model calls</dt><dd>{whole(root.sums?.llm_calls ?? 0)}</dd></div>
          <div><dt>Tokens</dt><dd>{short(root.sums?.total_tokens ?? 0)}</dd></div>
          <div><dt>Cost</dt><dd>{money((root.sums?.api_cost_usd ?? 0) * 1e9)}</dd></div>
        </dl>
        <Overview rows={all.rows} begin={all.begin} end={all.end} view={view} set={setView} />
        <div class="tools">
          <button type="button" class="quiet" onClick={() => zoom(0.5)}>Zoom in</button>
          <button type="button" class="quiet" onClick={() => zoom(2)}>Zoom out</button>
          <button type="button" class="quiet" onClick={() => pan(-0.25)} aria-label="Earlier">{"\u2190"}</button>
          <button type="button" class="quiet" onClick={() => pan(0.25)} aria-label="Later">{"\u2192"}</button>
          <button type="button" class="quiet" onClick={() => setView([all.begin, all.end])}>Whole run</button>
          <button type="button" class="quiet" onClick={shutAll}>{closed.size ? "Unfold all" : "Fold all"}</button>
          <span class="legend" aria-hidden="true">{Object.entries(tone).slice(0, 5).map(([k, c]) => <span key={k}><i class={"bar " + c} />{words(k)}</span>)}</span>
        </div>
      </div>
      <div class="fallsplit">
        <div class="rows fall" ref={w.box} role="treegrid" aria-label="Timeline" aria-rowcount={rows.length + 1} aria-readonly="true" tabIndex={0} aria-activedescendant={`${base}-${index}`} onKeyDown={key}>
          <div class="frow head" role="row" aria-rowindex={1}>
            <span role="columnheader" class="what">Record</span>
            <span role="columnheader" class="track"><span class="hidden">Time</span><Axis begin={view[0]} end={view[1]} zero={all.begin} /></span>
            <span role="columnheader" class="num took">Took</span>
          </div>
          <div role="rowgroup" class="space" style={{ height: rows.length * row + "px" }}>
            <Rows place={w} count={rows.length} row={row} draw={(i) => {
              const b = rows[i]!, shut = closed.has(b.run.event_id);
              const left = pos(b.begin), right = pos(b.end), seen = right >= 0 && left <= 100;
              return (
                <div id={`${base}-${i}`} role="row" class={"frow" + (i === index ? " at" : "")}
                  aria-level={b.level} aria-posinset={b.place} aria-setsize={b.of} aria-rowindex={i + 2} aria-selected={i === index} {...(b.kids ? { "aria-expanded": !shut } : {})}
                  onClick={() => select(i)} onDblClick={() => zoomTo(b)}>
                  <span role="gridcell" class="what" style={{ paddingLeft: Math.min(b.level - 1, 10) * 14 + "px" }}>
                    <span class={"twist" + (b.kids ? "" : " none")} aria-hidden="true" onClick={(e) => { e.stopPropagation(); if (b.kids) fold(b.run.event_id, !shut); }}>{b.kids ? (shut ? "\u25b8" : "\u25be") : ""}</span>
                    <span class="label"><Said text={recordTitle(b.run, root.run_id)} most={120} /></span>
                    {b.run.status !== "success" && <Badge tone={b.run.status === "running" ? "busy" : b.run.status === "cancelled" ? "quiet" : b.run.status === "partial" ? "warn" : "bad"}>{words(b.run.status)}</Badge>}
                  </span>
                  <span role="gridcell" class="track">
                    {seen && <i class={"bar " + (tone[b.run.job_type] ?? "k5") + (b.run.status === "failure" || b.run.status === "timeout" ? " failed" : "")} style={{ left: Math.max(0, left) + "%", width: Math.max(0, Math.min(100, right) - Math.max(0, left)) + "%" }} />}
                    <span class="hidden">{words(b.run.job_type)}, from {clock(b.run.start_time)}</span>
                  </span>
                  <span role="gridcell" class="num took">{lasting(b.end - b.begin)}</span>
                </div>
              );
            }} />
          </div>
        </div>
        {at && <Details b={at} root={root.run_id} zoom={() => zoomTo(at)} />}
      </div>
    </>
  );
}

function Axis({ begin, end, zero }: { begin: number; end: number; zero: number }) {
  const span = end - begin, most = useWide(720) ? 5 : 2;
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
  const step = steps.find((s) => span / s <= most) ?? Math.ceil(span / most / 864e5) * 864e5;
  const ticks: number[] = [];
  for (let t = zero + Math.ceil((begin - zero) / step) * step; t <= end && ticks.length < 12; t += step) ticks.push(t);
  return <span class="axis" aria-hidden="true">{ticks.map((t) => <i key={t} style={{ left: ((t - begin) / span) * 100 + "%" }}><b>{t === zero ? "0" : (t - begin) / span < 0.9 ? lasting(t - zero) : ""}</b></i>)}</span>;
}

// Overview is the whole run in small, on a canvas. Dragging on it chooses what is in
// view; the buttons and keys do the same.
function Overview({ rows, begin, end, view, set }: { rows: Bar[]; begin: number; end: number; view: [number, number]; set: (v: [number, number]) => void }) {
  const c = useRef<HTMLCanvasElement>(null);
  const from = useRef<number | null>(null);
  useEffect(() => {
    const el = c.current, g = el?.getContext("2d");
    if (!el || !g) return;
    const draw = () => {
      const width = el.clientWidth, height = el.clientHeight, scale = devicePixelRatio || 1;
      el.width = width * scale;
      el.height = height * scale;
      g.scale(scale, scale);
      const css = getComputedStyle(el);
      const colour = ["--k0", "--k1", "--k2", "--k3", "--k4", "--k5"].map((k) => css.getPropertyValue(k));
      for (const b of rows) {
        const x = ((b.begin - begin) / (end - begin)) * width, x2 = ((b.end - begin) / (end - begin)) * width;
        const lane = Math.min(b.level - 1, 4);
        g.fillStyle = colour[Number((tone[b.run.job_type] ?? "k5").slice(1))] ?? "#888";
        g.fillRect(x, 3 + lane * ((height - 6) / 5), Math.max(1, x2 - x), (height - 6) / 5 - 1);
      }
      if (view[0] > begin || view[1] < end) {
        g.fillStyle = css.getPropertyValue("--veil");
        const l = ((view[0] - begin) / (end - begin)) * width, r = ((view[1] - begin) / (end - begin)) * width;
        g.fillRect(0, 0, l, height);
        g.fillRect(r, 0, width - r, height);
      }
    };
    draw();
    const sized = new ResizeObserver(draw);
    sized.observe(el);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      dark.removeEventListener("change", draw);
    };
  }, [rows, begin, end, view[0], view[1]]);
  const when = (e: PointerEvent) => {
    const box = c.current!.getBoundingClientRect();
    return begin + Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)) * (end - begin);
  };
  return (
    <canvas class="overview" ref={c} role="img" aria-label={"The whole run in small: " + plural(rows.length, "record") + " in " + lasting(end - begin)}
      onPointerDown={(e) => { from.current = when(e); c.current?.setPointerCapture(e.pointerId); }}
      onPointerMove={(e) => {
        if (from.current === null) return;
        const now = when(e), a = Math.min(now, from.current), b = Math.max(now, from.current);
        if (b - a > (end - begin) / 500) set([a, b]);
      }}
      onPointerUp={() => { from.current = null; }} onDblClick={() => set([begin, end])} />
  );
}

function Details({ b, root, zoom }: { b: Bar; root: string; zoom: () => void }) {
  const r = b.run;
  const facts: [string, string | number | null | undefined][] = [
    ["Kind", words(r.job_type)], ["Agent", r.agent_name], ["Started", time(r.start_time)], ["Ended", r.end_time ? time(r.end_time) : null], ["Took", lasting(b.end - b.begin)],
    ["Below it", b.kids ? plural((r.sums?.records ?? 1) - 1, "record") : null],
    ["Tokens", r.sums?.total_tokens ? short(r.sums.input_tokens) + " in, " + short(r.sums.output_tokens) + " out" : null],
    ["Cost", r.sums?.api_cost_usd ? money(r.sums.api_cost_usd * 1e9) : null],
    ["Items", r.items_discovered ? `${r.items_succeeded ?? 0} of ${r.items_discovered} done, ${r.items_failed ?? 0} failed, ${r.items_skipped ?? 0} skipped` : null],
    ["Source", r.source_ref], ["Target", r.target_ref], ["Repository", r.git_repo], ["Branch", r.git_branch], ["Commit", r.git_commit_hash], ["Host", r.host], ["Trigger", r.trigger_type],
    ["Run id", r.run_id], ["Event id", r.event_id],
  ];
  const texts: [string, string | undefined][] = [["Input", r.input_summary], ["Output", r.output_summary], ["Error", r.error_summary], ["Error details", r.error_details],
    ["Metrics", r.metrics_json ? JSON.stringify(r.metrics_json, null, 2) : undefined], ["Context", r.context_json ? JSON.stringify(r.context_json, null, 2) : undefined]];
  return (
    <aside class="details" aria-label="Selected record" tabIndex={0}>
      <h2 class="wrap"><Said text={recordTitle(b.run, root)} most={120} /></h2>
      <p class="buttons"><Status of={r.status} /><button type="button" class="quiet" onClick={zoom}>Zoom to it</button></p>
      <dl>{facts.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([k, v]) => <div key={k}><dt>{k}</dt><dd class="wrap"><bdi>{oneLine(String(v), 400)}</bdi></dd></div>)}</dl>
      {texts.filter(([, v]) => v).map(([k, v]) => <div key={k}><h3>{k}</h3><pre class="plain" tabIndex={0} aria-label={k}>{visible(v ?? "").slice(0, 20_000)}</pre></div>)}
    </aside>
  );
}
