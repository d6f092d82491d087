// The live events, over one connection that is made again whenever it ends. It goes
// on behind the last event seen, so that nothing is missed or told twice; where the
// server cannot go on from there, the listener is told to read everything anew.
import { prefix } from "./prefix";
import { refusal } from "./client";
import type { Line } from "./types";

export type Link = "connecting" | "live" | "waiting";

export interface Listener {
  line(l: Line): void;
  link(now: Link): void;
  anew(): void; // events may be missing: read the present state again
}

// parser cuts a stream of text into events. Fields are as the SSE standard has them.
// An event without data only says where the stream is: place is told, emit is not.
export function parser(emit: (event: string, data: string) => void, place: (id: string) => void) {
  let rest = "", event = "", id: string | null = null, afterCR = false;
  let data: string[] = [];
  const line = (s: string) => {
    if (s === "") {
      if (id !== null) place(id);
      if (data.length) emit(event || "message", data.join("\n"));
      event = "";
      data = [];
      return;
    }
    const colon = s.indexOf(":");
    const field = colon < 0 ? s : s.slice(0, colon);
    const value = colon < 0 ? "" : s.slice(colon + (s[colon + 1] === " " ? 2 : 1));
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id" && !value.includes("\0")) id = value;
  };
  return (chunk: string) => {
    if (chunk === "") return;
    const second = afterCR && chunk.startsWith("\n"); // the other half of a CRLF
    afterCR = chunk.endsWith("\r");
    if (second) chunk = chunk.slice(1);
    const lines = (rest + chunk).split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    for (const s of lines) line(s);
  };
}

const silence = 45_000; // three heartbeats
const longest = 15_000;

// listen keeps listening until the function that it returns is called.
export function listen(to: Listener): () => void {
  let cursor = "", ended = false, wait = 500;
  let stop = new AbortController();
  let wake = () => {};

  const once = async () => {
    stop = new AbortController();
    let watch = setTimeout(() => stop.abort(), silence);
    try {
      const answer = await fetch(prefix + "/api/v1/events" + (cursor ? "?cursor=" + encodeURIComponent(cursor) : ""), {
        signal: stop.signal, credentials: "same-origin", cache: "no-store",
        headers: { Accept: "text/event-stream", ...(cursor && { "Last-Event-ID": cursor }) },
      });
      if (!answer.ok || !answer.body) {
        const why = await refusal(answer);
        if (cursor && why.status >= 400 && why.status < 500 && why.status !== 401 && why.status !== 429) {
          cursor = "";
        }
        throw why;
      }
      to.link("live");
      wait = 500;
      if (!cursor) to.anew(); // what happened until now was not told
      const feed = parser((event, data) => {
        if (event === "lost") {
          const at = lostAt(data);
          if (at) cursor = at;
          to.anew();
          return;
        }
        try {
          to.line(JSON.parse(data) as Line);
        } catch {
          to.anew(); // not understood: do not guess
        }
      }, (id) => { cursor = id; });
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await text.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => stop.abort(), silence);
        feed(value);
      }
    } finally {
      clearTimeout(watch);
    }
  };

  (async () => {
    while (!ended) {
      to.link("connecting");
      try {
        await once();
      } catch {
        // Why does not matter: it is tried again, and the page says so.
      }
      if (ended) return;
      to.link("waiting");
      await new Promise<void>((go) => {
        const timer = setTimeout(go, wait * (0.75 + Math.random() / 2));
        wake = () => { clearTimeout(timer); go(); };
      });
      wait = Math.min(wait * 2, longest);
    }
  })();

  const now = () => wake();
  addEventListener("online", now);
  return () => {
    ended = true;
    removeEventListener("online", now);
    stop.abort();
    wake();
  };
}

function lostAt(data: string): string {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "string" || typeof value === "number") return String(value);
    const c = (value as { cursor?: unknown } | null)?.cursor;
    return typeof c === "string" || typeof c === "number" ? String(c) : "";
  } catch {
    return data;
  }
}
