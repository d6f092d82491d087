// The lineage as a graph: a lane for each agent, time to the right; forks branch off, letters are arcs,
// marks, rewinds and kills stand where they happened. A click reads what is there, with Shift it forks.
import { useCallback, useId, useMemo, useState } from "preact/hooks";
import type { Lineage } from "../api/types";
import { useCell } from "../cell";
import { useLineage } from "../lineage";
import { go } from "../route";
import { clock, money, plural, time, whole } from "../text/format";
import { picture, ticks, type Lane } from "../text/lineage";
import { oneLine } from "../text/visible";
import { agents } from "../world";
import { ForkDialog, KillDialog } from "./dialogs";
import { Drawing, glyphs, tones, type Act } from "./drawing";
import { memo } from "./memo";
import { Badge, Empty, Failure, Loading, Said } from "./small";
import { useWide } from "./wide";
import { useWindow } from "./window";
import { useSize } from "./chart";

const heights = [4, 10, 26]; // of a lane, at most: all at a glance, closer, with names

const axis = 28; // pixels

const dayForm = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
// moment is a time on the axis; with its day, where there are several.
const moment = (t: number, span: number) => (span > 72e6 ? dayForm.format(t) : clock(new Date(t).toISOString()));

// tells is an agent in words, for readers and titles.
function tells(lane: Lane, letters: number): string {
  const a = lane.agent, s = a.killed ? "killed" + (a.end_reason ? ": " + oneLine(a.end_reason, 80) : "") : a.state.word;
  return `${oneLine(a.name, 80)}, ${s}, since ${time(a.from)}, ${plural(a.own_messages, "message")}, ${money(a.spent.cost_nano_usd)}`
    + (lane.points.length ? ", " + plural(lane.points.length, "point") : "") + (letters ? ", " + plural(letters, "letter") : "");
}

interface LaneProps { id: string; lane: Lane; of: number; height: number; here: boolean; chosen: boolean; letters: number; act: Act }

// LaneRow is what can be pointed at of a lane, and what readers are told of it.
const LaneRow = memo(function LaneRow({ id, lane, of, height, here, chosen, letters, act }: LaneProps) {
  const a = lane.agent, said = tells(lane, letters);
  return (
    <div id={id} role="option" aria-selected={chosen} aria-posinset={lane.row + 1} aria-setsize={of} aria-label={said} title={said}
      class={"lane" + (here ? " at" : "") + (a.killed ? " dead" : "")} style={{ top: lane.row * height + "px", height: height + "px" }} onClick={(e) => act(e, a)} />
  );
});

// Name is what stands before a lane. All names are in one box that stays where it is when one goes along in
// time: to the browser, each of such boxes is a layer.
const Name = memo(function Name({ lane, height, width, step }: { lane: Lane; height: number; width: number; step: number }) {
  const a = lane.agent;
  return (
    <span class={"who" + (a.killed ? " dead" : "")} style={{ top: lane.row * height + "px", height: height + "px", width: width + "px", paddingLeft: Math.min(lane.indent, 10) * step + 8 + "px" }}>
      <Badge tone={tones[a.state.word] ?? "quiet"} /><Said text={a.name} most={80} />
    </span>
  );
});

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
  const [box, room, tall] = useSize(), lanes = drawn.lanes, named = size === 2;
  // All at a glance are all: the more there are, the thinner they become.
  const height = size > 0 ? heights[size]! : Math.max(0.5, Math.min(heights[0]!, Math.floor(((tall - axis) / lanes.length) * 64) / 64));
  const w = useWindow(lanes.length, height, axis);
  const left = wide ? 220 : 116, width = Math.max(120, (room - left - 24) * zoom);
  const found = lanes.findIndex((l) => l.agent.uuid === at), index = Math.max(0, found), here = lanes[index];

  const act = useCallback<Act>((e, a, message) => {
    setAt(a.uuid);
    if (!e.shiftKey) go(["agents", a.uuid], message ? { at: String(message) } : {});
    else if (!a.killed) setFork({ uuid: a.uuid, at: message ?? 0 });
  }, []);
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

  const x = (p: number) => left + p * width;
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
          <Drawing all={drawn} first={w.first} end={w.end} height={height} left={left} width={width} named={named} act={act} />
          {lanes.slice(w.first, w.end).map((lane, n) => {
            const i = w.first + n, uuid = lane.agent.uuid;
            return <LaneRow key={uuid} id={`${base}-${i}`} lane={lane} of={lanes.length} height={height} here={i === index} chosen={uuid === at} letters={post.get(uuid) ?? 0}
              act={act} />;
          })}
          {named && <div class={"names" + (zoom > 1 ? " over" : "")} aria-hidden="true">{lanes.slice(w.first, w.end).map((lane) => <Name key={lane.agent.uuid} lane={lane} height={height} width={left - 8} step={wide ? 10 : 5} />)}</div>}
        </div>
      </div>
      <p class="keys soft small" aria-hidden="true">A click reads, <kbd>Shift</kbd>+click forks <kbd>Enter</kbd> read <kbd>f</kbd> fork <kbd>k</kbd> kill</p>
      {forked && fork && <ForkDialog a={forked} at={fork.at} close={() => setFork(null)} />}
      {killed && <KillDialog a={killed} close={() => setKill("")} />}
    </section>
  );
}
