// The lineage as a graph: a lane for each agent, time to the right; forks branch off, letters are arcs,
// marks, rewinds and kills stand where they happened. A click reads what is there, with Shift it forks.
import { useId, useMemo, useState } from "preact/hooks";
import type { Lineage, LineageAgent, LineagePoint } from "../api/types";
import { useCell } from "../cell";
import { useLineage } from "../lineage";
import { go } from "../route";
import { clock, money, plural, time, whole } from "../text/format";
import { picture, ticks, type Lane } from "../text/lineage";
import { oneLine } from "../text/visible";
import { agents } from "../world";
import { ForkDialog, KillDialog } from "./dialogs";
import { Badge, Empty, Failure, Loading, Said, type Tone } from "./small";
import { useWide } from "./wide";
import { useWindow } from "./window";
import { useWidth } from "./chart";

const tones: Record<string, Tone> = { working: "busy", asks: "warn", waits: "busy", idle: "quiet", done: "good", failed: "bad", interrupted: "warn", killed: "quiet" };
const heights = [4, 10, 26]; // of a lane: all at a glance, closer, with names
const glyphs: Record<string, string> = { mark: "\u25c6", rewind: "\u21b6", clear: "\u25cb", compact: "\u25a3" };
const verbs: Record<string, string> = { mark: "mark", rewind: "rewinds", clear: "clears its context", compact: "compacts its context" };

const dayForm = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
// moment is a time on the axis; with its day, where there are several.
const moment = (t: number, span: number) => (span > 72e6 ? dayForm.format(t) : clock(new Date(t).toISOString()));

// says is a point in words.
export function says(p: LineagePoint): string {
  const label = p.text ? " " + oneLine(p.text, 80) : "";
  if (p.kind === "rewind") return `rewinds to ${p.text ? oneLine(p.text, 80) : "message " + p.target_id}, ${time(p.at)}`;
  return (verbs[p.kind] ?? p.kind) + label + ", " + time(p.at);
}

// tells is an agent in words, for readers and titles.
function tells(lane: Lane, letters: number): string {
  const a = lane.agent, s = a.killed ? "killed" + (a.end_reason ? ": " + oneLine(a.end_reason, 80) : "") : a.state.word;
  return `${oneLine(a.name, 80)}, ${s}, since ${time(a.from)}, ${plural(a.own_messages, "message")}, ${money(a.spent.cost_nano_usd)}`
    + (lane.points.length ? ", " + plural(lane.points.length, "point") : "") + (letters ? ", " + plural(letters, "letter") : "");
}

export function LineageGraph() {
  const now = useLineage();
  if (now.state === "loading") return <Loading what="the lineage" />;
  if (now.state === "failed" || !now.lineage) return <Failure error={now.error} />;
  if (now.lineage.agents.length === 0) return <Empty title="No agents yet."><p>Start one with <code>ramet</code> or <code>ramet exec "hello"</code>.</p></Empty>;
  return <Graph lineage={now.lineage} />;
}

