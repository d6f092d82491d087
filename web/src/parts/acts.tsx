// What lies in the project and would act: its changes are told here, shown, and accepted
// in exactly the bytes that were shown.
import { useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Thing, Trust } from "../api/types";
import { useLoad } from "../cell";
import { plural } from "../text/format";
import { entire, oneLine } from "../text/visible";
import { Dialog, Failure, useBusy } from "./small";

const differs = (t: Thing) => t.change === "gone" || t.change === "changed" || (t.change === "new" && !t.refused);

// Acts is read again whenever the agent begins or ends a turn.
export function Acts({ when }: { when: string }) {
  const [loaded, again] = useLoad((s) => api.trust(s), [when]);
  const [open, setOpen] = useState(false);
  const last = useRef<Trust | null>(null); // stays while it is read again: a dialog may be open
  if (loaded.state === "ready") last.current = loaded.value;
  const trust = last.current;
  const changes = trust?.things.filter(differs) ?? [];
  if (!trust || changes.length === 0) return null;
  const names = changes.map((t) => oneLine(t.path, 80)).join(", ");
  return (
    <div class="note wrap acts">
      <bdi>{names}</bdi> {trust.given ? "changed since you accepted it. The accepted version is in use." : "would be active, but you haven't accepted it."}{" "}
      <button type="button" onClick={() => setOpen(true)}>Review{"\u2026"}</button>
      {open && <Review trust={trust} changes={changes} close={() => { setOpen(false); again(); }} />}
    </div>
  );
}

function Review({ trust, changes, close }: { trust: Trust; changes: Thing[]; close: () => void }) {
  const { busy, error, run } = useBusy();
  return (
    <Dialog title="What is active in this project" close={close}>
      {changes.map((t) => (
        <section key={t.kind + t.path}>
          <h3 class="wrap"><bdi>{oneLine(t.path, 200)}</bdi> <span class="soft">{t.change}, {t.kind}, {plural(t.size, "byte")}</span></h3>
          <p>It {t.refused ? "does nothing: " + t.refused : t.does || "is gone"}.</p>
          {t.invisible.length > 0 && <ul class="failure">{t.invisible.map((m) => <li key={m}>Cannot be seen: {oneLine(m, 300)}</li>)}</ul>}
          <pre class="wrap" tabIndex={0}>{entire(t.diff)}</pre>
        </section>
      ))}
      {error != null && <Failure error={error} />}
      <div class="buttons end">
        <button type="button" onClick={close}>Not now</button>
        <button type="button" class="main" disabled={busy} onClick={() => run(async () => { await api.accept(trust.digest); close(); })}>Accept exactly this</button>
      </div>
    </Dialog>
  );
}
