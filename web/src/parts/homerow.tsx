// A row of the screen of all agents. It is drawn anew only when what it shows changes: while one
// scrolls, only the rows that come into sight are made.
import type { HomeRow } from "../api/types";
import { lasting, money, whole } from "../text/format";
import { oneLine } from "../text/visible";
import { memo } from "./memo";
import { Ago, Badge, Said, Second, type Tone } from "./small";

const tones: Record<string, Tone> = { working: "busy", asks: "warn", waits: "busy", idle: "quiet", done: "good", failed: "bad", interrupted: "warn", killed: "quiet" };

export interface Placed { id: string; i: number; of: number; height: number; at: boolean }

// placed is where the i-th row of a list stands. It is no transform: each would be a layer to the browser.
export const placed = ({ id, i, of, height }: Placed) =>
  ({ id, role: "option" as const, "aria-posinset": i + 1, "aria-setsize": of, style: { top: i * height + "px", height: height + "px" } });

// HomeLine shows an agent; live is the line that it writes at this moment.
export const HomeLine = memo(function HomeLine({ row: r, live, current, narrow, pick, ...place }: Placed & { row: HomeRow; live: string | undefined; current: boolean; narrow: boolean; pick: (uuid: string) => void }) {
  const gist = live ?? (r.group === "working" || r.group === "idle" ? r.said || r.asked : r.said) ?? r.asked ?? "", deep = Math.min(r.indent, 8);
  return (
    <div {...placed(place)} aria-selected={current} class={"hrow" + (place.at ? " at" : "") + (current ? " current" : "")} onClick={() => pick(r.uuid)}>
      <span class="name">
        {Array.from({ length: deep }, (_, k) => <i key={k} class={"step" + (k === deep - 1 ? (r.last ? " last" : " mid") : "")} aria-hidden="true" />)}
        {r.path.length > 0 && <span class="soft path">{oneLine(r.path.join(" \u203a "), 60)} {"\u203a "}</span>}
        <span class="label" title={oneLine(r.name, 300)}><Said text={r.name} most={80} /></span>
        {r.unread_mail > 0 && <span class="unread">{"\u2709 "}{whole(r.unread_mail)}<span class="hidden"> unread</span></span>}
        {r.folded > 0 && <span class="count">+{whole(r.folded)}</span>}
      </span>
      <span class="does"><Badge tone={tones[r.state.word] ?? "quiet"} title={oneLine(r.state.detail ?? r.state.word, 300)}>{oneLine(r.run ? r.run.run_state : r.does, 14)}</Badge></span>
      <span class="gist">{!narrow && !r.run && r.asked && r.asked !== gist && <span class="asked" title={oneLine(r.asked, 600)}><bdi>{oneLine(r.asked, 120)}</bdi></span>}<bdi>{r.run ? `${r.run.done} of ${r.run.of} done` : oneLine(gist, 200)}</bdi></span>
      <span class="model soft"><Said text={r.driver || r.model || ""} most={40} /></span>
      <span class="diff" title={oneLine(r.change?.branch ?? "", 200)}>{r.change && (r.change.files > 0 ? <><span class="good">+{whole(r.change.added)}</span> <span class="bad">{"\u2212"}{whole(r.change.removed)}</span> </> : <span class="soft">no change </span>)}{r.change && <span class="soft branch">{oneLine(r.change.branch, 60)}</span>}</span>
      <span class="num cost">{money(r.spent.cost_nano_usd)}</span>
      <span class="num age">{r.ticks ? <Second of={(t) => lasting(Math.max(0, Math.floor((t - Date.parse(r.since)) / 1000) * 1000))} /> : <Ago at={r.since} />}</span>
    </div>
  );
});
