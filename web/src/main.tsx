// The page: header, the view that the address names, and what is true everywhere.
import { Component, render, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, signedOut } from "./api/client";
import { prefix } from "./api/prefix";
import type { Project } from "./api/types";
import { Cell, useCell } from "./cell";
import { Empty, Failure, Title } from "./parts/small";
import { nameOf, projects, readProjects, undecided } from "./project";
import { go, route, to, type Route } from "./route";
import { apply, theme, turn } from "./theme";
import { AgentView } from "./views/agent";
import { AgentsView } from "./views/agents";
import { LogView } from "./views/log";
import { LedgerView, RunsView } from "./views/logs";
import { RecordsView } from "./views/records";
import { SearchView } from "./views/search";
import { TimelineView } from "./views/timeline";
import { UsageView } from "./views/usage";
import { money, plural } from "./text/format";
import { agents, asks, link, start } from "./world";
import "./style/base.css";
import "./style/views.css";

const out = new Cell(false);
signedOut.tell = () => out.set(true);

// Guard keeps a fault of one view from taking the page down.
class Guard extends Component<{ at: string; children?: ComponentChildren }, { failed?: { at: string; error: unknown } | undefined }> {
  override state: { failed?: { at: string; error: unknown } | undefined } = {};
  override componentDidCatch(error: unknown) { this.setState({ failed: { at: this.props.at, error } }); }
  render() {
    const { failed } = this.state;
    if (failed?.at !== this.props.at) return this.props.children;
    return <div class="pane page"><Title say="This view failed" /><Failure error={failed.error} again={() => this.setState({ failed: undefined })} /></div>;
  }
}

function View({ at }: { at: Route }) {
  const [name, id] = at.path;
  switch (name) {
    case "agents": return id ? <AgentView uuid={id} /> : <AgentsView />;
    case "runs": return id ? <TimelineView key={id} id={id} /> : <RunsView />;
    case "logs": return id ? <LogView key={id} id={id} /> : <RunsView />;
    case "records": return <RecordsView />;
    case "ledger": return <LedgerView />;
    case "usage": return <UsageView />;
    case "search": return <SearchView />;
    default: return <div class="pane page"><Title say="No such page" /><Empty title="There is nothing at this address."><p><a href={to(["agents"])}>Go to the agents</a></p></Empty></div>;
  }
}

// Switch shows the project of the page, and goes to another.
function Switch() {
  const { current, all } = useCell(projects);
  if (!current) return null;
  const more = (p: Project) => (p.questions ? ` (${plural(p.questions, "question")})` : p.working ? ` (${p.working} at work)` : "");
  return (
    <select class="project" aria-label="Project" value={current} onFocus={() => { readProjects(); }} title={all.find((p) => p.key === current)?.folder}
      onChange={(e) => { location.assign("/p/" + e.currentTarget.value + "/"); }}>
      {all.map((p) => <option key={p.key} value={p.key} disabled={p.gone} title={p.folder}>{nameOf(p)}{p.key !== current && more(p)}{p.gone && " (folder is gone)"}</option>)}
    </select>
  );
}

// Choose is the page where the address names no project and several are open.
function Choose() {
  const { all } = useCell(projects);
  return (
    <main class="door" id="main">
      <Title say="Projects" />
      <ul class="projects">
        {all.map((p) => <li key={p.key}>{p.gone ? nameOf(p) : <a href={"/p/" + p.key + "/"}>{nameOf(p)}</a>} <span class="soft">{p.folder}{p.questions > 0 && " \u00b7 " + plural(p.questions, "question")}{p.working > 0 && ` \u00b7 ${p.working} at work`}{p.gone && " \u00b7 the folder is gone"}</span></li>)}
      </ul>
    </main>
  );
}

const places: [string, string][] = [["agents", "Agents"], ["runs", "Runs"], ["usage", "Usage"]];

function Header({ at }: { at: Route }) {
  const open = useCell(asks), now = useCell(link), look = useCell(theme);
  const box = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(""), [kept, setKept] = useState(false);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const on = e.target as HTMLElement;
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || on.matches("input,textarea,select") || document.querySelector("dialog[open]")) return;
      e.preventDefault();
      box.current?.focus();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const here = ["ledger", "logs", "records"].includes(at.path[0] ?? "") ? "runs" : at.path[0];
  return (
    <header class="top">
      <a class="brand" href={to(["agents"])}>ramet</a>
      <Switch />
      <nav aria-label="Main">
        {places.map(([key, word]) => (
          <a key={key} href={to([key])} {...(here === key ? { "aria-current": "page" as const } : {})}>{word}{key === "agents" && open.length > 0 && <span class="unread">{open.length}<span class="hidden"> requests for permission</span></span>}</a>
        ))}
      </nav>
      <form role="search" class="find" onSubmit={(e) => { e.preventDefault(); go(["search"], { q: typed }); setTyped(""); }}>
        <input ref={box} type="search" aria-label="Search" placeholder="Search" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} aria-keyshortcuts="/" />
      </form>
      <Counts />
      <span class={"link " + now} role="status"><i aria-hidden="true" /><span class="say">{now === "live" ? "live" : now === "connecting" ? "connecting" : "no connection, retrying"}</span></span>
      <button type="button" class="quiet theme" onClick={turn} title="Change the colours"><span class="hidden">Colours: </span>{look === "system" ? "Auto" : look === "dark" ? "Dark" : "Light"}</button>
      <button type="button" class="quiet out" onClick={() => { api.signOut().then(() => out.set(true), () => setKept(true)); }}>{kept ? "Could not sign out, try again" : "Sign out"}</button>
    </header>
  );
}

// Counts is how many ask and work, and what all of them cost, as it is now.
function Counts() {
  const world = useCell(agents);
  if (world.state !== "ready" || world.all.size === 0) return null;
  let ask = 0, work = 0, cost = 0;
  for (const a of world.all.values()) {
    cost += a.spent?.cost_nano_usd ?? 0;
    if (a.state?.word === "asks") ask++;
    else if (a.state?.word === "working" || a.state?.word === "waits") work++;
  }
  return <span class="counts">{ask > 0 && <><strong>{ask} {ask === 1 ? "asks" : "ask"}</strong> {"\u00b7"} </>}{work} {work === 1 ? "works" : "work"} {"\u00b7"} {money(cost)}</span>;
}

function SignedOut() {
  useEffect(() => { document.title = "Not signed in \u00b7 ramet"; }, []);
  return (
    <main class="door" id="main">
      <h1>You are not signed in</h1>
      <p>You open this page with a link that works once. To get one, run this in a terminal, in your project:</p>
      <pre class="code" tabIndex={0}><code>ramet web</code></pre>
      <p>and open the link that it prints. It signs this browser in; there is no password.</p>
      <p><button type="button" class="main" onClick={() => location.reload()}>Try again</button></p>
    </main>
  );
}

function Page() {
  const at = useCell(route);
  const known = useCell(projects);
  if (useCell(out)) return <SignedOut />;
  if (!prefix && known.state === "loading") return null;
  if (undecided(known)) return <Choose />;
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <Header at={at} />
      <main id="main" tabIndex={-1}><Guard at={at.path.join("/")}><View at={at} /></Guard></main>
    </>
  );
}

apply();
render(<Page />, document.getElementById("page")!);
if (prefix) start();
readProjects().then(() => { if (!prefix && !undecided(projects.get())) start(); });
