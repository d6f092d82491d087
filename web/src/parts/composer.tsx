// The editor of a prompt or mail. Enter sends it, Shift+Enter begins a line.
import { useEffect, useRef, useState } from "preact/hooks";
import { useCell } from "../cell";
import { drafts, returned, ticketFor } from "../stop";
import { api } from "../api/client";
import type { Agent, Program } from "../api/types";
import { Commands, said, wishOf } from "./program";
import { Failure, useBusy } from "./small";

export function Composer({ a, program, mail, write, sent, stop }: { a: Agent; program: Program | undefined; mail: boolean; write: boolean; sent: () => void; stop: (() => void) | null }) {
  const key = a.uuid + (mail ? " mail" : "");
  const [, again] = useState({});
  useCell(returned);
  const text = drafts.get(key) ?? "";
  const { busy, error, run } = useBusy();
  const box = useRef<HTMLTextAreaElement>(null), more = useRef(""); // more: what is to be sent next, when what is being sent has arrived
  // Whoever comes to write finds the cursor here, or at the answers of a question.
  useEffect(() => {
    if (write && !document.querySelector(".agent > .asks")) box.current?.focus();
  }, [write]);
  const set = (s: string) => {
    drafts.set(key, s);
    again({});
  };
  const send = () => {
    more.current = busy ? text : "";
    if (!text.trim() || busy) return;
    run(async () => {
      const wish = wishOf(a.uuid);
      await (mail ? api.send(a.uuid, text) : api.prompt(a.uuid, text, { ...wish, ticket: ticketFor(a.uuid, text) }));
      if (!mail) said(a.uuid, wish);
      if (drafts.get(key) === text) set("");
      sent();
      box.current?.focus();
    });
  };
  useEffect(() => {
    if (!busy && error == null && more.current === text) send();
  }, [busy]);
  if (a.status === "dead") return <p class="composer note">This agent is dead. You can read its history, but it can't receive messages.</p>;
  return (
    <form class="composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
      <label class="hidden" for="composer">{mail ? "Mail" : "Prompt"}</label>
      <textarea id="composer" ref={box} rows={Math.min(10, Math.max(2, text.split("\n").length))} value={text} placeholder={mail ? "Write mail; the agent reads it when it checks" : "Message the agent"}
        onInput={(e) => set(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape" && stop) stop();
          if (e.key !== "Enter" || e.shiftKey || e.altKey || e.isComposing) return;
          e.preventDefault();
          send();
        }} />
      {!mail && <Commands p={program} typed={text} choose={(s) => { set(s); box.current?.focus(); }} />}
      <div class="buttons">
        <button type="submit" class="main" disabled={busy || !text.trim()}>{busy ? "Sending\u2026" : mail ? "Send mail" : "Send"}</button>
        {stop && <button type="button" onClick={stop}>Stop</button>}
        <span class="soft keyhint"><kbd>Enter</kbd> sends{stop && <>, <kbd>Esc</kbd> stops</>}</span>
      </div>
      {error != null && <Failure error={error} />}
    </form>
  );
}
