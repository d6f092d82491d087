// Dialogs about one agent: fork and kill.
import { useEffect, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import type { Agent } from "../api/types";
import { go } from "../route";
import { plural } from "../text/format";
import { oneLine } from "../text/visible";
import { named, refresh } from "../world";
import { Dialog, Failure, Loading, useBusy } from "./small";

const called = (a: Agent) => oneLine(named(a), 60);

// ForkDialog forks an agent as it is now, or as it was after a message.
export function ForkDialog({ a, at = 0, close }: { a: Agent; at?: number; close: () => void }) {
  const [name, setName] = useState(""), [prompt, setPrompt] = useState("");
  const { busy, error, run } = useBusy();
  return (
    <Dialog title={"Fork " + called(a)} close={close}>
      <p>{at ? `The child starts with this agent's context as of message ${at}.` : "The child starts with everything this agent knows."}</p>
      <form onSubmit={(e) => {
        e.preventDefault();
        run(async () => {
          const child = await api.fork(a.uuid, name.trim(), prompt.trim(), at);
          refresh();
          close();
          go(["agents", child.uuid]);
        });
      }}>
        <label>Name <span class="soft">(optional)</span><input value={name} onInput={(e) => setName(e.currentTarget.value)} maxLength={200} autocomplete="off" /></label>
        <label>First prompt <span class="soft">(optional)</span><textarea rows={3} value={prompt} onInput={(e) => setPrompt(e.currentTarget.value)} /></label>
        {error != null && <Failure error={error} />}
        <div class="buttons end"><button type="button" onClick={close}>Cancel</button><button type="submit" class="main" disabled={busy}>Fork</button></div>
      </form>
    </Dialog>
  );
}

// KillDialog asks the kernel how many agents would die, and confirms that very
// number: if it is another one by then, nothing is killed and the question is asked
// again.
export function KillDialog({ a, close }: { a: Agent; close: () => void }) {
  const [count, setCount] = useState<number | null>(null);
  const [agreed, setAgreed] = useState(false);
  const [changed, setChanged] = useState(false);
  const [why, setWhy] = useState<unknown>(null);
  const { busy, error, run } = useBusy();
  const look = () => api.victims(a.uuid).then((n) => { setCount(n); setAgreed(false); }, setWhy);
  useEffect(() => { look(); }, []);
  return (
    <Dialog title={"Kill " + called(a)} close={close}>
      {why != null ? <Failure error={why} /> : count === null ? <Loading what="its subtree" /> : (
        <form onSubmit={(e) => {
          e.preventDefault();
          run(async () => {
            try {
              await api.kill(a.uuid, count);
            } catch (e) {
              if (!(e instanceof Refusal) || e.status !== 409) throw e;
              await look();
              setChanged(true); // with the new number, never beside the old one
              return;
            }
            refresh();
            close();
          });
        }}>
          {changed && <p class="failure" role="alert">The number of agents has changed. Nothing was killed.</p>}
          <p>{count === 1 ? "This kills 1 agent and stops whatever it is running. Its history stays readable." : <>This kills <strong>{plural(count, "agent")}</strong>, this one and its subtree, and stops whatever they are running. Their histories stay readable.</>}</p>
          <label class="check"><input type="checkbox" checked={agreed} onChange={(e) => setAgreed(e.currentTarget.checked)} /> I want to kill {count === 1 ? "this agent" : "all " + plural(count, "agent")}</label>
          {error != null && <Failure error={error} />}
          <div class="buttons end"><button type="button" onClick={close}>Cancel</button><button type="submit" class="danger main" disabled={busy || !agreed}>Kill {plural(count, "agent")}</button></div>
        </form>
      )}
    </Dialog>
  );
}
