// Where everything of the lineage stands: a lane for each agent, time to the right.
import type { Lineage, LineageAgent, LineageLetter, LineagePoint } from "../api/types";

export interface Lane { agent: LineageAgent; row: number; indent: number; from: number; until: number; points: { point: LineagePoint; x: number; back: number | null }[] }
export interface Arc { letter: LineageLetter; from: Lane | null; to: Lane; x: number }
export interface Picture { lanes: Lane[]; of: Map<string, Lane>; arcs: Arc[]; time: Scale }

// Scale turns moments into places from 0 to 1 and back. A time in which nothing happened at all takes
// no more room than a long breath: a night does not push what was done into a corner.
export class Scale {
  private readonly at: number[];
  private readonly place: number[] = [0];
  readonly pauses: number[] = []; // places where time was left out

  constructor(moments: number[]) {
    this.at = [...new Set(moments.filter(Number.isFinite))].sort((a, b) => a - b);
    if (this.at.length === 0) this.at.push(0);
    if (this.at.length === 1) this.at.push(this.at[0]! + 1000);
    const gaps = this.at.slice(1).map((t, i) => t - this.at[i]!);
    const sorted = [...gaps].sort((a, b) => a - b), sum = gaps.reduce((a, b) => a + b, 0);
    // As long as nothing is left out: a twentieth of all, but never less than twenty times the usual gap.
    const most = Math.max(sum / 20, 20 * (sorted[Math.floor(sorted.length / 2)] ?? 0), 1000);
    let end = 0;
    const cut: number[] = [];
    for (const [i, gap] of gaps.entries()) {
      if (gap > 2 * most) cut.push(i);
      end += gap > 2 * most ? most : gap;
      this.place.push(end);
    }
    for (const i of this.place.keys()) this.place[i]! /= end || 1;
    this.pauses = cut.map((i) => (this.place[i]! + this.place[i + 1]!) / 2);
  }

  x(t: number): number { return between(t, this.at, this.place); }
  when(x: number): number { return between(x, this.place, this.at); }
}

// between goes along two lists of the same length: where `v` lies in the first, there in the second.
function between(v: number, from: number[], to: number[]): number {
  let low = 0, high = from.length - 1;
  if (!(v > from[0]!)) return to[0]!;
  if (v >= from[high]!) return to[high]!;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (from[mid]! <= v) low = mid;
    else high = mid;
  }
  const part = (v - from[low]!) / (from[high]! - from[low]! || 1);
  return to[low]! + part * (to[high]! - to[low]!);
}

// picture lays the lanes out: children below their parent, the youngest first. So the branch to a child
// goes down before its younger brothers began, and crosses nobody.
export function picture(l: Lineage): Picture {
  const moments: number[] = [], parse = (t: string) => { const at = Date.parse(t); moments.push(at); return at; };
  const known = new Set(l.agents.map((a) => a.uuid)), below = new Map<string, LineageAgent[]>(), times = new Map<string, [number, number]>();
  for (const a of l.agents) {
    times.set(a.uuid, [parse(a.from), parse(a.until)]);
    const parent = a.parent_uuid && known.has(a.parent_uuid) ? a.parent_uuid : "";
    const list = below.get(parent);
    if (list) list.push(a);
    else below.set(parent, [a]);
  }
  for (const p of l.points) parse(p.at);
  for (const m of l.letters) parse(m.at);
  const time = new Scale(moments), lanes: Lane[] = [], of = new Map<string, Lane>();
  const stack = [...(below.get("") ?? [])].reverse().map((agent) => ({ agent, indent: 0 }));
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { agent, indent } = next, [from, until] = times.get(agent.uuid)!;
    const lane: Lane = { agent, indent, row: lanes.length, from: time.x(from), until: time.x(until), points: [] };
    lanes.push(lane);
    of.set(agent.uuid, lane);
    const kids = below.get(agent.uuid) ?? []; // oldest first: the youngest is taken first
    for (const kid of kids) stack.push({ agent: kid, indent: indent + 1 });
  }
  for (const point of l.points) of.get(point.agent_uuid)?.points.push({ point, x: time.x(Date.parse(point.at)), back: point.target_at ? time.x(Date.parse(point.target_at)) : null });
  const arcs: Arc[] = [];
  for (const letter of l.letters) {
    const to = of.get(letter.to_uuid), from = of.get(letter.about_uuid ?? letter.from_uuid ?? "") ?? null;
    if (to) arcs.push({ letter, from, to, x: time.x(Date.parse(letter.at)) });
  }
  // A line goes on at least as far as what happened on it.
  const reach = (lane: Lane | null | undefined, x: number) => { if (lane && !lane.agent.killed && lane.until < x) lane.until = x; };
  for (const lane of lanes) {
    if (lane.agent.parent_uuid) reach(of.get(lane.agent.parent_uuid), lane.from);
    for (const p of lane.points) reach(lane, p.x);
  }
  for (const arc of arcs) if (!arc.letter.about_uuid) reach(arc.from, arc.x);
  return { lanes, of, arcs, time };
}

// ticks are moments for the axis: so many at most, at places that are far enough from each other.
export function ticks(time: Scale, many: number): number[] {
  return Array.from({ length: many + 1 }, (_, i) => time.when(i / many));
}