function Graph({ lineage }: { lineage: Lineage }) {
  const world = useCell(agents), wide = useWide(720), base = useId();
  const [size, setSize] = useState(2), [zoom, setZoom] = useState(1), [at, setAt] = useState("");
  const [fork, setFork] = useState<{ uuid: string; at: number } | null>(null), [kill, setKill] = useState("");
  const drawn = useMemo(() => picture(lineage), [lineage]);
  const post = useMemo(() => {
    const out = new Map<string, number>();
    for (const arc of drawn.arcs) for (const lane of [arc.from, arc.to]) if (lane) out.set(lane.agent.uuid, (out.get(lane.agent.uuid) ?? 0) + 1);
    return out;
  }, [drawn]);
  const height = heights[size]!, named = size === 2, lanes = drawn.lanes;
  const w = useWindow(lanes.length, height, 28), [box, room] = useWidth();
  const left = wide ? 220 : 116, width = Math.max(120, (room - left - 24) * zoom);
  const found = lanes.findIndex((l) => l.agent.uuid === at), index = Math.max(0, found), here = lanes[index];

  const read = (uuid: string, message?: number) => go(["agents", uuid], message ? { at: String(message) } : {});
  const act = (e: { shiftKey: boolean }, a: LineageAgent, message?: number) => {
    setAt(a.uuid);
    if (!e.shiftKey) read(a.uuid, message);
    else if (!a.killed) setFork({ uuid: a.uuid, at: message ?? 0 });
  };
  const move = (i: number) => {
    const n = Math.max(0, Math.min(lanes.length - 1, i)), lane = lanes[n];
    if (!lane) return;
    setAt(lane.agent.uuid);
    w.show(n);
  };
  const key = (e: KeyboardEvent) => {
    if (!here || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor((w.box.current?.clientHeight ?? 400) / height) - 2);
    switch (e.key) {
      case "ArrowDown": move(index + 1); break;
      case "ArrowUp": move(index - 1); break;
      case "PageDown": move(index + page); break;
      case "PageUp": move(index - page); break;
      case "Home": move(0); break;
      case "End": move(lanes.length - 1); break;
      case "Enter": act(e, here.agent); break;
      case "f": if (!here.agent.killed) setFork({ uuid: here.agent.uuid, at: 0 }); break;
      case "k": if (!here.agent.killed && here.agent.parent_uuid) setKill(here.agent.uuid); break;
      default: return;
    }
    e.preventDefault();
  };

  const y = (row: number) => (row - w.first) * height + height / 2, x = (p: number) => left + p * width;
  const forked = fork && world.all.get(fork.uuid), killed = kill && world.all.get(kill);
  const dead = lanes.filter((l) => l.agent.killed).length;
  return (
    <section class="lineage" aria-label="Lineage">
      <div class="tools">
        <div class="tabs" role="group" aria-label="Height of a lane">{["All", "Closer", "Names"].map((word, i) => <button key={word} type="button" aria-pressed={size === i} onClick={() => setSize(i)}>{word}</button>)}</div>
        <span class="buttons"><button type="button" aria-label="Less time" onClick={() => setZoom(Math.min(32, zoom * 2))}>+</button><button type="button" aria-label="More time" disabled={zoom === 1} onClick={() => setZoom(Math.max(1, zoom / 2))}>{"\u2212"}</button></span>
        <span class="soft" role="status">{plural(lanes.length, "agent")}, {whole(dead)} dead {"\u00b7"} {plural(drawn.arcs.length, "letter")}{lineage.more && ", older ones are left out"}</span>
        <span class="legend" aria-hidden="true"><span><b class="arcs">{"\u2312"}</b> mail</span><span><b>{glyphs.mark}</b> mark</span><span><b>{glyphs.rewind}</b> rewind</span><span><b class="bad">{"\u2715"}</b> kill</span></span>
      </div>
      <div class="rows graph" ref={(el) => { w.box.current = el; box.current = el; }} role="listbox" aria-label="Agents in time" tabIndex={0} aria-activedescendant={`${base}-${index}`} onKeyDown={key} onFocus={() => w.show(index)}>
        <div class="axis" aria-hidden="true" style={{ width: x(1) + 24 + "px" }}>
          {ticks(drawn.time, Math.max(1, Math.floor(width / 150))).map((t, i, all) => <span key={i} class={i === all.length - 1 ? "last" : ""} style={{ left: x(drawn.time.x(t)) + "px" }}>{moment(t, all.at(-1)! - all[0]!)}</span>)}
        </div>
        <div class="space" role="presentation" style={{ height: w.height + "px", width: x(1) + 24 + "px" }}>
          <Drawing lanes={lanes.slice(w.first, w.end)} all={drawn} first={w.first} end={w.end} height={height} x={x} y={y} named={named} act={act} />
          {lanes.slice(w.first, w.end).map((lane, n) => {
            const i = w.first + n, a = lane.agent;
            return (
              <div key={a.uuid} id={`${base}-${i}`} role="option" aria-selected={a.uuid === at} aria-posinset={i + 1} aria-setsize={lanes.length} aria-label={tells(lane, post.get(a.uuid) ?? 0)}
                class={"lane" + (i === index ? " at" : "") + (a.killed ? " dead" : "")} style={{ transform: `translateY(${i * height}px)`, height: height + "px" }} title={tells(lane, post.get(a.uuid) ?? 0)}
                onClick={(e) => act(e, a)}>
                {named && <span class="who" style={{ width: left - 8 + "px", paddingLeft: Math.min(lane.indent, 10) * (wide ? 10 : 5) + 8 + "px" }}><Badge tone={tones[a.state.word] ?? "quiet"} /><Said text={a.name} most={80} /></span>}
              </div>
            );
          })}
        </div>
      </div>
      <p class="keys soft small" aria-hidden="true">A click reads, <kbd>Shift</kbd>+click forks <kbd>Enter</kbd> read <kbd>f</kbd> fork <kbd>k</kbd> kill</p>
      {forked && fork && <ForkDialog a={forked} at={fork.at} close={() => setFork(null)} />}
      {killed && <KillDialog a={killed} close={() => setKill("")} />}
    </section>
  );
}

