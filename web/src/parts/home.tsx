// The screen of all agents: who needs a person, who works, who is done, who rests. It is one stop
// for the Tab key; in it the keys act as on the terminal.
import { useCallback, useEffect, useId, useMemo, useState } from "preact/hooks";
import type { HomeRow } from "../api/types";
import { useCell } from "../cell";
import { useHome, writing } from "../home";
import { go } from "../route";
import { money, plural, whole } from "../text/format";
import { agents } from "../world";
import { ForkDialog, KillDialog } from "./dialogs";
import { HomeLine, placed, since } from "./homerow";
import { Rows } from "./rows";
import { Empty, Failure, Loading, useSecond } from "./small";
import { useWide } from "./wide";
import { usePlace } from "./window";

type Shown = { kind: "group"; group: string; count: number; hidden: number; open: boolean } | { kind: "row"; row: HomeRow };

const few = 5; // of those that are done

// lay puts the groups and their rows under each other. What is done is folded after a few, what
// rests is folded, unless it is opened or looked for.
function lay(rows: HomeRow[], open: ReadonlySet<string>, q: string): Shown[] {
  const groups = new Map<string, HomeRow[]>();
  for (const r of rows) {
    if (q && ![r.name, r.uuid, r.asked, r.said, r.model, r.driver].some((s) => (s ?? "").toLowerCase().includes(q))) continue;
    const list = groups.get(r.group);
    if (list) list.push(r);
    else groups.set(r.group, [r]);
  }
  const out: Shown[] = [], only = groups.size === 1;
  for (const [group, list] of groups) {
    const all = q !== "" || open.has(group) || only, most = all ? list.length : group === "done" ? few : group === "idle" ? 0 : list.length;
    out.push({ kind: "group", group, count: list.length, hidden: list.length - Math.min(most, list.length), open: all });
    for (const row of list.slice(0, most)) out.push({ kind: "row", row });
  }
  return out;
}

export function HomeList({ current, narrow: side }: { current?: string | undefined; narrow?: boolean | undefined }) {
  const narrow = !useWide(720) || !!side;
  const now = useHome(), world = useCell(agents), live = useCell(writing);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState(""), [at, setAt] = useState(current ?? "");
  const [dialog, setDialog] = useState<"" | "fork" | "kill">("");
  const base = useId(), height = narrow ? 46 : 40;
  const rows = now.home?.rows ?? [], q = filter.trim().toLowerCase();
  const shown = useMemo(() => lay(rows, open, q), [rows, open, q]);
  const w = usePlace(height), time = useSecond(!narrow && rows.some((r) => r.ticks));
  const found = shown.findIndex((s) => (s.kind === "row" ? s.row.uuid : s.group) === at);
  const index = found >= 0 ? found : Math.max(0, shown.findIndex((s) => s.kind === "row"));
  const here = shown[index], chosen = here?.kind === "row" ? world.all.get(here.row.uuid) : undefined;
  useEffect(() => {
    if (!current) return;
    setAt(current);
    const i = shown.findIndex((s) => s.kind === "row" && s.row.uuid === current);
    if (i >= 0) w.show(i);
  }, [current, shown.length > 0]);

  const move = (i: number) => {
    const n = Math.max(0, Math.min(shown.length - 1, i)), s = shown[n];
    if (!s) return;
    setAt(s.kind === "row" ? s.row.uuid : s.group);
    w.show(n);
  };
  const pick = useCallback((uuid: string) => {
    setAt(uuid);
    go(["agents", uuid]);
  }, []);
  const turn = (group: string) => {
    const next = new Set(open);
    if (!next.delete(group)) next.add(group);
    setOpen(next);
  };
  const key = (e: KeyboardEvent) => {
    if (!here || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor((w.box.current?.clientHeight ?? 400) / height) - 2);
    const uuid = here.kind === "row" ? here.row.uuid : "";
    switch (e.key) {
      case "ArrowDown": move(index + 1); break;
      case "ArrowUp": move(index - 1); break;
      case "PageDown": move(index + page); break;
      case "PageUp": move(index - page); break;
      case "Home": move(0); break;
      case "End": move(shown.length - 1); break;
      case "Enter": case " ":
        if (here.kind === "group") turn(here.group);
        else go(["agents", uuid], e.key === " " ? { write: "1" } : {});
        break;
      case "m": if (uuid) go(["agents", uuid], { tab: "mail" }); break;
      case "d": if (uuid) go(["agents", uuid], { tab: "files" }); break;
      case "f": if (chosen && chosen.status !== "dead") setDialog("fork"); break;
      case "k": if (chosen?.parent_uuid && chosen.status !== "dead") setDialog("kill"); break;
      default: return;
    }
    e.preventDefault();
  };

  if (now.state === "loading") return <Loading what="agents" />;
  if (now.state === "failed") return <Failure error={now.error} />;
  const budget = now.home?.budget?.cost_nano_usd;
  return (
    <section class={"home" + (narrow ? " narrow" : "")} aria-label="Agents">
      <div class="tools">
        <input type="search" aria-label="Filter agents" placeholder="Filter" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <span class="soft" role="status">{plural(now.home?.agents ?? 0, "agent")}{budget != null && <> {"\u00b7"} {money(now.home?.spent.cost_nano_usd)} of {money(budget)}</>}</span>
      </div>
      {shown.length === 0 ? <Empty title={rows.length ? "No agent matches the filter." : "No agents yet."}>{!rows.length && <p>Start one with <code>ramet</code> or <code>ramet exec "hello"</code>.</p>}</Empty> : (
        <div class="rows" ref={w.box} role="listbox" aria-label="Agents" tabIndex={0} aria-activedescendant={`${base}-${index}`} onKeyDown={key} onFocus={() => w.show(index)}>
          <div class="space" role="presentation" style={{ height: shown.length * height + "px" }}>
            <Rows place={w} count={shown.length} row={height} draw={(i) => {
              const s = shown[i]!, place = { id: `${base}-${i}`, i, of: shown.length, at: i === index };
              if (s.kind === "row") return <HomeLine {...place} row={s.row} live={live.get(s.row.uuid)} lasts={narrow ? "" : since(s.row, time)} current={s.row.uuid === current} narrow={narrow} pick={pick} />;
              return <div {...placed(place)} aria-selected={false} class={"hgroup" + (i === index ? " at" : "")} onClick={() => { setAt(s.group); turn(s.group); }}><strong>{s.group}</strong> <span class="count">{whole(s.count)}</span>{s.hidden > 0 && <span class="soft"> {"\u25b8"} {whole(s.hidden)} folded</span>}</div>;
            }} />
          </div>
        </div>
      )}
      {!narrow && <p class="keys soft small" aria-hidden="true"><kbd>Enter</kbd> open <kbd>Space</kbd> write or answer <kbd>f</kbd> fork <kbd>k</kbd> kill <kbd>m</kbd> mail <kbd>d</kbd> files <kbd>/</kbd> search</p>}
      {dialog === "fork" && chosen && <ForkDialog a={chosen} close={() => setDialog("")} />}
      {dialog === "kill" && chosen && <KillDialog a={chosen} close={() => setDialog("")} />}
    </section>
  );
}
