// What can be done with a run: start, resume, cancel, fork. A failed one says what to do next.
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { LogRow } from "../api/types";
import { go } from "../route";
import { readRuns } from "../runs";
import { oneLine } from "../text/visible";
import { Dialog, Failure, useBusy } from "./small";

type Row = Pick<LogRow, "run_id" | "status" | "reason">;

// pairs reads lines of NAME=VALUE.
function pairs(text: string): Record<string, string> {
  const out: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) out[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return out;
}

// next is what a run needs to go on, in words of a button; "": nothing, or nobody can here.
export function next(r: Row): string {
  switch (r.status) {
    case "failed": return "Retry from the failure";
    case "stopped": return "Resume";
    default: return "";
  }
}

export function RunActs({ run, after }: { run: Row; after?: () => void }) {
  const { busy, error, run: act } = useBusy();
  const [dialog, setDialog] = useState<"" | "cancel" | "limits" | "fork">("");
  const done = async () => {
    await readRuns();
    after?.();
  };
  const resume = (limits: Record<string, string> = {}) => async () => {
    await api.resumeRun(run.run_id, { ...(run.status === "failed" && { from_failed: true }), ...(Object.keys(limits).length > 0 && { limits }) });
    await done();
  };
  const say = next(run), going = run.status === "running" || run.status === "stopped";
  return (
    <span class="buttons runacts">
      {say && <button type="button" class={run.status === "failed" ? "main" : ""} disabled={busy} onClick={() => act(resume())}>{say}</button>}
      {say && <button type="button" class="quiet" disabled={busy} onClick={() => setDialog("limits")}>With other limits{"\u2026"}</button>}
      {going && <button type="button" class="quiet" disabled={busy} onClick={() => setDialog("cancel")}>Cancel run{"\u2026"}</button>}
      {run.status !== "" && <button type="button" class="quiet" disabled={busy} onClick={() => setDialog("fork")}>Fork{"\u2026"}</button>}
      {error != null && <Failure error={error} />}
      {dialog === "cancel" && <CancelDialog run={run} close={() => setDialog("")} done={done} />}
      {dialog === "limits" && <LimitsDialog run={run} close={() => setDialog("")} resume={resume} />}
      {dialog === "fork" && <ForkRunDialog run={run.run_id} at="" close={() => setDialog("")} />}
    </span>
  );
}

function CancelDialog({ run, close, done }: { run: Row; close: () => void; done: () => Promise<void> }) {
  const { busy, error, run: act } = useBusy();
  const [reason, setReason] = useState("");
  return (
    <Dialog title={"Cancel run " + oneLine(run.run_id, 60)} close={close}>
      <p>It ends for good, wherever it runs. Its log and files stay.</p>
      <form onSubmit={(e) => { e.preventDefault(); act(async () => { await api.cancelRun(run.run_id, reason.trim()); await done(); close(); }); }}>
        <label>Why <span class="soft">(optional)</span><input value={reason} maxLength={500} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        {error != null && <Failure error={error} />}
        <div class="buttons end"><button type="button" onClick={close}>Keep it running</button><button type="submit" class="danger main" disabled={busy}>Cancel the run</button></div>
      </form>
    </Dialog>
  );
}

function LimitsDialog({ run, close, resume }: { run: Row; close: () => void; resume: (limits: Record<string, string>) => () => Promise<void> }) {
  const { busy, error, run: act } = useBusy();
  const [limits, setLimits] = useState("");
  return (
    <Dialog title={"Resume " + oneLine(run.run_id, 60)} close={close}>
      {run.reason && <p class="wrap">It came to its end here: {oneLine(run.reason, 400)}</p>}
      <form onSubmit={(e) => { e.preventDefault(); act(async () => { await resume(pairs(limits))(); close(); }); }}>
        <label>Limits, one per line <textarea rows={3} placeholder={"calls=200\nfix_rounds=5"} value={limits} onInput={(e) => setLimits(e.currentTarget.value)} /></label>
        {error != null && <Failure error={error} />}
        <div class="buttons end"><button type="button" onClick={close}>Cancel</button><button type="submit" class="main" disabled={busy}>{next(run)}</button></div>
      </form>
    </Dialog>
  );
}

export function ForkRunDialog({ run, at, close }: { run: string; at: string; close: () => void }) {
  const { busy, error, run: act } = useBusy();
  const [from, setFrom] = useState(at), [id, setID] = useState("");
  return (
    <Dialog title={"Fork run " + oneLine(run, 60)} close={close}>
      <p>The new run contains everything up to one event of this run. Resume it to continue from there.</p>
      <form onSubmit={(e) => { e.preventDefault(); act(async () => { const made = await api.forkRun(run, from.trim(), id.trim()); await readRuns(); close(); go(["logs", made.run_id]); }); }}>
        <label>After which event <span class="soft">(its number or id)</span><input required value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
        <label>Id of the new run <span class="soft">(optional)</span><input value={id} maxLength={100} onInput={(e) => setID(e.currentTarget.value)} /></label>
        {error != null && <Failure error={error} />}
        <div class="buttons end"><button type="button" onClick={close}>Cancel</button><button type="submit" class="main" disabled={busy || !from.trim()}>Fork the run</button></div>
      </form>
    </Dialog>
  );
}

const recipes = ["docs", "translate", "tests", "fix", "review"];

export function StartRun() {
  const [open, setOpen] = useState(false);
  return <><button type="button" class="main" onClick={() => setOpen(true)}>Start a run{"\u2026"}</button>{open && <StartDialog close={() => setOpen(false)} />}</>;
}

function StartDialog({ close }: { close: () => void }) {
  const { busy, error, run } = useBusy();
  const [f, set] = useState({ recipe: "docs", repo: "", into: "", model: "", set: "" });
  const put = (key: keyof typeof f) => (e: { currentTarget: { value: string } }) => set({ ...f, [key]: e.currentTarget.value });
  return (
    <Dialog title="Start a run" close={close}>
      <form onSubmit={(e) => {
        e.preventDefault();
        run(async () => {
          const made = await api.startRun({ recipe: f.recipe.trim(), repo: f.repo.trim(), into: f.into.trim(), model: f.model.trim(), set: pairs(f.set) });
          await readRuns();
          close();
          go(["logs", made.run_id]);
        });
      }}>
        <label>Recipe <span class="soft">(a name, or the path of a file)</span><input list="recipes" required value={f.recipe} onInput={put("recipe")} /></label>
        <datalist id="recipes">{recipes.map((r) => <option key={r} value={r} />)}</datalist>
        <label>Repository <span class="soft">(a path or an address)</span><input value={f.repo} onInput={put("repo")} /></label>
        <label>Repository to change <span class="soft">(if it's a different one)</span><input value={f.into} onInput={put("into")} /></label>
        <label>Model <span class="soft">(optional)</span><input value={f.model} onInput={put("model")} /></label>
        <label>Parameters <span class="soft">(NAME=VALUE, one per line)</span><textarea rows={2} value={f.set} onInput={put("set")} /></label>
        {error != null && <Failure error={error} />}
        <div class="buttons end"><button type="button" onClick={close}>Cancel</button><button type="submit" class="main" disabled={busy}>Start</button></div>
      </form>
    </Dialog>
  );
}
