// Questions of agents for permission.
import { api, Refusal } from "../api/client";
import type { Ask } from "../api/types";
import { useCell } from "../cell";
import { clock, plural } from "../text/format";
import { oneLine, visible } from "../text/visible";
import { asks, readAsks } from "../world";
import { AgentLink, Ago, Failure, Said, useBusy } from "./small";

function One({ ask }: { ask: Ask }) {
  const { busy, error, run } = useBusy();
  const say = (answer: "allow" | "always" | "deny") => run(async () => {
    try {
      await api.answer(ask.id, answer);
    } catch (e) {
      if (!(e instanceof Refusal) || (e.status !== 409 && e.status !== 404)) throw e;
      // Somebody else was quicker, or its time was up: it goes from the list.
    }
    await readAsks();
  });
  const what = ask.subject || ask.text;
  return (
    <li class="ask">
      <p><AgentLink uuid={ask.agent_uuid} /> wants to use <strong><Said text={ask.tool} most={60} /></strong> <span class="soft">{"\u00b7"} asked <Ago at={ask.asked_at} /> ago{ask.until && <>, denied by itself at {clock(ask.until)}</>}</span></p>
      {ask.subject && ask.text && <p class="wrap"><Said text={ask.text} /></p>}
      {ask.why && <p class="soft small wrap"><Said text={ask.why} /></p>}
      <pre class="plain" tabIndex={0} aria-label="what it wants to do">{visible(what)}</pre>
      {what.length > 300 && <p class="small soft">{plural(what.length, "character")}: scroll to read all of it before you answer.</p>}
      <div class="buttons">
        <button type="button" class="main" disabled={busy} onClick={() => say("allow")}>Allow once</button>
        {ask.always?.length !== 0 && <button type="button" disabled={busy} onClick={() => say("always")}>Always allow</button>}
        <button type="button" class="danger" disabled={busy} onClick={() => say("deny")}>Deny</button>
      </div>
      {!!ask.always?.length && <p class="soft small wrap">{"\u201cAlways\u201d"} adds the rule <code>{oneLine(ask.always.join(", "), 400)}</code></p>}
      {error != null && <Failure error={error} />}
    </li>
  );
}

export function Asks({ of }: { of?: string }) {
  const open = useCell(asks).filter((a) => !of || a.agent_uuid === of);
  if (!open.length) return null;
  return (
    <section class="asks" aria-label="Requests for permission">
      <h2 class="hidden">Requests for permission</h2>
      <ul>{open.slice(0, 20).map((a) => <One key={a.id} ask={a} />)}</ul>
      {open.length > 20 && <p class="soft">and {open.length - 20} more</p>}
    </section>
  );
}
