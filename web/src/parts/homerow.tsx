// A row of the screen of all agents. It is drawn anew only when what it shows changes: while one
// scrolls, only the rows that come into sight are made; it has few parts of its own, for each takes time.
import type { HomeRow } from "../api/types";
import { age, called, lasting, money, whole } from "../text/format";
import { oneLine } from "../text/visible";
import { memo } from "./memo";
import type { Tone } from "./small";

const tones: Record<string, Tone> = { working: "busy", asks: "warn", waits: "busy", idle: "quiet", done: "good", failed: "bad", interrupted: "warn", killed: "quiet" };

// cut says that a text may not fit into its column: so many letters do, whatever they are.
const cut = (text: string, most: number) => (text.length > most || /[^ -~]/.test(text) ? " cut" : "");

export interface Placed { id: string; i: number; of: number; at: boolean }

// placed is the place of the i-th row in a list. Only the one that the cursor is on is called by its id.
export const placed = ({ id, i, of, at }: Placed) => ({ id: at ? id : undefined, role: "option" as const, "aria-posinset": i + 1, "aria-setsize": of });

// HomeLine shows an agent; live is the line that it writes at this moment, lasts for how long it is as it is.
export const HomeLine = memo(function HomeLine({ row: r, live, lasts, current, narrow, pick, ...place }: Placed & { row: HomeRow; live: string | undefined; lasts: string; current: boolean; narrow: boolean; pick: (uuid: string) => void }) {
  const gist = live ?? (r.group === "working" || r.group === "idle" ? r.said || r.asked : r.said) ?? r.asked ?? "", deep = Math.min(r.indent, 8);
  const long = cut(r.name, 16 - 2 * deep), model = r.driver || r.model || "", { change } = r;
  return (
    <div {...placed(place)} aria-selected={current} class={"hrow" + (place.at ? " at" : "") + (current ? " current" : "")} onClick={() => pick(r.uuid)}>
      <span class="name">
        {deep > 0 && <i class={"step" + (r.last ? " last" : " mid")} style={{ marginLeft: 14 * (deep - 1) + "px" }} aria-hidden="true" />}
        {r.path.length > 0 && <span class="soft path">{oneLine(r.path.map((name) => called(name)).join(" \u203a "), 60)} {"\u203a "}</span>}
        <span class={"label" + long} title={long && oneLine(r.name, 300)}>{oneLine(called(r.name), 80)}</span>
        {r.unread_mail > 0 && <span class="unread">{"\u2709 "}{whole(r.unread_mail)}<span class="hidden"> unread</span></span>}
        {r.folded > 0 && <span class="count">+{whole(r.folded)}</span>}
      </span>
      <span class={"does badge " + (tones[r.state.word] ?? "quiet")} title={oneLine(r.state.detail ?? "", 300)}><i aria-hidden="true" />{oneLine(r.run ? r.run.run_state : r.does, 14)}</span>
      <span class="gist">{!narrow && !r.run && r.asked && r.asked !== gist && <span class="asked" title={oneLine(r.asked, 600)}>{oneLine(r.asked, 120)}</span>}{r.run ? `${r.run.done} of ${r.run.of} done` : oneLine(gist, 200)}</span>
      {!narrow && <span class={"model soft" + cut(model, 13)}>{oneLine(model, 40)}</span>}
      {!narrow && <span class={"diff" + (change ? cut(`+${change.added} -${change.removed} ${change.branch}`, 20) : "")} title={oneLine(change?.branch ?? "", 200)}>{change && (change.files > 0 ? <><span class="good">+{whole(change.added)}</span> <span class="bad">{"\u2212"}{whole(change.removed)}</span> </> : <span class="soft">no change </span>)}{change && <span class="soft branch">{oneLine(change.branch, 60)}</span>}</span>}
      <span class="num cost">{money(r.spent.cost_nano_usd)}</span>
      {!narrow && <span class="num age">{lasts}</span>}
    </div>
  );
});

// since says for how long an agent is as it is: by the second while it works.
export const since = (r: HomeRow, now: number) => (r.ticks ? lasting(Math.max(0, Math.floor((now - Date.parse(r.since)) / 1000) * 1000)) : r.since ? age(r.since, now) : "\u2014");
