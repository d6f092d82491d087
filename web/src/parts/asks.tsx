// Questions of agents for permission.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import type { Ask, Choice } from "../api/types";
import { useCell } from "../cell";
import { route } from "../route";
import { clock, plural } from "../text/format";
import { diffLines, type DiffLine } from "../text/diff";
import { entire, oneLine } from "../text/visible";
import { asks, readAsks } from "../world";
import { DiffTable } from "./changes";
import { AgentLink, Ago, Failure, Said, useBusy } from "./small";

// quiet is how long a question cannot be answered after it appeared: a click that was
// meant for what stood there before is no answer.
const quiet = 500;

// words are the choices as the buttons say them.
const words: Record<string, string> = {
  no: "No", because: "No, because\u2026", once: "Allow once", agent: "Allow for this agent and its children", project: "Always allow in this project\u2026",
};
// said is a choice on its button. Those of a question of the model's own are in its words.
const said = (ask: Ask, c: Choice) => (ask.tool === "ask" ? oneLine(c.text, 200) : words[c.choice] ?? "");
// repeats says that the line above a command only says the command again.
const bare = (s: string) => s.replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();
const repeats = (line: string, all: string) => bare(line) === "" || bare(all).includes(bare(line)) || (bare(all) !== "" && bare(line).includes(bare(all)));
// written is what a call would write, as lines: its patch, else what goes, then what comes.
function written(c: NonNullable<Ask["change"]>): DiffLine[] {
  if (c.patch) return diffLines(c.patch);
  const lines = (text: string, kind: "removed" | "added") => (text ? text.replace(/\n$/, "").split("\n").map((line) => ({ kind, text: line })) : []);
  return [...lines(c.removed, "removed"), ...lines(c.added, "added")];
}
const plain: Choice[] = [{ choice: "no", text: "no" }, { choice: "once", text: "once" }];

