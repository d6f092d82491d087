// What a program that drives an agent offers its user: its own modes, models, efforts and commands, by its
// own words. A model and an effort go with what is said next, as on the terminal.
import { api } from "../api/client";
import type { Agent, Offered, Program } from "../api/types";
import { Cell, useCell } from "../cell";
import { oneLine } from "../text/visible";
import { Failure, Said, useBusy } from "./small";

export interface Wish { model?: string; effort?: string }

// wishes are what was chosen for agents; what was said to them stays, until they tell the same.
const wishes = new Cell<ReadonlyMap<string, Wish & { said?: boolean }>>(new Map());

// wishOf is what was chosen and not yet said.
export function wishOf(uuid: string): Wish {
  const { said, ...wish } = wishes.get().get(uuid) ?? {};
  return said ? {} : wish;
}

function wish(uuid: string, change: Wish) {
  const next = new Map(wishes.get());
  next.set(uuid, { ...next.get(uuid), ...change, said: false });
  wishes.set(next);
}

// said notes what went with a prompt: the agent has it now. What was chosen meanwhile goes with the next.
export function said(uuid: string, went: Wish) {
  const now = wishes.get().get(uuid);
  if (now && !now.said && now.model === went.model && now.effort === went.effort) wishes.set(new Map(wishes.get()).set(uuid, { ...now, said: true }));
}

const titled = (o: Offered) => oneLine(o.title || o.word, 60);

// Chooser is a list of what is offered. What is in use and not offered stands there too.
function Chooser({ id, label, all, value, busy, choose }: { id: string; label: string; all: Offered[]; value: string; busy?: boolean; choose: (word: string) => void }) {
  const known = all.some((o) => o.word === value), about = all.find((o) => o.word === value)?.about;
  return (
    <div>
      <dt><label for={id}>{label}</label></dt>
      <dd>
        <select id={id} disabled={busy} value={value} title={about ? oneLine(about, 300) : undefined} onChange={(e) => choose(e.currentTarget.value)}>
          {!known && <option value={value}>{value ? oneLine(value, 60) : "its own choice"}</option>}
          {all.map((o) => <option key={o.word} value={o.word}>{titled(o)}</option>)}
        </select>
      </dd>
    </div>
  );
}

// ProgramFacts are the program's own choices, beside ours.
export function ProgramFacts({ a, p, again }: { a: Agent; p: Program; again: () => void }) {
  const { busy, error, run } = useBusy(), chosen = useCell(wishes).get(a.uuid) ?? {};
  const prefix = p.driver + "/", own = (ref = "") => (ref.startsWith("driver/" + prefix) ? ref.slice(7 + prefix.length) : ref.startsWith(prefix) ? ref.slice(prefix.length) : "");
  const model = (chosen.said && own(a.model ?? "")) || own(chosen.model ?? a.model ?? "");
  return (
    <>
      <div><dt>Driven by</dt><dd><Said text={p.driver} most={60} />{p.boxed && <span class="soft"> in the box</span>}</dd></div>
      {p.modes.length > 0 && <Chooser id="program-mode" label={oneLine(p.driver, 20) + " mode"} all={p.modes} value={p.mode ?? ""} busy={busy} choose={(word) => run(async () => { await api.setMode(a.uuid, p.driver + ":" + word); again(); })} />}
      {p.models.length > 0 && <Chooser id="program-model" label={oneLine(p.driver, 20) + " model"} all={p.models} value={model} choose={(word) => wish(a.uuid, { model: "driver/" + prefix + word })} />}
      {p.efforts.length > 0 && <Chooser id="program-effort" label="Effort" all={p.efforts} value={chosen.effort ?? ""} choose={(effort) => wish(a.uuid, { effort })} />}
      {(chosen.model || chosen.effort) && !chosen.said && <div class="soft"><dt class="hidden">Chosen</dt><dd><span role="status">applies from your next message</span></dd></div>}
      {error != null && <div><dt class="hidden">Refused</dt><dd><Failure error={error} /></dd></div>}
    </>
  );
}

// Commands are those of the program that begin as what is typed; choosing one writes it.
export function Commands({ p, typed, choose }: { p: Program | undefined; typed: string; choose: (text: string) => void }) {
  const begun = /^\/(\S*)$/.exec(typed)?.[1]?.toLowerCase();
  if (!p || begun === undefined) return null;
  const fit = p.commands.filter((c) => c.word.toLowerCase().startsWith(begun)).slice(0, 50);
  if (!fit.length) return null;
  return (
    <ul class="commands" aria-label={"Commands of " + oneLine(p.driver, 30)}>
      {fit.map((c) => (
        <li key={c.word}><button type="button" class="quiet" onClick={() => choose("/" + c.word + " ")}><strong>/{oneLine(c.word, 60)}</strong>{c.hint && <span class="soft"> {oneLine(c.hint, 60)}</span>} <span class="soft">{oneLine(c.about, 160)}</span></button></li>
      ))}
    </ul>
  );
}
