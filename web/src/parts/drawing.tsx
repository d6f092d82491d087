// The picture of the lineage, in pieces of a few lanes. A piece is drawn once, and its lines of one kind are
// one path: a thousand agents are some hundred elements, and no path is so long that all of it is
// computed again for each spot of the screen.
import type { LineageAgent, LineagePoint } from "../api/types";
import { time } from "../text/format";
import type { Arc, Lane, Picture } from "../text/lineage";
import { oneLine } from "../text/visible";
import { memo } from "./memo";
import type { Tone } from "./small";

export type Act = (e: { shiftKey: boolean }, a: LineageAgent, message?: number) => void;

export const tones: Record<string, Tone> = { working: "busy", asks: "warn", waits: "busy", idle: "quiet", done: "good", failed: "bad", interrupted: "warn", killed: "quiet" };
export const glyphs: Record<string, string> = { mark: "\u25c6", rewind: "\u21b6", clear: "\u25cb", compact: "\u25a3" };
// stopped says that an agent was killed before it was done: who is done is dead too.
export const stopped = (a: LineageAgent) => a.killed && a.state.word !== "done";

const verbs: Record<string, string> = { mark: "mark", rewind: "rewinds", clear: "clears its context", compact: "compacts its context" };

// says is a point in words.
function says(p: LineagePoint): string {
  const label = p.text ? " " + oneLine(p.text, 80) : "";
  if (p.kind === "rewind") return `rewinds to ${p.text ? oneLine(p.text, 80) : "message " + p.target_id}, ${time(p.at)}`;
  return (verbs[p.kind] ?? p.kind) + label + ", " + time(p.at);
}

const many = 8; // lanes of a piece

interface Place { all: Picture; height: number; left: number; width: number }

// Drawing is the picture of the lanes from first on, before end.
export function Drawing({ first, end, named, act, ...place }: Place & { first: number; end: number; named: boolean; act: Act }) {
  const from = Math.floor(first / many), to = Math.ceil(end / many), slots = Math.max(16, to - from);
  // A piece takes over the elements of one that went, as the rows of a list do: none is made or moved.
  const pieces = Array.from({ length: slots }, (_, slot) => from + ((slot - from % slots + slots) % slots));
  return (
    <>
      <Through {...place} from={from * many} to={to * many} />
      {pieces.map((n, slot) => n < to && <Piece key={slot} {...place} from={n * many} named={named} act={act} />)}
    </>
  );
}

// scale is where a part of the time and a row stand, in a picture that begins with a row.
const scale = ({ height, left, width }: Place, from: number) => ({ x: (p: number) => left + p * width, y: (row: number) => (row - from) * height + height / 2 });

// lower is the row at which a letter ends or begins that is further below: its piece draws it.
const lower = (a: Arc) => Math.max(a.to.row, a.from?.row ?? 0);

function branch(up: Lane, l: Lane, at: number, y: (row: number) => number, bend: number): string {
  return `M${at - bend} ${y(up.row)}Q${at} ${y(up.row)} ${at} ${y(up.row) + bend}V${y(l.row) - bend}Q${at} ${y(l.row)} ${at + bend} ${y(l.row)}`;
}

function bow(a: Arc, at: number, y: (row: number) => number, height: number): string {
  const from = a.from ?? a.to;
  if (from === a.to) return `M${at - 6} ${y(a.to.row) - height / 2}L${at} ${y(a.to.row)}`;
  return `M${at} ${y(from.row)}Q${at + 10 + Math.min(60, Math.abs(from.row - a.to.row) * 3)} ${(y(from.row) + y(a.to.row)) / 2} ${at} ${y(a.to.row)}`;
}

const letters = (arcs: Arc[], read: boolean, d: (a: Arc) => string) => arcs.filter((a) => a.letter.read === read).map(d).join("");

