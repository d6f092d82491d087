// The lineage as a graph: a lane for each agent, time to the right; forks branch off, letters are arcs,
// marks, rewinds and kills stand where they happened. A click reads what is there, with Shift it forks.
import { useCallback, useId, useMemo, useState } from "preact/hooks";
import type { Lineage } from "../api/types";
import { useCell } from "../cell";
import { useLineage } from "../lineage";
import { go } from "../route";
import { called, clock, money, plural, time, whole } from "../text/format";
import { picture, ticks, type Lane, type Picture } from "../text/lineage";
import { oneLine } from "../text/visible";
import { agents } from "../world";
import { ForkDialog, KillDialog } from "./dialogs";
import { Drawing, glyphs, stopped, tones, type Act } from "./drawing";
import { memo } from "./memo";
import { Blocks } from "./rows";
import { Badge, Empty, Failure, Loading, Said } from "./small";
import { useWide } from "./wide";
import { usePlace, useWindow, type Place } from "./window";
import { useSize } from "./chart";

const heights = [4, 10, 26]; // of a lane, at most: all at a glance, closer, with names

const axis = 28; // pixels

const dayForm = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
// moment is a time on the axis; with its day, where there are several.
const moment = (t: number, span: number) => (span > 72e6 ? dayForm.format(t) : clock(new Date(t).toISOString()));

// tells is an agent in words, for readers and titles.
function tells(lane: Lane, letters: number): string {
  const a = lane.agent, s = stopped(a) ? "killed" + (a.end_reason ? ": " + oneLine(a.end_reason, 80) : "") : a.state.word;
  return `${oneLine(called(a.name, a.run), 80)}, ${s}, since ${time(a.from)}, ${plural(a.own_messages, "message")}, ${money(a.spent.cost_nano_usd)}`
    + (lane.points.length ? ", " + plural(lane.points.length, "point") : "") + (letters ? ", " + plural(letters, "mail message") : "");
}

interface LaneProps { id: string; lane: Lane; of: number; height: number; here: boolean; chosen: boolean; letters: number; act: Act }

// LaneRow is what can be pointed at of a lane, and what readers are told of it.
const LaneRow = memo(function LaneRow({ id, lane, of, height, here, chosen, letters, act }: LaneProps) {
  const a = lane.agent, said = tells(lane, letters);
  return (
    <div id={here ? id : undefined} role="option" aria-selected={chosen} aria-posinset={lane.row + 1} aria-setsize={of} aria-label={said} title={said}
      class={"lane" + (here ? " at" : "") + (a.killed ? " dead" : "")} style={{ height: height + "px" }} onClick={(e) => act(e, a)} />
  );
});

// Name is what stands before a lane. All names are in one box that stays where it is when one goes along in
// time: to the browser, each of such boxes is a layer.
const Name = memo(function Name({ lane, step }: { lane: Lane; step: number }) {
  const a = lane.agent;
  return (
    <span class={"who" + (stopped(a) ? " dead" : a.killed ? " over" : "")} style={{ paddingLeft: Math.min(lane.indent, 10) * step + 8 + "px" }}>
      <Badge tone={tones[a.state.word] ?? "quiet"} /><Said text={called(a.name, a.run)} most={80} />
    </span>
  );
});

interface LanesProps { place: Place; all: Picture; height: number; left: number; width: number; named: boolean; over: boolean; step: number; base: string; index: number; at: string; post: ReadonlyMap<string, number>; act: Act }

// Lanes are those that are drawn.
const Lanes = memo(function Lanes({ place, all, height, left, width, named, over, step, base, index, at, post, act }: LanesProps) {
  const count = all.lanes.length, w = useWindow(place.box, count, height);
  const lane = useCallback((i: number) => {
    const lane = all.lanes[i]!, { uuid } = lane.agent;
    return <LaneRow id={`${base}-${i}`} lane={lane} of={count} height={height} here={i === index} chosen={uuid === at} letters={post.get(uuid) ?? 0} act={act} />;
  }, [all, height, base, index, at, post, act]);
  const name = useCallback((i: number) => <Name lane={all.lanes[i]!} step={step} />, [all, step]);
  return (
    <>
      <Drawing all={all} first={w.first} end={w.end} height={height} left={left} width={width} named={named} act={act} />
      <Blocks of={w} count={count} row={height} draw={lane} />
      {named && <div class={"names" + (over ? " over" : "")} aria-hidden="true"><Blocks of={w} count={count} row={height} width={left - 8} draw={name} /></div>}
    </>
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
  const w = usePlace(height, axis);
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
        <span class="soft" role="status">{plural(lanes.length, "agent")}, {whole(dead)} dead {"\u00b7"} {plural(drawn.arcs.length, "mail message")}{lineage.more && ", older ones are left out"}</span>
        <span class="legend" aria-hidden="true"><span><b class="arcs">{"\u2312"}</b> mail</span><span><b>{glyphs.mark}</b> mark</span><span><b>{glyphs.rewind}</b> rewind</span><span><b class="bad">{"\u2715"}</b> kill</span></span>
      </div>
      <div class="rows graph" ref={(el) => { w.box.current = el; box.current = el; }} role="listbox" aria-label="Agents in time" tabIndex={0} aria-activedescendant={`${base}-${index}`} onKeyDown={key} onFocus={() => w.show(index)}>
        <div class="axis" aria-hidden="true" style={{ width: x(1) + 24 + "px" }}>
          {ticks(drawn.time, Math.max(1, Math.floor(width / 150))).map((t, i, all) => <span key={i} class={i === all.length - 1 ? "last" : ""} style={{ left: x(drawn.time.x(t)) + "px" }}>{moment(t, all.at(-1)! - all[0]!)}</span>)}
        </div>
        <div class="space" role="presentation" style={{ height: lanes.length * height + "px", width: x(1) + 24 + "px" }}>
          <Lanes place={w} all={drawn} height={height} left={left} width={width} named={named} over={zoom > 1} step={wide ? 10 : 5} base={base} index={index} at={at} post={post} act={act} />
        </div>
      </div>
      <p class="keys soft small" aria-hidden="true">Click to read, <kbd>Shift</kbd>+click to fork <kbd>Enter</kbd> read <kbd>f</kbd> fork <kbd>k</kbd> kill</p>
      {forked && fork && <ForkDialog a={forked} at={fork.at} close={() => setFork(null)} />}
      {killed && <KillDialog a={killed} close={() => setKill("")} />}
    </section>
  );
}