function One({ ask, alone }: { ask: Ask; alone: boolean }) {
  const { busy, error, run } = useBusy(), base = useId();
  const [ready, setReady] = useState(false);
  const [open, setOpen] = useState<"" | "because" | "project">("");
  const choices = (ask.choices?.length ? ask.choices : plain).filter((c) => ask.tool === "ask" || c.choice in words);
  const [why, setWhy] = useState(""), [rule, setRule] = useState(choices.find((c) => c.choice === "project")?.rule ?? "");
  useEffect(() => {
    const later = setTimeout(() => setReady(true), quiet);
    return () => clearTimeout(later);
  }, [ask.id]);
  // Whoever came to answer stands at the first choice, as soon as it can be chosen.
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (ready && alone && route.get().query.get("write") === "1" && !document.activeElement?.closest("input,textarea")) first.current?.focus();
  }, [ready]);
  const say = (answer: Choice["choice"], more = {}) => run(async () => {
    try {
      await api.answer(ask.id, answer, more);
    } catch (e) {
      if (!(e instanceof Refusal) || (e.status !== 409 && e.status !== 404)) throw e;
      // Somebody else was quicker, or its time was up: it goes from the list.
    }
    await readAsks();
  });
  const choose = (c: Choice["choice"]) => (c === "because" || c === "project" ? setOpen(open === c ? "" : c) : say(c));
  const what = ask.whole || ask.subject || ask.text;
  return (
    <li class="ask">
      <p><AgentLink uuid={ask.agent_uuid} /> {ask.tool === "ask" ? "asks" : ask.tool === "bash" ? "wants to run" : ask.tool === "write" || ask.tool === "edit" ? "wants to " + ask.tool : <>wants to use <strong><Said text={ask.tool} most={60} /></strong></>}{ask.outside && <strong> outside the box</strong>}{ask.where && <> <Said text={ask.where} most={200} /></>} <span class="soft">{"\u00b7"} asked <Ago at={ask.asked_at} /> ago{ask.until && <>, {ask.tool === "ask" ? "waits until" : "refused if unanswered by"} {clock(ask.until)}</>}</span></p>
      {ask.subject && ask.tool !== "ask" && !repeats(ask.text, what) && <p class="wrap"><Said text={ask.text} /></p>}
      {ask.reason && <p class="wrap">Reason: <Said text={ask.reason} /></p>}
      {ask.why && <p class="soft small wrap"><Said text={ask.why} /></p>}
      <pre class="plain" tabIndex={0} aria-label={ask.tool === "ask" ? "the question" : "what it wants to do"}>{entire(what)}</pre>
      {ask.change && <DiffTable lines={written(ask.change)} path={ask.subject ?? ""} above="" />}
      {what.length > 300 && <p class="small soft">{plural(what.length, "character")}: scroll to read all of it before you answer.</p>}
      <div class="buttons" role="group" aria-label="Answer">
        {choices.map((c, i) => (
          <button key={c.choice} ref={i === 0 ? first : null} type="button" disabled={busy || !ready || !!c.no} {...(c.choice === "no" ? { class: "main" } : {})} {...(c.choice === "because" || c.choice === "project" ? { "aria-expanded": open === c.choice } : {})}
            {...(c.no || c.rule ? { "aria-describedby": `${base}-${c.choice}` } : {})} onClick={() => choose(c.choice)}>{said(ask, c)}</button>
        ))}
      </div>
      {open === "because" && (
        <form class="buttons" onSubmit={(e) => { e.preventDefault(); if (why.trim()) say("because", { words: why.trim() }); }}>
          <label>{ask.tool === "ask" ? "Your answer" : "Tell it why"} <input value={why} maxLength={4000} onInput={(e) => setWhy(e.currentTarget.value)} /></label>
          <button type="submit" disabled={busy || !why.trim()}>{ask.tool === "ask" ? "Answer" : "Refuse"}</button>
        </form>
      )}
      {open === "project" && (
        <form class="buttons" onSubmit={(e) => { e.preventDefault(); say("project", { rule: rule.trim() }); }}>
          <label>Rule <input class="code" value={rule} maxLength={1100} spellcheck={false} onInput={(e) => setRule(e.currentTarget.value)} /></label>
          <button type="submit" disabled={busy || !rule.trim()}>Save the rule and allow</button>
        </form>
      )}
      {choices.filter((c) => c.no || (c.rule && (c.choice === "agent" || c.choice === "project"))).map((c) => (
        <p key={c.choice} id={`${base}-${c.choice}`} class="soft small wrap">{said(ask, c).replace("\u2026", "")}: {c.no ? <>not available: <Said text={c.no} most={600} /></> : <>{c.choice === "agent" ? "until it ends, for" : "saved as the rule"} <code>{oneLine(c.rule ?? "", 400)}</code></>}</p>
      ))}
      {error != null && <Failure error={error} />}
    </li>
  );
}

// grace is how long a question may be on its way to this page.
const grace = 2000;

// Elsewhere says of an agent that asks, and has no question here, where it can be answered: in the
// program that has its turn.
export function Elsewhere({ of }: { of: string }) {
  const open = useCell(asks).some((a) => a.agent_uuid === of);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    const later = setTimeout(() => setLate(true), grace);
    return () => clearTimeout(later);
  }, [of, open]);
  return late && !open ? <p class="note" role="status">Its turn was started in another program, such as an editor, which asks the question: answer it there, or interrupt the agent here.</p> : null;
}

export function Asks({ of }: { of?: string }) {
  const open = useCell(asks).filter((a) => !of || a.agent_uuid === of);
  if (!open.length) return null;
  return (
    <section class="asks" aria-label="Requests for permission">
      <h2 class="hidden">Requests for permission</h2>
      <ul>{open.slice(0, 20).map((a) => <One key={a.id} ask={a} alone={of !== undefined} />)}</ul>
      {open.length > 20 && <p class="soft">and {open.length - 20} more</p>}
    </section>
  );
}