const Piece = memo(function Piece({ from, named, act, ...place }: Place & { from: number; named: boolean; act: Act }) {
  const { all, height } = place, { x, y } = scale(place, from), lanes = all.lanes.slice(from, from + many), bend = Math.min(8, height / 2);
  const lines: Record<string, string> = {};
  let forks = "", kills = "", backs = "";
  for (const l of lanes) {
    const tone = l.agent.killed ? "dead" : tones[l.agent.state.word] ?? "quiet", up = l.agent.parent_uuid ? all.of.get(l.agent.parent_uuid) : undefined;
    lines[tone] = (lines[tone] ?? "") + `M${x(l.from)} ${y(l.row)}H${Math.max(x(l.until), x(l.from) + 2)}`;
    if (up) forks += branch(up, l, x(l.from), y, bend);
    if (stopped(l.agent)) {
      const r = Math.max(1, Math.min(5, height / 2 - 1)), cx = x(l.until), cy = y(l.row);
      kills += `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}`;
    }
    for (const p of l.points) if (p.back !== null) backs += `M${x(p.x)} ${y(l.row)}Q${(x(p.x) + x(p.back)) / 2} ${y(l.row) - height * 0.8} ${x(p.back)} ${y(l.row)}`;
  }
  const arcs = all.arcs.filter((a) => lower(a) >= from && lower(a) < from + many), d = (a: Arc) => bow(a, x(a.x), y, height);
  return (
    <svg class="drawing" aria-hidden="true" width={x(1) + 24} height={lanes.length * height} style={{ top: from * height + "px" }}>
      {forks && <path class="fork" d={forks} />}
      {Object.entries(lines).map(([tone, d]) => <path key={tone} class={"life " + tone} stroke-width={Math.min(3, height * 0.75)} d={d} />)}
      {arcs.length > 0 && <><path class="mail" d={letters(arcs, true, d)} /><path class="mail unread" d={letters(arcs, false, d)} /></>}
      {backs && <path class="back" d={backs} />}{kills && <path class="kill" d={kills} />}
      {lanes.flatMap((l) => l.points.map(({ point, x: p }) => named
        ? <text key={point.message_id} class={"point " + point.kind} x={x(p)} y={y(l.row)} onClick={(e) => { e.stopPropagation(); act(e, l.agent, point.message_id); }}><title>{oneLine(l.agent.name, 80) + " " + says(point)}</title>{glyphs[point.kind] ?? "\u25cf"}</text>
        : <circle key={point.message_id} class={"point " + point.kind} cx={x(p)} cy={y(l.row)} r={Math.max(1.5, height / 4)} />))}
    </svg>
  );
});

// Through is what passes through the lanes in sight and ends below them, and where the line has pauses.
const Through = memo(function Through({ from, to, ...place }: Place & { from: number; to: number }) {
  const { all, height } = place, { x, y } = scale(place, from), last = Math.min(to, all.lanes.length), bend = Math.min(8, height / 2), tall = (last - from) * height;
  let forks = "";
  for (const l of all.lanes.slice(to)) {
    const up = l.agent.parent_uuid ? all.of.get(l.agent.parent_uuid) : undefined;
    if (!up || up.row >= to) continue;
    const at = x(l.from);
    forks += up.row < from ? `M${at} 0V${tall}` : `M${at - bend} ${y(up.row)}Q${at} ${y(up.row)} ${at} ${y(up.row) + bend}V${tall}`;
  }
  const arcs = all.arcs.filter((a) => lower(a) >= to && Math.min(a.to.row, a.from?.row ?? a.to.row) < to), d = (a: Arc) => bow(a, x(a.x), y, height);
  return (
    <svg class="drawing through" aria-hidden="true" width={x(1) + 24} height={tall} style={{ top: from * height + "px" }}>
      {all.time.pauses.map((p) => <path key={p} class="pause" d={`M${x(p)} 0V${tall}`} />)}
      {forks && <path class="fork" d={forks} />}
      {arcs.length > 0 && <><path class="mail" d={letters(arcs, true, d)} /><path class="mail unread" d={letters(arcs, false, d)} /></>}
    </svg>
  );
});