interface Drawn { lanes: Lane[]; all: ReturnType<typeof picture>; first: number; end: number; height: number; x: (p: number) => number; y: (row: number) => number; named: boolean; act: (e: MouseEvent, a: LineageAgent, message?: number) => void }

// Drawing is the picture of the lanes in sight. Lines of one kind are one path: a thousand agents are
// a handful of elements.
function Drawing({ lanes, all, first, end, height, x, y, named, act }: Drawn) {
  const lines: Record<string, string> = {};
  let forks = "", kills = "", backs = "";
  for (const l of lanes) {
    const tone = l.agent.killed ? "dead" : tones[l.agent.state.word] ?? "quiet";
    lines[tone] = (lines[tone] ?? "") + `M${x(l.from)} ${y(l.row)}H${Math.max(x(l.until), x(l.from) + 2)}`;
    if (l.agent.killed) {
      const r = Math.min(5, height / 2 - 1), cx = x(l.until), cy = y(l.row);
      kills += `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}`;
    }
    for (const p of l.points) if (p.back !== null) backs += `M${x(p.x)} ${y(l.row)}Q${(x(p.x) + x(p.back)) / 2} ${y(l.row) - height * 0.8} ${x(p.back)} ${y(l.row)}`;
  }
  // A branch is drawn if any of it is in sight.
  for (const l of all.lanes) {
    const up = l.agent.parent_uuid ? all.of.get(l.agent.parent_uuid) : undefined;
    if (!up || l.row < first || up.row >= end) continue;
    const at = x(l.from), bend = Math.min(8, height / 2);
    forks += `M${at - bend} ${y(up.row)}Q${at} ${y(up.row)} ${at} ${y(up.row) + bend}V${y(l.row) - bend}Q${at} ${y(l.row)} ${at + bend} ${y(l.row)}`;
  }
  let read = "", unread = "";
  for (const a of all.arcs) {
    const from = a.from ?? a.to;
    if (Math.min(from.row, a.to.row) >= end || Math.max(from.row, a.to.row) < first) continue;
    const at = x(a.x), bow = 10 + Math.min(60, Math.abs(from.row - a.to.row) * 3);
    const d = from === a.to ? `M${at - 6} ${y(a.to.row) - height / 2}L${at} ${y(a.to.row)}` : `M${at} ${y(from.row)}Q${at + bow} ${(y(from.row) + y(a.to.row)) / 2} ${at} ${y(a.to.row)}`;
    if (a.letter.read) read += d;
    else unread += d;
  }
  return (
    <svg class="drawing" aria-hidden="true" width={x(1) + 24} height={(end - first) * height} style={{ transform: `translateY(${first * height}px)` }}>
      {all.time.pauses.map((p) => <path key={p} class="pause" d={`M${x(p)} 0V${(end - first) * height}`} />)}
      <path class="fork" d={forks} />
      {Object.entries(lines).map(([tone, d]) => <path key={tone} class={"life " + tone} d={d} />)}
      <path class="mail" d={read} /><path class="mail unread" d={unread} />
      <path class="back" d={backs} /><path class="kill" d={kills} />
      {lanes.flatMap((l) => l.points.map(({ point, x: p }) => named
        ? <text key={point.message_id} class={"point " + point.kind} x={x(p)} y={y(l.row)} onClick={(e) => { e.stopPropagation(); act(e, l.agent, point.message_id); }}><title>{oneLine(l.agent.name, 80) + " " + says(point)}</title>{glyphs[point.kind] ?? "\u25cf"}</text>
        : <circle key={point.message_id} class={"point " + point.kind} cx={x(p)} cy={y(l.row)} r={Math.max(1.5, height / 4)} />))}
    </svg>
  );
}
